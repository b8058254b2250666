import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// The two deltas of FORMAT.md: a record is inserted, and a second later one of its fields is set.
struct PackFormatPageTests {
  private static let device = DeviceID(rawValue: 0x8877_6655_4433_2211)
  private static let names: [RecordName] = [.text("milk")]

  private func first(_ heap: inout [UInt8]) -> Delta {
    var delta = Delta()
    delta.dot = Dot(device: Self.device, sequence: 1)
    delta.time = 1_700_000_000_000
    delta.records = [Delta.RecordEntry(flags: Delta.Flags.insert, reference: 0)]
    delta.newNames = Self.names
    let cells = [Cell(.bool(false), heap: &heap), Cell(.string("Milk"), heap: &heap)]
    delta.rows = [0, 0]
    delta.tags = cells.map(\.tag)
    delta.words = cells.map(\.word)
    delta.columns = [
      Delta.Column(field: "done", operation: .put, cells: 0..<1),
      Delta.Column(field: "name", operation: .put, cells: 1..<2),
    ]
    delta.sections = [Delta.Section(table: "tasks", records: 0..<1, columns: 0..<2)]
    return delta
  }

  private func second() -> Delta {
    var delta = Delta()
    delta.dot = Dot(device: Self.device, sequence: 2)
    delta.time = 1_700_000_001_000
    delta.records = [Delta.RecordEntry(flags: 0, reference: 0)]
    delta.rows = [0]
    delta.tags = [CellTag.yes]
    delta.words = [0]
    delta.columns = [Delta.Column(field: "done", operation: .put, cells: 0..<1)]
    delta.sections = [Delta.Section(table: "tasks", records: 0..<1, columns: 0..<1)]
    return delta
  }

  @Test func `a delta`() throws {
    let bytes = try FormatPage.example("delta")
    var heap: [UInt8] = []
    let delta = first(&heap)
    var encoder = DeltaEncoder()
    var written: [UInt8] = []
    encoder.encode(delta, heap: heap, into: &written)
    #expect(written == bytes)
    var decoder = DeltaDecoder()
    var read = Delta()
    var reader = ByteReader(bytes)
    try decoder.decode(&reader, dot: read.dot, into: &read)
    read.dot = delta.dot
    #expect(reader.isAtEnd)
    #expect(
      DeltaContent(read, heap: bytes, names: decoder.records)
        == DeltaContent(delta, heap: heap, names: Self.names))
  }

  @Test func `a pack of two deltas`() throws {
    let bytes = try FormatPage.example("pack")
    var heap: [UInt8] = []
    let deltas = [first(&heap), second()]
    var writer = PackWriter(device: Self.device, first: 1)
    var map: [UInt32] = []
    for delta in deltas { writer.append(delta, heap: heap, names: Self.names, map: &map) }
    #expect(writer.bytes() == bytes)
    var reader = try PackReader(bytes)
    var delta = Delta()
    for expected in deltas {
      #expect(try reader.next(into: &delta))
      #expect(
        DeltaContent(delta, heap: reader.heap, names: reader.records)
          == DeltaContent(expected, heap: heap, names: Self.names))
    }
    #expect(try !reader.next(into: &delta))
  }

  @Test func `a list`() throws {
    let bytes = try FormatPage.example("list")
    var written: [UInt8] = []
    ListCoding.encode([.string("milk"), .int(-3), .bool(true)], into: &written)
    #expect(written == bytes)
  }
}
