import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// Merging of single fields, compared with definitions.
@Suite struct ThreeWayTests {
  private static let values: [FieldValue?] = [
    nil, .bool(true), .int(-3), .int(0), .int(4), .double(2.5), .double(4), .string(""),
    .string("s"), .bytes([1]), .date(7), .double(.nan), .int(.max),
  ]

  /// What both devices show if the remote one commits first, then the other one, apart; and then
  /// they hear of one another.
  private func met(
    _ original: FieldValue?, _ remote: FieldValue?, _ pending: FieldValue?, _ rule: Rule
  ) -> FieldValue? {
    var here = RecordState()
    func write(_ value: FieldValue?, _ stamp: Stamp, _ state: RecordState) -> RecordChange {
      .write(field: "f", state.register("f").write(value, rule: rule, dot: stamp.dot))
    }
    func stamp(_ device: UInt64, _ time: Int64) -> Stamp {
      Stamp(dot: Dot(device: DeviceID(rawValue: device), sequence: 1), time: time)
    }
    let (first, second, third) = (stamp(3, 1), stamp(1, 2), stamp(2, 3))
    here.apply(.insert, stamp: first, context: VersionVector([first.dot]), born: [])
    if let original {
      here.apply(
        write(original, first, here), stamp: first, context: VersionVector([first.dot]), born: [])
    }
    let shared = here
    if remote != original {
      here.apply(
        write(remote, second, shared), stamp: second,
        context: VersionVector([first.dot, second.dot]), born: [])
    }
    if pending != original {
      here.apply(
        write(pending, third, shared), stamp: third,
        context: VersionVector([first.dot, third.dot]), born: [])
    }
    return here.visible("f", rule: rule)
  }

  @Test(arguments: [Rule.remote, .local, .max, .min, .sum])
  func `a field becomes what two commits would have made of it`(rule: Rule) {
    // Integers wrap: beside a double, what comes of that depends on the order of additions.
    let values = rule == .sum ? Self.values.filter { $0 != .int(.max) } : Self.values
    var count = 0
    for original in values {
      for remote in values {
        for pending in values {
          count += 1
          let way = ThreeWay(original: original, remote: remote, pending: pending, rule: rule)
          let expected = met(original, remote, pending, rule)
          #expect(way.value == expected, "\(rule): \([original, remote, pending])")
          #expect(way.isPending == (way.value != remote))
        }
      }
    }
    #expect(count > 1000)
  }

  @Test func `both doing the same is no conflict, and of sums both count`() {
    var way = ThreeWay(original: .int(1), remote: .int(3), pending: .int(3), rule: .remote)
    #expect(way.value == .int(3) && !way.isPending && !way.isConflict)
    way = ThreeWay(original: .int(1), remote: .int(3), pending: .int(3), rule: .sum)
    #expect(way.value == .int(5) && way.isPending && !way.isConflict)
  }

  // MARK: lists

  /// By marks on items instead of by differences: each item is unique, so it is known what became
  /// of it; and what was put in lies between the same neighbours.
  private func merged(_ old: [Int], _ theirs: [Int], _ ours: [Int]) -> [Int] {
    var result: [Int] = []
    func added(_ list: [Int], after item: Int?) -> [Int] {
      let start = item.map { (list.firstIndex(of: $0) ?? -2) + 1 } ?? 0
      guard start >= 0 else { return [] }
      return Array(list[start...].prefix { !old.contains($0) })
    }
    result += added(theirs, after: nil) + added(ours, after: nil)
    for item in old {
      if theirs.contains(item), ours.contains(item) { result.append(item) }
      if theirs.contains(item) { result += added(theirs, after: item) }
      if ours.contains(item) { result += added(ours, after: item) }
    }
    return result
  }

  @Test func `lists keep what either side put in, and lose what either side took out`() {
    for seed in UInt64(0)..<400 {
      let random = SeededRandom(seed)
      var next = 100
      let old = Array(0..<random.below(8))
      func change() -> [Int] {
        var list = old
        for _ in 0..<random.below(5) {
          if random.coin(), !list.isEmpty {
            list.remove(at: random.below(list.count))
          } else {
            next += 1
            list.insert(next, at: random.below(list.count + 1))
          }
        }
        return list
      }
      let (theirs, ours) = (change(), change())
      func value(_ list: [Int]) -> FieldValue { .list(list.map { .int(Int64($0)) }) }
      let way = ThreeWay(
        original: value(old), remote: value(theirs), pending: value(ours), rule: .remote)
      let expected: [Int]
      if theirs == ours || ours == old {
        expected = theirs
      } else if theirs == old {
        expected = ours
      } else {
        expected = merged(old, theirs, ours)
      }
      guard case .list(let items)? = way.value else {
        Issue.record("seed \(seed): no list")
        return
      }
      // Where an item was taken out, what was put in beside it may lie on either side of the gap:
      // so the items are compared, and the order of each side.
      let found = items.compactMap { item -> Int? in
        if case .int(let number) = item { Int(number) } else { nil }
      }
      #expect(found.sorted() == expected.sorted(), "seed \(seed)")
      for side in [theirs, ours] {
        #expect(
          found.filter(side.contains) == side.filter(found.contains), "seed \(seed): order")
      }
    }
  }

  @Test(arguments: [
    (Rule.remote, false), (.local, true), (.max, true), (.min, false), (.sum, false),
  ])
  func `of lists that make sense as wholes only the rule chooses one`(rule: Rule, isOurs: Bool) {
    let (old, theirs, ours) = (
      FieldValue.list([.int(1), .int(5)]), FieldValue.list([.int(1), .int(3)]),
      FieldValue.list([.int(4), .int(5)])
    )
    let way = ThreeWay(original: old, remote: theirs, pending: ours, rule: rule, isWhole: true)
    #expect(way.value == (isOurs ? ours : theirs))
    #expect(way.isPending == isOurs && way.isConflict)
  }

  @Test func `sets are merged as sets`() {
    func set(_ items: Int64...) -> FieldValue { .list(items.map { .int($0) }) }
    let way = ThreeWay(
      original: set(1, 2, 3), remote: set(3, 1, 4), pending: set(2, 3, 5, 4), rule: .remote,
      isSet: true)
    #expect(way.value == set(3, 4, 5))
    #expect(way.isPending && way.isConflict)
  }
}
