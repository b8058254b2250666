import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// A row with more columns than a reader of snapshots takes stays in the log.
struct SnapshotWidthTests {
  private func fields(_ numbers: Range<Int>) -> [(field: String, value: FieldValue?)] {
    numbers.map { (field: "f\($0)", value: FieldValue.int(Int64($0))) }
  }

  /// One that was removed takes a column as well, as long as others may not have seen that.
  @Test(arguments: [false, true])
  func `a record with too many fields is not folded, and nothing else is lost by that`(
    isRemoved: Bool
  ) throws {
    let device = try StoreDevice(1) { $0.rowColumns = 8 }
    let id = RecordName("r")
    try device.store.insert("small", ["n": 1])
    try device.store.insert(table: "t", id: id, fields(0..<8))
    try device.store.sync()
    _ = try device.store.compact()
    let before = try #require(device.snapshotBytes())
    try device.store.update(table: "t", id: id, fields(8..<9))
    if isRemoved { try device.store.update(table: "t", id: id, [(field: "f0", value: nil)]) }
    try device.store.sync()
    let content = try StoreContent(device.store)
    #expect(refusal { _ = try device.store.compact() } == .sizeLimit)
    #expect(device.snapshotBytes() == before)
    #expect(try StoreContent(device.store) == content)
    try device.store.set("small", ["n": 2])
    try device.store.sync()
    try device.reopen()
    #expect(device.store.recovery.isEmpty)
    #expect(try device.store.get("small") == ["n": 2])
    #expect(try device.store.get("r")?.count == (isRemoved ? 8 : 9))
    try device.store.delete("r")
    try device.store.sync()
    _ = try device.store.compact()
    #expect(device.snapshotBytes() != before)
    try device.reopen()
    #expect(try device.store.get("small") == ["n": 2])
    #expect(try device.store.get("r") == nil)
  }

  @Test func `what is too many is what no reader takes`() throws {
    var sink = RowSink(writer: SnapshotWriter(file: UnkeptFile(), datastore: 1))
    sink.begin("t")
    var row = BlockBuilder.Row()
    row.name = RecordName("r")
    let cell = BlockBuilder.RowCell(field: 0, cell: .none, stamp: .settled, isBase: false)
    row.cells = Array(repeating: cell, count: FormatBounds.columnsInTable + 1)
    let refused = refusal { try sink.add(row, heap: [], baseHeap: [], FieldNumbers()) }
    #expect(refused == .sizeLimit)
  }
}
