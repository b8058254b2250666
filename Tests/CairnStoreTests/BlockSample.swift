import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import TestSupport

@testable import CairnStore

/// A row as a test thinks of it.
struct SampleRow {
  var name: RecordName
  var presence = Stamp.settled
  var fields: [(String, FieldValue?, Stamp)] = []
  var state: RecordState?
  /// The bytes of its state, if they are not what the state's would be.
  var stateBytes: [UInt8]?

  init(
    _ name: RecordName, presence: Stamp = .settled, _ fields: [(String, FieldValue?, Stamp)] = [],
    state: RecordState? = nil
  ) {
    self.name = name
    self.presence = presence
    self.fields = fields
    self.state = state
  }

  /// A row that everybody has seen.
  init(_ name: RecordName, settled fields: [(String, FieldValue)]) {
    self.init(name, fields.map { ($0.0, $0.1, .settled) })
  }
}

func stamp(_ device: Int, _ sequence: Int, _ time: Int = 1_700_000_000_000) -> Stamp {
  let device = DeviceID(rawValue: UInt64(device))
  return Stamp(dot: Dot(device: device, sequence: UInt64(sequence)), time: Int64(time))
}

func packed(_ number: Int) -> RecordName { RecordName.packed(0, UInt64(number)) }

/// Builds blocks and whole snapshots from rows, without a store.
struct BlockSample {
  private(set) var heap: [UInt8] = []
  var fields: [String]

  init(fields: [String] = []) { self.fields = fields }

  static func hash(_ row: SampleRow, in table: String) -> UInt64 {
    BaseSnapshot.hash(row.name, salt: BaseSnapshot.salt(table))
  }

  mutating func row(_ row: SampleRow) -> BlockBuilder.Row {
    var result = BlockBuilder.Row()
    result.name = row.name
    result.presence = row.presence
    for (field, value, stamp) in row.fields {
      let cell = Cell(value, heap: &heap)
      if CellTag.isHeap(cell.tag) { result.heapBytes += Int(cell.word & 0xFF_FFFF) }
      result.cells.append(
        BlockBuilder.RowCell(field: number(field), cell: cell, stamp: stamp, isBase: false))
    }
    if let state = row.state {
      var bytes: [UInt8] = []
      RecordStateCoding.encode(state, into: &bytes)
      result.state = bytes
    }
    if let bytes = row.stateBytes { result.state = bytes }
    return result
  }

  private mutating func number(_ field: String) -> Int {
    if let known = fields.firstIndex(of: field) { return known }
    fields.append(field)
    return fields.count - 1
  }

  /// One block of these rows.
  mutating func block(_ rows: [SampleRow], table: Int = 0, name: String = "t") -> [UInt8] {
    var builder = BlockBuilder(table: table)
    for row in rows {
      let made = self.row(row)
      builder.add(made, hash: BlockSample.hash(row, in: name), heap: heap, baseHeap: [])
    }
    return builder.finish(fields: fields)
  }

  /// A snapshot file of tables with rows in order. `hashed`: under which other name the index has
  /// some of them.
  static func snapshot(
    _ tables: [(name: String, rows: [SampleRow])], datastore: UInt128,
    description: SnapshotDescription = SnapshotDescription(),
    hashed: [RecordName: RecordName] = [:]
  ) throws -> [UInt8] {
    let disk = MemoryDisk()
    let file = try disk.open("/s.snap", .create)
    let writer = SnapshotWriter(file: file, datastore: datastore)
    var description = description
    for (number, table) in tables.enumerated() {
      var sample = BlockSample()
      var builder = BlockBuilder(table: number)
      let first = writer.blockCount
      for row in table.rows {
        let next = sample.row(row)
        var indexed = row
        indexed.name = hashed[row.name] ?? row.name
        let hash = BlockSample.hash(indexed, in: table.name)
        if builder.mustCut(before: next, hash: hash) {
          try flush(&builder, sample.fields, writer)
        }
        builder.add(next, hash: hash, heap: sample.heap, baseHeap: [])
      }
      if !builder.isEmpty { try flush(&builder, sample.fields, writer) }
      description.tables.append(
        SnapshotDescription.Table(
          name: table.name, firstBlock: first, blockCount: writer.blockCount - first,
          rowCount: table.rows.count))
      description.recordCount += table.rows.count
    }
    let length = try writer.finish(description: description.encoded())
    let bytes = disk.bytes("/s.snap") ?? []
    precondition(bytes.count == Int(length))
    return bytes
  }

  private static func flush(
    _ builder: inout BlockBuilder, _ fields: [String], _ writer: SnapshotWriter
  ) throws {
    let hashes = builder.hashes
    try writer.add(block: builder.finish(fields: fields), hashes: hashes)
  }
}

extension Block {
  /// All that a block says of a row, by field name.
  func content(_ row: Int, _ numbers: FieldNumbers) -> [String: FieldValue?] {
    var result: [String: FieldValue?] = [:]
    for column in columns {
      let cell = cell(row, column.field)
      if cell.tag != CellTag.none { result[numbers.names[column.field]] = cell.value(bytes) }
    }
    return result
  }
}
