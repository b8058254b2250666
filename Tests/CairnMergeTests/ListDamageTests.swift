import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// Bytes of lists that are cut off, changed or made up: refused, or harmless.
@Suite struct ListDamageTests {
  private let device = DeviceID(rawValue: 2)
  private var dot: Dot { Dot(device: device, sequence: 9) }
  private var stamp: Stamp { Stamp(dot: dot, time: 50) }
  private var context: VersionVector { VersionVector([ListPair.base.dot, dot]) }

  /// A list with moves, conflicts, places that are no more, and tombstones.
  private func sample() -> ListState {
    var pair = ListPair((0..<6).map { .string("item \($0)") })
    for round in 0..<3 as Range<Int64> {
      pair.onRemote { list in
        list.move(from: 0, to: 4)
        list.replace(at: 1, with: .int(round))
        list.insert([.bytes([1, 2]), .double(0.5), .bool(true)], at: 2)
        list.remove(at: 5)
      }
      pair.onLocal { list in
        list.move(from: 0, to: 2)
        list.move(from: 3, to: 1)
        list.replace(at: 2, with: .string("local"))
        list.insert(.date(77), at: 0)
      }
    }
    return pair.meet() ?? pair.local
  }

  private func made(on list: ListState) -> (ListEdit, [UInt8], [DeviceID]) {
    var list = list
    list.insert([.string("a"), .int(5)], at: 1)
    list.insert(.bool(false), at: list.count)
    list.move(from: 3, to: 6)
    list.remove(at: 4)
    list.replace(at: 0, with: .double(1.5))
    let edit = list.collect() ?? ListEdit()
    var bytes: [UInt8] = []
    let devices = ListEditCoding.encode(edit, dot: dot, into: &bytes)
    return (edit, bytes, devices)
  }

  /// Every cut, and in every byte every single bit and a few other changes.
  private func forEachDamage(_ bytes: [UInt8], _ body: ([UInt8]) -> Void) {
    for end in 0..<bytes.count { body(Array(bytes[..<end])) }
    for index in bytes.indices {
      let byte = bytes[index]
      let flips = (0..<8).map { byte ^ 1 << UInt8($0) }
      for value in Set(flips + [0, 0xFF, byte &+ 1, byte &- 1]) where value != byte {
        var damaged = bytes
        damaged[index] = value
        body(damaged)
      }
    }
  }

  /// Lets everything happen to a list that anything may be wrong with.
  private func exercise(_ start: ListState, _ edit: ListEdit) -> Bool {
    var list = start
    list.apply(edit, stamp: stamp, context: context)
    guard list.values(.max).count == list.count, list.size(.remote) >= 0 else { return false }
    let own = Stamp(dot: Dot(device: DeviceID(rawValue: 5), sequence: 1), time: 60)
    list.insert([.int(1), .string("new")], at: list.count / 2)
    list.move(from: 0, to: list.count - 1)
    list.replace(at: 0, with: .string("other"))
    list.remove(at: list.count - 1)
    if let mine = list.collect() {
      list.commit(mine, stamp: own, context: context.merged(with: VersionVector([own.dot])))
    }
    var bytes: [UInt8] = []
    ListStateCoding.encode(list, into: &bytes)
    return list.values(.remote).count == list.count && !bytes.isEmpty
  }

  @Test func `a damaged edit is refused or does no harm`() throws {
    let list = sample()
    let (_, bytes, devices) = made(on: list)
    var refused = 0
    var applied = 0
    forEachDamage(bytes) { damaged in
      let range = 0..<damaged.count
      // Refusing is what is asked for.
      guard
        let edit = try? ListEditCoding.decode(damaged, range, dot: dot, devices: devices)
      else { return refused += 1 }
      applied += 1
      if !exercise(list, edit) { Issue.record("\(damaged)") }
    }
    #expect(refused > bytes.count && applied > 0)
  }

  @Test func `a damaged state is refused or does no harm`() throws {
    let list = sample()
    let (edit, _, _) = made(on: list)
    var bytes: [UInt8] = []
    ListStateCoding.encode(list, into: &bytes)
    var refused = 0
    var used = 0
    forEachDamage(bytes) { damaged in
      var reader = ByteReader(damaged)
      // Refusing is what is asked for.
      guard let copy = try? ListStateCoding.decode(&reader) else { return refused += 1 }
      used += 1
      if !exercise(copy, edit) { Issue.record("\(damaged)") }
    }
    #expect(refused > bytes.count && used > 0)
  }

  @Test func `damaged splices are refused or do no harm`() throws {
    let start = ListState(plain: (0..<6).map { .int($0) }, isCreated: false)
    var list = start
    list.insert([.string("a"), .int(5)], at: 1)
    list.remove(at: 4)
    list.move(from: 0, to: 6)
    let collected = list.collectSplices()
    let splices = try #require(collected)
    var bytes: [UInt8] = []
    ListSplicesCoding.encode(splices, into: &bytes)
    let again = try ListSplicesCoding.decode(bytes, 0..<bytes.count)
    #expect(again == splices)
    var refused = 0
    var applied = 0
    forEachDamage(bytes) { damaged in
      // Refusing is what is asked for.
      guard let splices = try? ListSplicesCoding.decode(damaged, 0..<damaged.count),
        splices.reach <= start.count
      else { return refused += 1 }
      applied += 1
      var copy = start
      copy.apply(splices)
      if !copy.isRightSize { Issue.record("\(damaged)") }
    }
    #expect(refused > bytes.count && applied > 0)
  }

  // MARK: forms of later versions

  @Test func `parts that a later version may add are told apart from damage`() {
    #expect(throws: DecodeError.newer("an edit of a list with unknown parts")) {
      try ListEditCoding.decode([8, 0], 0..<2, dot: dot, devices: [])
    }
    #expect(throws: DecodeError.newer("a list of an unknown kind")) {
      var reader = ByteReader([2, 0, 0])
      _ = try ListStateCoding.decode(&reader)
    }
  }

  // MARK: counts that lie

  private func varint(_ value: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.putVarint(value)
    return bytes
  }

  @Test(arguments: [1 << 20, 1 << 24, 1 << 29, 1 << 40, UInt64.max >> 2])
  func `counts that the bytes can't hold are refused`(count: UInt64) {
    let edits = [
      [1] + varint(count), [2] + varint(count), [4] + varint(count),
      // One chain of so many items, and columns of all types.
      [1, 1] + varint(count << 2) + [0, 1, 0], [1, 1] + varint(count << 2) + [0, 1, 0, 3, 0],
      [1, 1] + varint(count << 2) + [0, 1, 0, 0xFE, 0],
      [1, 1] + varint(count << 2 | 2) + [0, 1, 0] + varint(count),
    ]
    for bytes in edits {
      #expect(throws: DecodeError.self) {
        try ListEditCoding.decode(bytes, 0..<bytes.count, dot: dot, devices: [])
      }
    }
    let splices = [varint(count), [1, 0, 0] + varint(count), [1, 0, 0] + varint(count) + [3, 0]]
    for bytes in splices {
      #expect(throws: DecodeError.self) { try ListSplicesCoding.decode(bytes, 0..<bytes.count) }
    }
    let head: [UInt8] = [0, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    let states = [
      [0] + varint(count), head + varint(count), head + [1, 1, 0] + varint(count) + [1],
      head + [1, 1, 0] + varint(count) + varint(1),
      head + [1, 1, 0] + varint(count) + [2, 0x32, 0, 0] + varint(count << 5 | 1),
    ]
    for bytes in states {
      #expect(throws: DecodeError.self) {
        var reader = ByteReader(bytes)
        _ = try ListStateCoding.decode(&reader)
      }
    }
  }

  @Test func `a list of more devices than any delta can name is refused at once`() {
    var bytes = [0] + varint(UInt64(FormatBounds.devices))
    for device in 1...FormatBounds.devices {
      bytes.put(UInt64(device))
      bytes += [1, 1, 0, 1]
    }
    #expect(throws: DecodeError.limit) {
      var reader = ByteReader(bytes)
      _ = try ListStateCoding.decode(&reader)
    }
  }

  @Test func `an edit names nothing of its own delta`() {
    var edit = ListEdit()
    edit.deleted = [ListEdit.Span(first: NodeID(dot, 0), count: 1)]
    var bytes: [UInt8] = []
    _ = ListEditCoding.encode(edit, dot: dot, into: &bytes)
    #expect(throws: DecodeError.malformed("a name of a delta that can't be known")) {
      try ListEditCoding.decode(bytes, 0..<bytes.count, dot: dot, devices: [])
    }
  }

  /// Else a few bytes could ask for the same work again and again.
  @Test func `spans that overlap or stand in no order are refused`() {
    let base = ListPair.base.dot
    let bad = [
      [(1, 3), (2, 1)], [(1, 3), (1, 3)], [(4, 1), (1, 1)], [(1, 0)],
    ]
    for spans in bad {
      var edit = ListEdit()
      edit.deleted = spans.map {
        ListEdit.Span(first: NodeID(base, UInt32($0.0)), count: UInt32($0.1))
      }
      var bytes: [UInt8] = []
      let devices = ListEditCoding.encode(edit, dot: dot, into: &bytes)
      #expect(throws: DecodeError.malformed("removals from a list out of order")) {
        try ListEditCoding.decode(bytes, 0..<bytes.count, dot: dot, devices: devices)
      }
    }
  }

  @Test func `a delta that edits a list twice counts once`() {
    let list = sample()
    let (edit, _, _) = made(on: list)
    var once = list
    once.apply(edit, stamp: stamp, context: context)
    var twice = once
    twice.apply(edit, stamp: stamp, context: context)
    #expect(once == twice)
    #expect(exercise(twice, ListEdit()))
  }

  @Test func `names of nodes that nobody knows do nothing`() {
    let list = sample()
    var edit = ListEdit()
    let strange = Dot(device: DeviceID(rawValue: 77), sequence: 3)
    edit.chains = [
      ListEdit.Chain(parent: NodeID(strange, 0), side: .right, count: 1),
      ListEdit.Chain(parent: NodeID(ListPair.base.dot, 1 << 29), side: .left, count: 1),
    ]
    edit.inserted = ListItems([.int(1), .int(2)])
    edit.deleted = [
      ListEdit.Span(first: NodeID(strange, 0), count: .max),
      ListEdit.Span(first: NodeID(ListPair.base.dot, 1 << 29), count: 1 << 29),
    ]
    edit.replaced = [NodeID(strange, 4), NodeID(ListPair.base.dot, 0)]
    edit.replacements = ListItems([.int(3), .int(4)])
    var copy = list
    copy.apply(edit, stamp: stamp, context: context)
    #expect(copy == list)
    #expect(copy.isRightSize)
    #expect(exercise(copy, ListEdit()))
  }
}
