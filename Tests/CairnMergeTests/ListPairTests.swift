import CairnMerge
import TestSupport
import Testing

/// Two devices that do one thing each to the same list.
@Suite struct ListPairTests {
  /// Every pair of single operations, both ways round, by the rule written down in `ListPairRule`.
  @Test(arguments: 0...8)
  func `all pairs of operations merge by the rule`(count: Int) {
    let items = (0..<count).map { FieldValue.int(Int64($0)) }
    let steps = ListStep.all(count)
    for remote in steps {
      for local in steps {
        var pair = ListPair(items)
        pair.onRemote { remote.apply(to: &$0, .int(200)) }
        pair.onLocal { local.apply(to: &$0, .int(100)) }
        guard let met = pair.meet() else {
          Issue.record("\(count): \(remote) and \(local) end apart")
          return
        }
        if let wrong = wrongRule(met, items, remote, local) {
          Issue.record("\(count): remote \(remote), local \(local), \(wrong)")
          return
        }
      }
    }
  }

  private func wrongRule(
    _ met: ListState, _ items: [FieldValue], _ remote: ListStep, _ local: ListStep
  ) -> Rule? {
    let isReplaced = remote.replaced != nil && remote.replaced == local.replaced
    return (isReplaced ? Rule.allCases : [.remote]).first { rule in
      // Earlier commits go first in a gap, a local move forward is no exception.
      let expected = ListPairRule(
        items: items, remote: remote, local: local, remoteValue: .int(200),
        localValue: .int(100), rule: rule, localForwardMoveFirst: false)
      return met.values(rule) != expected.merged
    }
  }

  /// What is different from the classic rule, and nothing else.
  @Test func `only a local move forward into a gap where something arrives is different`() {
    let items = (0..<5).map { FieldValue.int(Int64($0)) }
    var differences = 0
    for remote in ListStep.all(5) {
      for local in ListStep.all(5) {
        let classic = ListPairRule(
          items: items, remote: remote, local: local, remoteValue: .int(200),
          localValue: .int(100))
        var ours = classic
        ours.localForwardMoveFirst = false
        if classic.merged == ours.merged { continue }
        differences += 1
        #expect(classic.isException, "remote \(remote), local \(local)")
      }
    }
    #expect(differences > 0)
  }

  @Test func `the size of an item that both replaced is that of the value which shows`() throws {
    var pair = ListPair(letters("ABCD"))
    pair.onRemote { $0.replace(at: 1, with: .string("the longer of the two")) }
    pair.onLocal { $0.replace(at: 1, with: .string("z")) }
    let both = pair.meet()
    var met = try #require(both)
    var sizes: Set<Int> = []
    for rule in Rule.allCases {
      for index in 0..<4 {
        #expect(met.size(at: index, rule) == met.value(at: index, rule).size, "\(rule) \(index)")
      }
      sizes.insert(met.size(at: 1, rule))
    }
    #expect(sizes.count > 1, "a rule that shows the other one")
  }

  private func checkSizes(_ list: ListState, _ when: String) {
    for rule in Rule.allCases {
      let shown = list.values(rule).reduce(0) { $0 + 20 + $1.size }
      #expect(list.size(rule) == shown, "\(rule) \(when)")
    }
  }

  @Test func `a list whose items both replaced has the size of what shows by each rule`() throws {
    var pair = ListPair((0..<8).map { FieldValue.int(Int64($0)) })
    for index in 0..<8 {
      let remote = FieldValue.string(String(repeating: "b", count: index + 1))
      let local = FieldValue.string(String(repeating: "a", count: 16 - 2 * index))
      pair.onRemote { $0.replace(at: index, with: remote) }
      pair.onLocal { $0.replace(at: index, with: local) }
    }
    let both = pair.meet()
    var met = try #require(both)
    func sizes() -> [Int] { [Rule.remote, .sum, .max, .local, .min].map { met.size($0) } }
    #expect(sizes() == [196, 196, 196, 232, 232])
    met.remove(at: 0)
    #expect(sizes() == [175, 175, 175, 196, 196])
    met.replace(at: 0, with: .string("other"))
    #expect(sizes() == [178, 178, 178, 187, 187])
    met.insert(.string("new"), at: 3)
    met.move(from: 0, to: 5)
    #expect(sizes() == [201, 201, 201, 210, 210])
    checkSizes(met, "with pending edits")
    met.rollBack()
    #expect(sizes() == [196, 196, 196, 232, 232])
  }

  @Test(arguments: 0..<60 as Range<UInt64>)
  func `whatever both do, a list has the size of what shows by each rule`(seed: UInt64) throws {
    let random = SeededRandom(seed)
    func edit(_ list: inout ListState) {
      for _ in 0..<6 where list.count > 0 {
        let steps = ListStep.all(list.count)
        let step =
          random.below(3) == 0
          ? steps[random.below(steps.count)] : .replace(random.below(list.count))
        step.apply(to: &list, .string(random.text(random.below(9))))
      }
    }
    var pair = ListPair((0..<6).map { _ in FieldValue.string(random.text(random.below(9))) })
    pair.onRemote(edit)
    pair.onLocal(edit)
    let both = pair.meet()
    var met = try #require(both)
    checkSizes(met, "after they met")
    edit(&met)
    checkSizes(met, "with pending edits")
    met.rollBack()
    checkSizes(met, "without them again")
  }

  // MARK: examples

  private func letters(_ text: String) -> [FieldValue] { text.map { .string(String($0)) } }

  private func text(_ list: ListState?, _ rule: Rule = .remote) -> String {
    guard let list else { return "the devices differ" }
    return list.values(rule).map { value in
      if case .string(let text) = value { text } else { "?" }
    }.joined()
  }

  /// Merges what the local and the remote one do to A B C D.
  private func merged(
    local: (inout ListState) -> Void, remote: (inout ListState) -> Void
  ) -> ListState? {
    var pair = ListPair(letters("ABCD"))
    pair.onRemote(remote)
    pair.onLocal(local)
    return pair.meet()
  }

  private func merged(_ local: ListStep, _ remote: ListStep) -> ListState? {
    merged(
      local: { local.apply(to: &$0, .string("x")) },
      remote: { remote.apply(to: &$0, .string("y")) })
  }

  @Test func `two inserts in one place: the remote one first`() {
    #expect(text(merged(.insert(1), .insert(1))) == "AyxBCD")
  }

  @Test func `two runs at the end do not interleave`() {
    let list = merged(
      local: { $0.insert(letters("xX"), at: 4) }, remote: { $0.insert(letters("yY"), at: 4) })
    #expect(text(list) == "ABCDyYxX")
  }

  @Test func `two runs typed backwards at the start do not interleave`() {
    let list = merged(
      local: {
        $0.insert(.string("x"), at: 0)
        $0.insert(.string("X"), at: 0)
      },
      remote: {
        $0.insert(.string("y"), at: 0)
        $0.insert(.string("Y"), at: 0)
      })
    #expect(text(list) == "YyXxABCD")
  }

  @Test func `two replacements go by the rule`() {
    let list = merged(.replace(1), .replace(1))
    #expect(text(list) == "AyCD")
    #expect(text(list, .local) == "AxCD")
    #expect(text(list, .max) == "AyCD")
    #expect(text(list, .min) == "AxCD")
    #expect(text(list, .sum) == "AyCD")
  }

  @Test func `a removal beats a replacement, under every rule`() {
    for rule in Rule.allCases {
      #expect(text(merged(.replace(1), .remove(1)), rule) == "ACD")
      #expect(text(merged(.remove(1), .replace(1)), rule) == "ACD")
    }
  }

  @Test func `an insert beside something removed stays there`() {
    #expect(text(merged(.remove(1), .insert(1))) == "AyCD")
  }

  @Test func `a replacement follows a moved item`() {
    #expect(text(merged(.replace(1), .move(1, 3))) == "ACDx")
    #expect(text(merged(.move(1, 3), .replace(1))) == "ACDy")
  }

  @Test func `a removal beats a move`() {
    #expect(text(merged(.remove(1), .move(1, 3))) == "ACD")
    #expect(text(merged(.move(1, 3), .remove(1))) == "ACD")
  }

  @Test func `an item that both move goes where the remote one put it, under every rule`() {
    for rule in Rule.allCases {
      #expect(text(merged(.move(0, 3), .move(0, 2)), rule) == "BCAD")
      #expect(text(merged(.move(0, 2), .move(0, 2)), rule) == "BCAD")
    }
  }

  @Test func `two items can be moved at once`() {
    #expect(text(merged(.move(2, 0), .move(3, 0))) == "DCAB")
    #expect(text(merged(.move(0, 3), .move(3, 0))) == "DBCA")
  }

  /// Here the classic rule has "CDAB": what is moved forward sticks to its left neighbour.
  @Test func `two items moved forward to one place: the remote one first`() {
    #expect(text(merged(.move(0, 3), .move(1, 3))) == "CDBA")
  }

  /// Here the classic rule has "BCDAy".
  @Test func `a move to the end and an insert there: the remote one first`() {
    #expect(text(merged(.move(0, 3), .insert(4))) == "BCDyA")
  }

  @Test func `a move to the start and an insert there: the remote one first`() {
    #expect(text(merged(.insert(0), .move(3, 0))) == "DxABC")
  }

  @Test func `an item moved by one is nothing new to whoever moves it after that`() {
    var pair = ListPair(letters("ABCD"))
    pair.onRemote { $0.move(from: 0, to: 3) }
    _ = pair.meet()
    #expect(text(pair.local) == "BCDA")
  }

  // MARK: runs

  @Test func `runs typed forwards and backwards at one place each stay together`() {
    for round in 0..<4 {
      let (remoteBackwards, localBackwards) = (round & 1 == 1, round & 2 == 2)
      var pair = ListPair(letters("()"))
      for letter in "abcdefgh" {
        pair.onRemote { $0.insert(.string(String(letter)), at: remoteBackwards ? 1 : $0.count - 1) }
      }
      for letter in "12345678" {
        pair.onLocal { $0.insert(.string(String(letter)), at: localBackwards ? 1 : $0.count - 1) }
      }
      let remote = remoteBackwards ? "hgfedcba" : "abcdefgh"
      let local = localBackwards ? "87654321" : "12345678"
      let met = pair.meet()
      #expect(text(met) == "(" + remote + local + ")")
    }
  }

  @Test func `runs typed into an empty list each stay together`() {
    var pair = ListPair([])
    for letter in "abcd" { pair.onRemote { $0.insert(.string(String(letter)), at: $0.count) } }
    for letter in "1234" { pair.onLocal { $0.insert(.string(String(letter)), at: 0) } }
    let met = pair.meet()
    #expect(text(met) == "abcd4321")
  }

  @Test func `what is typed from the middle out stays together`() {
    var pair = ListPair(letters("()"))
    for (index, letter) in "acegfdb".enumerated() {
      pair.onRemote { $0.insert(.string(String(letter)), at: 1 + (index + 1) / 2) }
      pair.onLocal {
        $0.insert(.string(letter.uppercased()), at: 1 + (index + 1) / 2)
      }
    }
    let all = pair.meet()
    let met = text(all).dropFirst().dropLast()
    let isRemoteFirst = met.prefix(7).allSatisfy(\.isLowercase)
    let isLocalLast = met.suffix(7).allSatisfy(\.isUppercase)
    #expect(met.count == 14 && isRemoteFirst && isLocalLast, "\(met)")
  }
}
