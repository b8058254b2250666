import TestSupport
import Testing

@testable import CairnMerge

/// What a commit says: the least that comes to the same.
@Suite struct ListEditTests {
  private static let device = DeviceID(rawValue: 7)

  private func stamp(_ sequence: UInt64) -> Stamp {
    Stamp(dot: Dot(device: Self.device, sequence: sequence), time: Int64(sequence))
  }

  private func list(_ count: Int) -> ListState {
    ListState((0..<count).map { .int(Int64($0)) }, stamp: stamp(1), isCreated: false)
  }

  private func commit(_ list: inout ListState, _ sequence: UInt64) {
    guard let edit = list.collect() else { return list.rollBack() }
    let stamp = stamp(sequence)
    list.commit(edit, stamp: stamp, context: VersionVector([stamp.dot]))
  }

  /// What would be committed.
  private func collected(_ list: ListState) -> ListEdit? {
    var list = list
    return list.collect()
  }

  private func collectedSplices(_ list: ListState) -> ListSplices? {
    var list = list
    return list.collectSplices()
  }

  @Test func `inserts that are removed again are nothing`() {
    var list = list(3)
    let before = list
    list.insert(.int(9), at: 1)
    list.insert([.int(10), .int(11)], at: 4)
    list.remove(at: 5)
    list.remove(at: 4)
    list.remove(at: 1)
    #expect(collected(list) == nil)
    list.rollBack()
    #expect(list == before)
  }

  @Test func `the last of many replacements counts`() throws {
    var list = list(3)
    for value in 10..<20 { list.replace(at: 1, with: .int(Int64(value))) }
    let edit = try #require(collected(list))
    #expect(edit.replaced == [NodeID(stamp(1).dot, 2)])
    #expect(edit.replacements.values == [.int(19)])
    #expect(edit.chains.isEmpty && edit.deleted.isEmpty)
  }

  @Test func `a replacement by the same value is nothing`() {
    var list = list(3)
    list.replace(at: 1, with: .int(8))
    list.replace(at: 1, with: .int(1))
    #expect(collected(list) == nil)
  }

  @Test func `a replacement of an item that is removed is only a removal`() throws {
    var list = list(3)
    list.replace(at: 1, with: .int(8))
    list.remove(at: 1)
    let edit = try #require(collected(list))
    #expect(edit.replaced.isEmpty && edit.chains.isEmpty)
    #expect(edit.deleted == [ListEdit.Span(first: NodeID(stamp(1).dot, 2), count: 1)])
  }

  @Test func `a move of an item that is removed is only a removal`() throws {
    var list = list(3)
    list.move(from: 0, to: 2)
    list.remove(at: 2)
    let edit = try #require(collected(list))
    #expect(edit.chains.isEmpty && edit.deleted.map(\.count) == [1])
  }

  @Test func `an insert that is moved and replaced is an insert`() throws {
    var list = list(3)
    list.insert(.int(9), at: 0)
    list.move(from: 0, to: 3)
    list.replace(at: 3, with: .int(10))
    let edit = try #require(collected(list))
    #expect(edit.chains.map(\.count) == [1] && edit.chains[0].moves.isEmpty)
    #expect(edit.inserted.values == [.int(10)])
    #expect(edit.replaced.isEmpty && edit.deleted.isEmpty)
  }

  @Test func `typing is one chain, forwards, backwards and with corrections`() throws {
    for isForwards in [true, false] {
      var list = list(4)
      for letter in 0..<50 {
        list.insert(.int(Int64(letter)), at: isForwards ? 2 + letter : 2)
        if letter % 7 == 0 {
          list.insert(.int(99), at: 3)
          list.remove(at: 3)
        }
      }
      let edit = try #require(collected(list))
      #expect(edit.chains.map(\.count) == [50])
      #expect(edit.deleted.isEmpty)
    }
  }

  @Test func `what is removed in one stretch is one span`() throws {
    var list = list(20)
    for _ in 0..<10 { list.remove(at: 5) }
    let edit = try #require(collected(list))
    #expect(edit.deleted == [ListEdit.Span(first: NodeID(stamp(1).dot, 6), count: 10)])
  }

  @Test func `a move there and back is nothing`() {
    for count in 2...5 {
      for source in 0..<count {
        for target in 0..<count {
          var list = list(count)
          list.move(from: source, to: target)
          list.move(from: target, to: source)
          #expect(collected(list) == nil, "\(source) to \(target) of \(count)")
        }
      }
    }
  }

  @Test func `a move there and back is nothing beside what was removed, too`() {
    var list = list(5)
    list.remove(at: 1)
    list.remove(at: 2)
    commit(&list, 2)
    for source in 0..<3 {
      for target in 0..<3 {
        list.move(from: source, to: target)
        list.move(from: target, to: source)
        #expect(collected(list) == nil, "\(source) to \(target)")
        list.rollBack()
      }
    }
  }

  @Test func `items that all move back are nothing, in whatever order`() {
    let random = SeededRandom(5)
    for _ in 0..<100 {
      var list = list(6)
      // Bubble sort back to the start.
      for _ in 0..<5 { list.move(from: random.below(6), to: random.below(6)) }
      for target in 0..<6 {
        for source in target..<6 where list.values(.remote)[source] == .int(Int64(target)) {
          list.move(from: source, to: target)
        }
      }
      #expect(collected(list) == nil)
    }
  }

  /// All items but the last move, and back again in the opposite order.
  private func turnAroundAndBack(_ list: inout ListState) {
    let last = list.count - 1
    for target in (1...last).reversed() { list.move(from: 0, to: target) }
    for source in 1...last { list.move(from: source, to: 0) }
  }

  @Test(.timeLimit(.minutes(20)))
  func `a long list that is turned around and back has not changed`() {
    let items = (0..<20_000 as Range<Int64>).map(FieldValue.int)
    var shared = list(items.count)
    var plain = ListState(plain: items, isCreated: false)
    let (sharedBefore, plainBefore) = (shared, plain)
    turnAroundAndBack(&shared)
    turnAroundAndBack(&plain)
    #expect(shared.pending.moved.count == 19_999 && plain.pending.moved.count == 19_999)
    let edit = shared.collect()
    let splices = plain.collectSplices()
    #expect(edit == nil && shared.pending.moved.isEmpty)
    #expect(splices == nil && plain.pending.moved.isEmpty)
    #expect(shared.values(.remote) == items && plain.values(.remote) == items)
    shared.rollBack()
    plain.rollBack()
    #expect(shared == sharedBefore && plain == plainBefore)
  }

  @Test func `where either of two moves may be left out it is that of the item before`() throws {
    let steps: [[ListStep]] = [
      // Of "abc" first b to the start and then a to the end, and the other way round.
      [.move(1, 0), .move(1, 2)],
      [.move(0, 2), .move(0, 2), .move(2, 0)],
    ]
    for moves in steps {
      var shared = list(3)
      var plain = ListState(plain: (0..<3).map { .int($0) }, isCreated: false)
      for step in moves + [ListStep.remove(1)] {
        step.apply(to: &shared, .int(9))
        step.apply(to: &plain, .int(9))
      }
      #expect(shared.values(.remote) == [.int(1), .int(0)])
      let edit = try #require(collected(shared))
      #expect(edit.chains.flatMap(\.moves).map(\.item) == [NodeID(stamp(1).dot, 2)])
      #expect(edit.deleted == [ListEdit.Span(first: NodeID(stamp(1).dot, 3), count: 1)])
      let splices = try #require(collectedSplices(plain))
      #expect(
        splices.steps == [
          ListSplices.Step(skipped: 0, deleted: 0, inserted: 1),
          ListSplices.Step(skipped: 1, deleted: 2, inserted: 0),
        ])
      #expect(splices.inserted.values == [.int(1)])
    }
  }

  @Test func `an item that moves many times has one new place`() throws {
    var list = list(6)
    for target in [5, 2, 4, 1, 3] {
      let source = (0..<6).first { list.values(.remote)[$0] == .int(0) } ?? 0
      list.move(from: source, to: target)
    }
    let edit = try #require(collected(list))
    #expect(edit.nodeCount == 1)
    #expect(edit.chains[0].moves.map(\.item) == [NodeID(stamp(1).dot, 1)])
  }

  @Test func `many new items are collected as few are`() throws {
    // Up to 16 new nodes are looked up one by one, more are found in a walk.
    for count in [1, 5, 16, 17, 40] {
      let random = SeededRandom(UInt64(count))
      var list = list(10)
      let fresh = list
      for _ in 0..<count { list.insert(.int(1), at: random.below(list.count + 1)) }
      let made = list.collect()
      let edit = try #require(made)
      let values = list.values(.remote)
      list.commit(edit, stamp: stamp(2), context: VersionVector([stamp(2).dot]))
      var other = fresh
      other.apply(edit, stamp: stamp(2), context: VersionVector([stamp(2).dot]))
      #expect(list == other)
      #expect(list.values(.remote) == values && other.values(.remote) == values)
    }
  }

  @Test func `a commit is to its author what it is to others`() throws {
    for seed in 0..<200 as Range<UInt64> {
      let random = SeededRandom(seed)
      var mine = list(5)
      var others = mine
      for sequence in 2..<8 as Range<UInt64> {
        for _ in 0...random.below(5) {
          let count = mine.count
          switch count == 0 ? 0 : random.below(4) {
          case 0: mine.insert(.string("é\(random.below(9))"), at: random.below(count + 1))
          case 1: mine.remove(at: random.below(count))
          case 2: mine.replace(at: random.below(count), with: .bytes(random.bytes(3)))
          default: mine.move(from: random.below(count), to: random.below(count))
          }
        }
        guard let edit = mine.collect() else {
          mine.rollBack()
          continue
        }
        let stamp = stamp(sequence)
        let context = VersionVector([stamp.dot])
        mine.commit(edit, stamp: stamp, context: context)
        others.apply(edit, stamp: stamp, context: context)
        #expect(mine == others && mine.isRightSize && others.isRightSize, "seed \(seed)")
      }
    }
  }

  @Test func `what is typed and deleted key by key is to others what it is to its author`() {
    for seed in 0..<60 as Range<UInt64> {
      let random = SeededRandom(seed)
      var mine = list(4)
      var others = mine
      var sequence: UInt64 = 2
      func end() {
        let stamp = stamp(sequence)
        sequence += 1
        guard let edit = mine.collect() else { return mine.rollBack() }
        mine.commit(edit, stamp: stamp, context: VersionVector([stamp.dot]))
        others.apply(edit, stamp: stamp, context: VersionVector([stamp.dot]))
        #expect(mine == others && mine.isRightSize && !mine.hasPending, "seed \(seed)")
      }
      for _ in 0..<60 {
        let count = mine.count
        switch count == 0 ? 0 : random.below(8) {
        case 0...3: mine.insert(.string("é\(random.below(9))"), at: random.below(count + 1))
        case 4, 5: mine.remove(at: random.below(count))
        // Deleted later, they leave nothing of this behind.
        case 6: mine.replace(at: random.below(count), with: .bytes(random.bytes(3)))
        default: mine.move(from: random.below(count), to: random.below(count))
        }
        end()
      }
    }
  }

  @Test func `many removals in any order are one edit, and can be taken back`() throws {
    for seed in 0..<20 as Range<UInt64> {
      let random = SeededRandom(seed)
      var list = list(60)
      let before = list
      var kept = (0..<60).map { Int64($0) }
      for _ in 0..<(5 + random.below(50)) {
        let index = random.below(kept.count)
        list.remove(at: index)
        kept.remove(at: index)
        let target = random.below(kept.count)
        list.move(from: 0, to: target)
        kept.insert(kept.removeFirst(), at: target)
      }
      #expect(list.values(.remote) == kept.map(FieldValue.int))
      let edit = try #require(collected(list))
      #expect(edit.deleted.reduce(0) { $0 + Int($1.count) } == 60 - kept.count)
      #expect(zip(edit.deleted, edit.deleted.dropFirst()).allSatisfy { $0.first < $1.first })
      list.rollBack()
      #expect(list == before && list.isRightSize)
      list.apply(edit, stamp: stamp(2), context: VersionVector([stamp(2).dot]))
      #expect(list.values(.remote) == kept.map(FieldValue.int), "seed \(seed)")
    }
  }

  // MARK: plain lists

  @Test func `splices do to a copy what was done to a plain list`() {
    for seed in 0..<200 as Range<UInt64> {
      let random = SeededRandom(seed)
      var mine = ListState(plain: (0..<6).map { .int($0) }, isCreated: seed % 2 == 0)
      var copy = mine
      for _ in 0..<8 {
        for _ in 0...random.below(6) {
          let count = mine.count
          switch count == 0 ? 0 : random.below(6) {
          case 0: mine.insert(.string("x\(random.below(9))"), at: random.below(count + 1))
          case 1: mine.insert([.int(7), .int(8), .bool(true)], at: random.below(count + 1))
          case 2: mine.remove(at: random.below(count))
          case 3: mine.replace(at: random.below(count), with: .bytes(random.bytes(3)))
          default: mine.move(from: random.below(count), to: random.below(count))
          }
          #expect(mine.isRightSize)
        }
        if random.below(6) == 0 {
          mine.rollBack()
          #expect(mine == copy && mine.isRightSize)
          continue
        }
        let splices = mine.collectSplices()
        if let splices {
          #expect(splices.reach <= copy.count)
          copy.apply(splices)
          mine.commitPlain()
        } else {
          mine.rollBack()
        }
        #expect(mine == copy && mine.isRightSize && copy.isRightSize, "seed \(seed)")
      }
    }
  }

  @Test func `what undoes itself in a plain list is nothing`() {
    var list = ListState(plain: (0..<5).map { .int($0) }, isCreated: false)
    list.insert(.int(9), at: 2)
    list.remove(at: 2)
    list.move(from: 0, to: 3)
    list.move(from: 3, to: 0)
    list.replace(at: 4, with: .int(8))
    list.replace(at: 4, with: .int(4))
    #expect(collectedSplices(list) == nil)
  }

  @Test func `a plain list forgets what it no longer holds`() {
    var list = ListState(plain: [], isCreated: false)
    for round in 0..<3_000 as Range<Int64> {
      list.insert(.int(round), at: 0)
      list.commitPlain()
      list.remove(at: 0)
      list.commitPlain()
      list.insert(.string("x"), at: 0)
      list.replace(at: 0, with: .string("text \(round)"))
      if list.count > 3 { list.remove(at: 3) }
      list.commitPlain()
    }
    let texts = (2_997..<3_000).reversed().map { FieldValue.string("text \($0)") }
    #expect(list.values(.remote) == texts)
    #expect(list.isRightSize)
  }

  @Test func `splices of neighbours are one step`() throws {
    var list = ListState(plain: (0..<10).map { .int($0) }, isCreated: false)
    list.replace(at: 3, with: .int(30))
    list.insert(.int(31), at: 4)
    list.remove(at: 5)
    list.remove(at: 8)
    let splices = try #require(collectedSplices(list))
    #expect(
      splices.steps == [
        ListSplices.Step(skipped: 3, deleted: 2, inserted: 2),
        ListSplices.Step(skipped: 3, deleted: 1, inserted: 0),
      ])
    #expect(splices.inserted.values == [.int(30), .int(31)])
    #expect(splices.reach == 9)
  }

  @Test func `only a small edit's memory is kept for the next one`() throws {
    func isKept(_ change: (inout ListState) -> Void) throws -> Bool {
      var list = list(3000)
      change(&list)
      return try #require(collected(list)).takesLittle
    }
    let long = FieldValue.string(String(repeating: "x", count: 100_000))
    #expect(try isKept { $0.insert(.string("a"), at: 7) })
    #expect(try isKept { list in for _ in 0..<500 { list.remove(at: 0) } })
    #expect(try isKept { $0.insert(long, at: 7) } == false)
    #expect(try isKept { $0.replace(at: 7, with: long) } == false)
    #expect(try isKept { $0.insert((0..<2000).map { .int($0) }, at: 0) } == false)
    // Every other one.
    #expect(
      try isKept { list in for index in 0..<1200 { list.remove(at: index) } } == false)
  }

  /// A keystroke in a list that only this device edits is told without looking for what changed.
  @Test(arguments: 0..<200 as Range<UInt64>)
  func `the only change is the one that a search for all changes finds`(seed: UInt64) {
    let random = SeededRandom(seed)
    var list = ListState(plain: (0..<5).map { .int(Int64($0)) }, isCreated: false)
    for _ in 0..<30 {
      let before = list
      let edits = 1 + random.below(3)
      var isKeystroke = edits == 1
      for _ in 0..<edits {
        let count = list.values(.remote).count
        switch random.below(count == 0 ? 1 : 6) {
        case 1, 2: list.remove(at: random.below(count))
        case 3:
          list.replace(at: random.below(count), with: .int(Int64(random.below(9))))
          isKeystroke = false
        case 4:
          list.move(from: random.below(count), to: random.below(count))
          isKeystroke = false
        default: list.insert(.int(Int64(random.below(9))), at: random.below(count + 1))
        }
      }
      if !list.hasPending { continue }
      list.dropNullMoves()
      let all = list.changedNodes()
      if let (node, isOld, isNow) = list.onlyChange() {
        #expect(all.count == 1 && all[0] == (node, isOld, isNow) && isOld != isNow)
      } else {
        #expect(!isKeystroke)
      }
      // Whichever way it was found, it makes the one list of the other.
      let splices = list.collectSplices()
      var copy = before
      if let splices { copy.apply(splices) }
      #expect(copy.values(.remote) == list.values(.remote))
      if splices == nil || random.below(5) == 0 { list.rollBack() } else { list.commitPlain() }
    }
  }
}
