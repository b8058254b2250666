import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// What FORMAT.md says of lists: four deltas, and the state of a record with an edited list.
struct ListFormatPageTests {
  private static let device = DeviceID(rawValue: 0x8877_6655_4433_2211)
  private static let other = DeviceID(rawValue: 9)
  private static let names: [RecordName] = [.text("milk")]
  private static let time: Int64 = 1_700_000_000_000

  private static func node(_ device: DeviceID, _ sequence: UInt64, _ index: UInt32) -> NodeID {
    NodeID(Dot(device: device, sequence: sequence), index)
  }

  /// A delta with one cell: field `tags` of a record that the scope sees for the first time.
  private func delta(_ operation: Delta.Operation, _ sequence: UInt64) -> Delta {
    var delta = Delta()
    delta.dot = Dot(device: Self.device, sequence: sequence)
    delta.time = Self.time
    delta.records = [Delta.RecordEntry(flags: 0, reference: 0)]
    delta.newNames = Self.names
    delta.rows = [0]
    delta.tags = [CellTag.none]
    delta.words = [0]
    delta.columns = [Delta.Column(field: "tags", operation: operation, cells: 0..<1)]
    delta.sections = [Delta.Section(table: "tasks", records: 0..<1, columns: 0..<1)]
    return delta
  }

  private func created(_ heap: inout [UInt8]) -> Delta {
    var delta = delta(.put, 1)
    let cell = Cell(created: [.string("a"), .string("b")], heap: &heap)
    delta.tags = [cell.tag]
    delta.words = [cell.word]
    return delta
  }

  /// "x" behind item 2, then item 1 moved behind that; item 3 deleted; another device's replaced.
  private func edit() -> Delta {
    var delta = delta(.edit, 4)
    var edit = ListEdit()
    edit.chains = [
      ListEdit.Chain(
        parent: Self.node(Self.device, 2, 3), side: .left, count: 2,
        moves: [ListEdit.Move(offset: 1, item: Self.node(Self.device, 2, 1))])
    ]
    edit.inserted = ListItems([.string("x")])
    edit.deleted = [ListEdit.Span(first: Self.node(Self.device, 2, 3), count: 1)]
    edit.replaced = [Self.node(Self.other, 5, 0)]
    edit.replacements = ListItems([.int(7)])
    delta.edits = [0: edit]
    return delta
  }

  private func splice() -> Delta {
    var delta = delta(.splice, 5)
    var splices = ListSplices()
    splices.steps = [
      ListSplices.Step(skipped: 1, deleted: 1, inserted: 2),
      ListSplices.Step(skipped: 3, deleted: 1, inserted: 0),
    ]
    splices.inserted = ListItems([.string("x"), .string("yz")])
    delta.splices = [0: splices]
    return delta
  }

  private func dates() -> Delta {
    var delta = delta(.splice, 5)
    var splices = ListSplices()
    splices.steps = [ListSplices.Step(skipped: 1, deleted: 0, inserted: 2)]
    splices.inserted = ListItems([.date(Self.time), .date(Self.time + 1000)])
    delta.splices = [0: splices]
    return delta
  }

  private func check(_ example: String, _ delta: Delta, _ heap: [UInt8]) throws {
    let bytes = try FormatPage.example(example)
    var encoder = DeltaEncoder()
    var written: [UInt8] = []
    encoder.encode(delta, heap: heap, into: &written)
    #expect(written == bytes)
    var decoder = DeltaDecoder()
    var read = Delta()
    var reader = ByteReader(bytes)
    try decoder.decode(&reader, dot: delta.dot, into: &read)
    #expect(reader.isAtEnd)
    #expect(
      DeltaContent(read, heap: bytes, names: decoder.records)
        == DeltaContent(delta, heap: heap, names: Self.names))
    #expect(read.edits == delta.edits)
    #expect(read.splices == delta.splices)
  }

  @Test func `a list that was created by editing`() throws {
    var heap: [UInt8] = []
    let delta = created(&heap)
    try check("delta-created", delta, heap)
  }

  @Test func `an edit of a list`() throws { try check("delta-edit", edit(), []) }

  @Test func `splices of a list`() throws { try check("delta-splice", splice(), []) }

  @Test func `dates that are put into a list`() throws {
    try check("delta-splice-date", dates(), [])
  }

  // MARK: states

  /// A list of a, b, c, in which this device deletes b, and another one puts x behind a.
  private static func state() -> RecordState {
    let first = Stamp(dot: Dot(device: device, sequence: 1), time: time)
    let seen = VersionVector([first.dot])
    var state = RecordState()
    state.apply(.insert, stamp: first, context: seen, born: [])
    let list = FieldValue.list([.string("a"), .string("b"), .string("c")])
    state.apply(
      .write(field: "tags", .put(list, covered: [])), stamp: first, context: seen, born: [])
    var removal = ListEdit()
    removal.deleted = [ListEdit.Span(first: node(device, 1, 2), count: 1)]
    let second = Stamp(dot: Dot(device: device, sequence: 2), time: time + 1000)
    state.apply(
      .write(field: "tags", .edit(removal)), stamp: second,
      context: VersionVector([second.dot]), born: [])
    var insertion = ListEdit()
    insertion.chains = [ListEdit.Chain(parent: node(device, 1, 2), side: .left, count: 1)]
    insertion.inserted = ListItems([.string("x")])
    let third = Stamp(dot: Dot(device: other, sequence: 1), time: time + 2000)
    state.apply(
      .write(field: "tags", .edit(insertion)), stamp: third,
      context: VersionVector([first.dot, third.dot]), born: [])
    return state
  }

  /// The same, and a second field with a list that two devices began, of which one moved and
  /// replaced items.
  private static func fullState() -> RecordState {
    var state = state()
    let dots = [Dot(device: device, sequence: 3), Dot(device: other, sequence: 2)]
    for dot in dots {
      let stamp = Stamp(dot: dot, time: time + 3000)
      let items: [FieldValue] = [.int(Int64(dot.sequence)), .bool(true), .double(0.5)]
      state.apply(
        .write(field: "rows", .create(items, covered: [])), stamp: stamp,
        context: VersionVector([dot]), born: [])
      state.apply(
        .write(field: "whole", .create(items, covered: [])), stamp: stamp,
        context: VersionVector([dot]), born: [])
    }
    for (number, writer) in [device, other].enumerated() {
      let stamp = Stamp(dot: Dot(device: writer, sequence: 9), time: time + 4000)
      var edit = ListEdit()
      edit.chains = [
        ListEdit.Chain(
          parent: node(device, 3, 3), side: .right, count: 1,
          moves: [ListEdit.Move(offset: 0, item: node(other, 2, 1))])
      ]
      edit.replaced = [node(device, 3, 2)]
      edit.replacements = ListItems([.int(Int64(number))])
      state.apply(
        .write(field: "rows", .edit(edit)), stamp: stamp,
        context: VersionVector(dots + [stamp.dot]), born: [])
    }
    return state
  }

  private func bytes(_ state: RecordState) -> [UInt8] {
    var out: [UInt8] = []
    RecordStateCoding.encode(state, into: &out)
    return out
  }

  @Test func `the state of an edited list`() throws {
    let example = try FormatPage.example("list-state")
    let state = Self.state()
    #expect(
      state.visible("tags", rule: .remote)
        == .list([.string("a"), .string("x"), .string("c")]))
    #expect(bytes(state) == example)
    #expect(try RecordStateCoding.decode(example, 0..<example.count) == state)
    #expect(
      try RecordStateCoding.listItems(of: "tags", example, 0..<example.count)
        == [.string("a"), .string("x"), .string("c")])
    #expect(try RecordStateCoding.listCount(of: "tags", example, 0..<example.count) == 3)
    #expect(try RecordStateCoding.listItems(of: "rows", example, 0..<example.count) == nil)
    #expect(try RecordStateCoding.exists(example, 0..<example.count))
  }

  // MARK: golden files

  @Test func `lists of version 1 in a pack`() throws {
    var heap: [UInt8] = []
    var deltas = [created(&heap), edit(), splice()]
    for index in deltas.indices { deltas[index].dot.sequence = UInt64(index + 4) }
    var writer = PackWriter(device: Self.device, first: 4)
    var map: [UInt32] = []
    for delta in deltas { writer.append(delta, heap: heap, names: Self.names, map: &map) }
    let bytes = try GoldenFile.bytes("lists.pack", written: writer.bytes())
    #expect(bytes == writer.bytes())
    var reader = try PackReader(bytes)
    var read = Delta()
    for delta in deltas {
      #expect(try reader.next(into: &read))
      #expect(read.edits == delta.edits)
      #expect(read.splices == delta.splices)
      #expect(read.tags == delta.tags)
    }
    #expect(try !reader.next(into: &read))
  }

  @Test func `lists of version 1 in a record's state`() throws {
    let state = Self.fullState()
    let written = bytes(state)
    let bytes = try GoldenFile.bytes("lists.state", written: written)
    #expect(bytes == written)
    #expect(try RecordStateCoding.decode(bytes, 0..<bytes.count) == state)
  }
}
