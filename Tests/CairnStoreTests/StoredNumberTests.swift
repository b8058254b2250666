import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// Counts out of files may be any number, under good checksums too: nobody adds them up, or makes
/// room for so much, unseen.
struct StoredNumberTests {
  @Test func `records that found no room are as many as there is room for to say`() throws {
    let device = try StoreDevice(1) { $0.trashMilliseconds = 1 << 40 }
    try device.store.insert("r")
    try device.store.sync()
    for number in 0..<2 as Range<UInt64> {
      let file = DeletedFile(
        datastore: StoreDevice.datastore, time: 7, notKept: 1 << 63, records: [])
      let time = UInt64(device.clock.now()) - number
      try device.disk.setBytes(
        StoreDevice.directory + "/" + FileName.trash + "/" + FileName.deleted(time),
        file.encoded())
    }
    let (records, notKept, problems) = try device.store.deletedRecords()
    #expect(records.isEmpty && problems.isEmpty)
    #expect(notKept == .max)
  }

  /// A whole snapshot, but for what its description says.
  private func forged(
    _ path: String, _ device: StoreDevice, _ change: (inout SnapshotDescription) -> Void
  ) throws -> [UInt8] {
    let reader = try SnapshotReader(path, disk: device.disk, isOwn: true)
    var description = try SnapshotDescription(
      reader.description, blockCount: reader.blockCount)
    change(&description)
    let file = try device.disk.open("/forged", .create)
    defer { file.close() }
    let writer = SnapshotWriter(file: file, datastore: StoreDevice.datastore)
    var fields = FieldNumbers()
    for number in 0..<reader.blockCount {
      let bytes = try reader.block(number)
      let block = try Block(bytes, numbers: &fields)
      let salt = BaseSnapshot.salt(description.tables[block.table].name)
      try writer.add(
        block: bytes,
        hashes: (0..<block.rowCount).map { BaseSnapshot.hash(block.name($0), salt: salt) })
    }
    _ = try writer.finish(description: description.encoded(), floor: description.floor)
    let bytes = try #require(device.disk.bytes("/forged"))
    try device.disk.remove("/forged")
    return bytes
  }

  /// A device with three records in its snapshot, and the path of that.
  private func compacted() throws -> (device: StoreDevice, path: String) {
    let device = try StoreDevice(1)
    for number in 0..<3 { try device.store.insert("r\(number)", ["x": .int(Int64(number))]) }
    try device.store.sync()
    _ = try device.store.compact()
    return (device, try #require(device.store.snapshotFile()?.path))
  }

  @Test(arguments: [1, 2, 4, Int(UInt32.max)])
  func `a table of more or fewer rows than the file has is damage`(rows: Int) throws {
    let (device, path) = try compacted()
    func forged(rows: Int) throws -> [UInt8] {
      try self.forged(path, device) { description in
        let first = description.tables[0]
        description.tables[0] = SnapshotDescription.Table(
          name: first.name, firstBlock: first.firstBlock, blockCount: first.blockCount,
          rowCount: rows)
      }
    }
    let whole = try forged(rows: 3)
    let bytes = try forged(rows: rows)
    try device.store.close()
    try device.disk.setBytes(path, bytes)
    let error = #expect(throws: StoreError.self) { try device.open() }
    #expect(error?.log?.reason == .corrupt && error?.log?.path == path)
    try device.disk.setBytes(path, whole)
    try device.open()
    #expect(try device.store.count(table: "t") == 3)
  }

  @Test func `less than nothing that is left of what a snapshot has counted is nothing`() throws {
    let (device, path) = try compacted()
    let bytes = try forged(path, device) { ($0.size, $0.recordCount) = (0, 0) }
    let other = try StoreDevice(2)
    let incoming = other.store.temporarySnapshotPath()
    try other.disk.setBytes(incoming, bytes)
    try other.store.adopt(snapshot: incoming)
    try other.store.delete("r0")
    try other.store.sync()
    _ = try other.store.compact()
    try other.reopen()
    #expect(other.store.replayBytes == 0, "all is in the snapshot")
    #expect(other.store.totals.size == 0 && other.store.totals.records == 0)
    #expect(try other.store.get("r0") == nil)
    #expect(try other.store.get("r1") == ["x": 1] && other.store.get("r2") == ["x": 2])
    #expect(try other.store.count(table: "t") == 2)
  }
}
