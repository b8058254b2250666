import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// A pack of version 1 with everything that a delta can say.
struct PackGoldenTests {
  private static let device = DeviceID(rawValue: 0x8877_6655_4433_2211)
  private static let names: [RecordName] = [.packed(1, 2), .text("milk"), .packed(.max, 3)]
  private static let columns: [(String, Delta.Operation, [FieldValue?])] = [
    ("bits", .put, [.bool(true), .bool(false), .bool(true)]),
    ("int", .put, [.int(1), .int(-300), .int(.max)]),
    ("date", .put, [.date(1_700_000_000_000), .date(0), .date(5)]),
    ("price", .put, [.double(19.99), .double(5), .double(0.1)]),
    ("double", .put, [.double(.pi), .double(-0.0), .double(.infinity)]),
    ("text", .put, [.string(""), .string("naïve"), .string("👩‍👩‍👧")]),
    ("bytes", .put, [.bytes([0, 255]), .bytes([]), .bytes([7])]),
    ("list", .put, [.list([]), .list([.int(1), .string("é")]), .list([.double(0.5)])]),
    ("mixed", .put, [nil, .int(4), .string("x")]),
    ("one", .put, [.bool(true)]),
    ("covering", .putCovering, [.int(10), .int(11), .int(12)]),
    ("add", .add, [.int(5), .double(2.5), .int(-1)]),
  ]

  private func delta(_ heap: inout [UInt8]) -> Delta {
    let other = DeviceID(rawValue: 9)
    var delta = Delta()
    delta.dot = Dot(device: Self.device, sequence: 41)
    delta.time = 1_700_000_000_000
    delta.dependencies = [Dot(device: other, sequence: 300)]
    for flags in [Delta.Flags.insert, Delta.Flags.insert | Delta.Flags.born, Delta.Flags.delete] {
      delta.records.append(
        Delta.RecordEntry(flags: flags, reference: UInt32(delta.records.count)))
    }
    delta.newNames = Self.names
    delta.born = [1: [Dot(device: other, sequence: 2), Dot(device: Self.device, sequence: 7)]]
    for (field, operation, values) in Self.columns {
      let start = delta.rows.count
      for (row, value) in values.enumerated() {
        let cell = Cell(value, heap: &heap)
        let index = delta.rows.count
        delta.rows.append(values.count == 1 ? 1 : UInt32(row))
        delta.tags.append(cell.tag)
        delta.words.append(cell.word)
        if operation == .putCovering, row == 1 {
          delta.covered[index] = [RunningTotal(device: other, last: 300, total: .double(1.5))]
        }
        if operation == .add {
          delta.totals[index] = Delta.Addition(since: UInt64(row + 1), total: .int(Int64(row)))
        }
      }
      delta.columns.append(
        Delta.Column(field: field, operation: operation, cells: start..<delta.rows.count))
    }
    delta.sections = [
      Delta.Section(table: "tasks", records: 0..<3, columns: 0..<delta.columns.count)
    ]
    return delta
  }

  @Test func `a pack`() throws {
    var heap: [UInt8] = []
    let delta = delta(&heap)
    var writer = PackWriter(device: Self.device, first: 41)
    var map: [UInt32] = []
    writer.append(delta, heap: heap, names: Self.names, map: &map)
    let bytes = try GoldenFile.bytes("everything.pack", written: writer.bytes())
    #expect(bytes == writer.bytes())
    var reader = try PackReader(bytes)
    var read = Delta()
    #expect(try reader.next(into: &read))
    #expect(
      DeltaContent(read, heap: reader.heap, names: reader.records)
        == DeltaContent(delta, heap: heap, names: Self.names))
    #expect(try !reader.next(into: &read))
  }

  @Test func `a record in conflict`() throws {
    // Written when a base kept its list: what it says is the same.
    let old = try GoldenFile.bytes("record.state", written: [])
    #expect(try RecordStateCoding.decode(old, 0..<old.count) == RecordStateCodingTests.full)
    var written: [UInt8] = []
    RecordStateCoding.encode(RecordStateCodingTests.full, into: &written)
    let bytes = try GoldenFile.bytes("record-bases.state", written: written)
    #expect(bytes == written)
    #expect(
      try RecordStateCoding.decode(bytes, 0..<bytes.count) == RecordStateCodingTests.full)
  }
}
