import CairnBytes
import CairnLog
import CairnMerge

/// Rows on their way into a snapshot file: cut into blocks, table by table.
struct RowSink {
  private let writer: SnapshotWriter
  private var builder = BlockBuilder(table: 0)
  private let columnsMax: Int
  private var salt: UInt64 = 0
  private var firstBlock = 0
  private var rows = 0
  /// The tables that have rows, as the description names them.
  private(set) var tables: [SnapshotDescription.Table] = []

  init(writer: SnapshotWriter, columnsMax: Int = FormatBounds.columnsInTable) {
    self.writer = writer
    self.columnsMax = columnsMax
  }

  /// Tables come in the order of their names, and the rows of each in the order of theirs.
  mutating func begin(_ table: String) {
    builder = BlockBuilder(table: tables.count)
    salt = BaseSnapshot.salt(table)
    firstBlock = writer.blockCount
    rows = 0
  }

  /// Cells refer to `heap`, or to `baseHeap` where they say so.
  mutating func add(
    _ row: BlockBuilder.Row, heap: [UInt8], baseHeap: [UInt8], _ fields: FieldNumbers
  ) throws(StoreError) {
    // A block with more than a few thousand columns is one of this row alone. No reader takes more
    // than that: written all the same, it would be found out only when the log is gone.
    guard row.cells.count <= columnsMax else { throw tooWide(row) }
    let hash = BaseSnapshot.hash(row.name, salt: salt)
    if builder.mustCut(before: row, hash: hash) { try flush(fields) }
    builder.add(row, hash: hash, heap: heap, baseHeap: baseHeap)
    rows += 1
  }

  private func tooWide(_ row: BlockBuilder.Row) -> StoreError {
    StoreError(
      .sizeLimit,
      "record \(row.name.text) has \(row.cells.count) fields, those among them that were removed "
        + "and that others may not have seen removed; a snapshot holds \(columnsMax) of one "
        + "record. The log keeps them, and can't be folded until the record is deleted",
      id: row.name.text)
  }

  mutating func end(_ table: String, _ fields: FieldNumbers) throws(StoreError) {
    try flush(fields)
    if rows == 0 { return }
    tables.append(
      SnapshotDescription.Table(
        name: table, firstBlock: firstBlock, blockCount: writer.blockCount - firstBlock,
        rowCount: rows))
  }

  private mutating func flush(_ fields: FieldNumbers) throws(StoreError) {
    if builder.isEmpty { return }
    let finished = builder
    builder = finished.emptied()
    let names = fields.names
    do throws(LogError) {
      try writer.add(hashes: finished.hashes) {
        var block = finished
        return block.finish(fields: names)
      }
    } catch { throw StoreError(error) }
  }

  /// Writes what is left; `description` as it is but for the tables. Returns the file's length.
  func finish(_ description: SnapshotDescription) throws(StoreError) -> UInt64 {
    var description = description
    description.tables = tables
    do {
      return try writer.finish(description: description.encoded(), floor: description.floor)
    } catch { throw StoreError(error) }
  }
}
