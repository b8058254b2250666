import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// Deltas that are moved to another device, lose a table, or lack a part.
struct HandmadeDeltaTests {
  private let old = DeviceID(rawValue: 1)
  private let new = DeviceID(rawValue: 2)
  private let other = DeviceID(rawValue: 3)

  private func inserted(_ sequence: UInt64, by device: DeviceID? = nil) -> HandmadeDelta {
    var one = HandmadeDelta(device ?? old, sequence)
    one.add("t", records: ["r\(sequence)"], .put, [.int(Int64(sequence))])
    return one
  }

  @Test func `a table that is dropped leaves the births of the others`() {
    let (mine, theirs) = (Dot(device: old, sequence: 1), Dot(device: new, sequence: 1))
    var one = HandmadeDelta(old, 2)
    one.add("a", records: ["x", "y"], born: [mine], .put, [.int(1), .int(2)])
    one.add("b", records: ["x", "z"], born: [theirs], .put, [.int(3), .int(4)])
    one.delta.drop(table: "a")
    #expect(one.delta.sections.map(\.table) == ["b"])
    #expect(one.delta.records.count == 2)
    #expect(one.delta.born[0] == [theirs] && one.delta.born[1] == [theirs])
    #expect(one.delta.born.count == 2)
    let section = one.delta.sections[0]
    #expect(section.records == 0..<2)
    let column = one.delta.columns[section.columns.lowerBound]
    #expect(column.cells.map { one.delta.rows[$0] } == [0, 1])
  }

  @Test func `a table is dropped but for some of its records`() throws {
    let (mine, theirs) = (Dot(device: old, sequence: 1), Dot(device: new, sequence: 1))
    var one = HandmadeDelta(old, 2)
    one.add("a", records: ["w"], .put, [.int(0)])
    one.add("b", records: ["x", "y", "z"], born: [mine], .put, [.int(1), .int(2), .int(3)])
    one.add("c", records: ["x"], born: [theirs], .put, [.int(4)])
    let names = one.delta.newNames
    one.delta.drop(table: "b") { names[Int($0)] != RecordName("y") }
    #expect(one.delta.sections.map(\.table) == ["a", "b", "c"])
    #expect(one.delta.sections.map(\.records) == [0..<1, 1..<3, 3..<4])
    #expect(one.delta.born.count == 3)
    #expect((1...3).map { one.delta.born[$0] } == [[mine], [mine], [theirs]])
    let delta = try #require(try HandmadeDelta.read(HandmadeDelta.pack([one])).first)
    let cells = delta.sections.map { section in
      delta.columns[section.columns].flatMap(\.cells)
    }
    #expect(cells.map { $0.map { delta.rows[$0] } } == [[0], [1, 2], [3]])
    #expect(cells.map { $0.map { delta.words[$0] } } == [[0], [1, 3], [4]])
  }

  /// What deltas of the device 1 have of a reserved table once they are those of `author`.
  private func reserved(
    of pack: [UInt8], author: DeviceID, isOnTop: Bool
  ) throws -> [String: FieldValue] {
    var moved = Reauthoring(
      CommonBranch(old), author: author, present: VersionVector(), isOnTop: isOnTop)
    try moved.add(pack: pack)
    #expect(moved.packs.count == 1)
    var reader = try PackReader(try #require(moved.packs.first))
    var delta = Delta()
    let isThere = try reader.next(into: &delta)
    #expect(isThere && delta.dot == Dot(device: author, sequence: 1))
    #expect(delta.sections.last?.table == "t")
    var values: [String: FieldValue] = [:]
    for section in delta.sections where section.table == Cut.table {
      for cell in delta.columns[section.columns].flatMap(\.cells) {
        let record = delta.records[Int(delta.rows[cell])]
        let value = Cell(tag: delta.tags[cell], word: delta.words[cell]).value(reader.heap)
        values[reader.records[Int(record.reference)].text] = value
      }
      #expect(section.records.count == values.count)
    }
    return values
  }

  @Test func `cuts are about the deltas of their time, and retirements go on`() throws {
    let names = ["\(old)-1", "r-\(old)", "r-\(other)", "\(other)-7"]
    var one = HandmadeDelta(old, 1)
    let values: [FieldValue] = [.bytes([1]), .bytes([2]), .bytes([3]), .bytes([4])]
    one.add(Cut.table, records: names, .put, values)
    one.add("t", records: ["r"], .put, [.int(1)])
    let pack = HandmadeDelta.pack([one])
    let kept: [String: FieldValue] = [names[1]: .bytes([2]), names[2]: .bytes([3])]
    #expect(try reserved(of: pack, author: old, isOnTop: false) == kept)
    // The old name is somebody else's now.
    #expect(try reserved(of: pack, author: new, isOnTop: false) == [names[2]: .bytes([3])])
    #expect(try reserved(of: pack, author: new, isOnTop: true) == [:])
  }

  @Test func `an edit without a list of steps is one of none`() {
    var without = HandmadeDelta(old, 1)
    without.add("t", records: ["x"], .edit)
    var with = without
    with.delta.edits[0] = ListEdit()
    #expect(HandmadeDelta.pack([without]) == HandmadeDelta.pack([with]))
  }

  @Test func `deltas are moved in their order, each once, and only their author's`() throws {
    var moved = Reauthoring(CommonBranch(old), author: new, present: VersionVector())
    try moved.add(pack: HandmadeDelta.pack([inserted(1), inserted(2)]))
    // What was moved already is passed over.
    try moved.add(pack: HandmadeDelta.pack([inserted(2), inserted(3)]))
    #expect(moved.last == 3 && moved.lastMoved == 3)
    var copy = moved
    let refusal = DecodeError.malformed("deltas that do not follow one another")
    #expect(throws: refusal) { try copy.add(pack: HandmadeDelta.pack([inserted(5)])) }
    #expect(throws: refusal) {
      try moved.add(pack: HandmadeDelta.pack([inserted(4, by: other)]))
    }
    let deltas = try moved.packs.flatMap { try HandmadeDelta.read($0) }
    #expect(deltas.map(\.dot) == (1...3).map { Dot(device: new, sequence: $0) })
  }

  @Test func `much that is moved goes into several packs`() throws {
    var moved = Reauthoring(CommonBranch(old), author: new, present: VersionVector())
    let text = FieldValue.bytes([UInt8](repeating: 7, count: 3 << 20))
    for sequence in 1...5 as ClosedRange<UInt64> {
      var one = HandmadeDelta(old, sequence)
      one.add("t", records: ["r"], .put, [text])
      try moved.add(pack: HandmadeDelta.pack([one]))
    }
    #expect(moved.packs.count == 3)
    let deltas = try moved.packs.map { try HandmadeDelta.read($0).map(\.dot.sequence) }
    #expect(deltas == [[1, 2], [3, 4], [5]])
    #expect(try moved.packs.map { try PackReader($0).header.device } == [new, new, new])
  }

  @Test func `a write that replaces what was added is moved with what it replaced`() throws {
    var adds = HandmadeDelta(old, 1)
    adds.add("t", records: ["r"], .add, [.int(5)])
    adds.delta.totals[0] = Delta.Addition(since: 1, total: .int(5))
    var puts = HandmadeDelta(old, 2)
    puts.add("t", records: ["r"], .putCovering, [.int(9)])
    let theirs = RunningTotal(device: other, last: 4, total: .int(2))
    puts.delta.covered[0] = [RunningTotal(device: old, last: 1, total: .int(5)), theirs]
    var moved = Reauthoring(CommonBranch(old), author: new, present: VersionVector())
    try moved.add(pack: HandmadeDelta.pack([adds, puts]))
    #expect(!moved.isUncertain)
    let deltas = try moved.packs.flatMap { try HandmadeDelta.read($0) }
    #expect(deltas[0].totals[0] == Delta.Addition(since: 1, total: .int(5)))
    let mine = RunningTotal(device: new, last: 1, total: .int(5))
    #expect(deltas[1].covered[0] == [mine, theirs])
  }

  @Test func `a sum goes on from what a state knows of its device, unless that is newer`() throws {
    var adds = HandmadeDelta(old, 4)
    adds.add("t", records: ["r"], .add, [.int(12)])
    adds.delta.totals[0] = Delta.Addition(since: 2, total: .int(12))
    let pack = HandmadeDelta.pack([adds])
    let states = [(old, 3, true), (old, 4, false), (other, 3, false)] as [(DeviceID, UInt64, Bool)]
    for (device, last, isKnown) in states {
      var common = CommonBranch(old, through: 3)
      let name = try #require(try common.begunRuns(in: pack).first)
      let stamp = Stamp(dot: Dot(device: device, sequence: last), time: 7)
      common.note(Total(stamp: stamp, born: [], since: 2, total: .int(5)), of: name)
      var moved = Reauthoring(common, author: new, present: VersionVector())
      try moved.add(pack: pack)
      #expect(moved.isUncertain == !isKnown)
      let totals = try moved.packs.flatMap { try HandmadeDelta.read($0) }.map { $0.totals[0] }
      #expect(totals == (isKnown ? [Delta.Addition(since: 1, total: .int(7))] : []))
    }
  }

  @Test func `a change that is applied twice is there once`() {
    let stamp = Stamp(dot: Dot(device: old, sequence: 1), time: 7)
    var state = RecordState()
    let put = RecordChange.write(field: "f", .put(.int(1), covered: []))
    for change in [RecordChange.insert, put] {
      state.apply(change, stamp: stamp, context: VersionVector(), born: [])
      let once = state
      state.apply(change, stamp: stamp, context: VersionVector(), born: [])
      #expect(state == once)
    }
    #expect(state.presences.count == 1 && state.register("f").entries.count == 1)
  }
}
