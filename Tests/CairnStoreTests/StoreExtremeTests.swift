import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

/// Times, numbers and totals at the end of their range, in files whose checksums are right.
@Suite struct StoreExtremeTests {
  @Test func `commits go on after a delta from the end of time`() throws {
    let a = try StoreDevice(1, time: .max)
    try a.store.insert("far", ["n": 1])
    try a.store.sync()
    let b = try StoreDevice(2)
    try b.store.insert("near")
    try b.store.sync(packs: [try a.store.pack()])
    // The snapshot says how far time has come, and the own time goes on from there.
    _ = try b.store.compact()
    try b.reopen()
    for number in 0..<3 {
      try b.store.insert("later\(number)")
      try b.store.sync()
    }
    let ids = try StoreContent(b.store).tables["t"]?.keys.sorted()
    #expect(ids == ["far", "later0", "later1", "later2", "near"])
    try b.reopen()
    try b.store.set("far", ["n": 2])
    try b.store.sync()
    #expect(try b.store.get("far") == ["n": 2])
  }

  @Test func `files with numbers that nobody counts to are none of the store's`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("r")
    try device.store.sync()
    try device.store.close()
    for name in ["log/ffffffffffffffff.seg", "snap/ffffffffffffffff.snap"] {
      try device.disk.setBytes(StoreDevice.directory + "/" + name, [1, 2, 3])
    }
    try device.open()
    try device.store.insert("s")
    try device.store.sync()
    _ = try device.store.compact()
    try device.reopen()
    #expect(try device.store.count(table: "t") == 2)
    #expect(FileName.segmentNumber("4000000000000000.seg") == ByteReader.counterMax)
    #expect(FileName.segmentNumber("4000000000000001.seg") == nil)
  }

  @Test(arguments: [[UInt64.max, 1, 1], [0, .max, .max], [0, .max, 1]])
  func `a CURRENT with impossible numbers is refused`(_ numbers: [UInt64]) {
    let file = CurrentFile(
      flags: 0, datastore: 1, device: 2, snapshot: numbers[0], firstSegment: numbers[1],
      firstKept: numbers[2])
    #expect(throws: LogError.self) { try CurrentFile(file.encoded(), path: "CURRENT") }
  }

  @Test func `a description whose numbers could overflow is refused`() {
    var sizes = SnapshotDescription()
    sizes.size = .max
    var records = SnapshotDescription()
    records.recordCount = .max
    let last = VersionVector([Dot(device: DeviceID(rawValue: 1), sequence: .max)])
    var vector = SnapshotDescription()
    vector.vector = last
    var contexts = SnapshotDescription()
    contexts.contexts = [DeviceID(rawValue: 1): last]
    for description in [sizes, records, vector, contexts] {
      #expect(throws: DecodeError.limit) {
        try SnapshotDescription(description.encoded(), blockCount: 0)
      }
    }
  }

  /// Whoever has written it: nothing but the rows themselves would tell.
  @Test func `lists are edited where a snapshot has counted less than there is`() throws {
    let other = try StoreDevice(1)
    try other.store.insert("gone", ["n": 1])
    try other.store.insert("r", ["l": .list(["x"])])
    try other.store.sync()
    other.store.state.withLock { $0.store.totals.size = 0 }
    _ = try other.store.compact()
    let device = try StoreDevice(2)
    let path = device.store.temporarySnapshotPath()
    try device.disk.setBytes(path, try #require(other.snapshotBytes()))
    try device.store.adopt(snapshot: path)
    try device.store.delete("gone")
    #expect(device.store.totals.size == -200)
    let id = RecordName("r")
    var update = RecordUpdate(fields: [])
    update.lists = [
      RecordUpdate.List(
        field: "l", operations: [.append("y")], sizes: (before: 21, after: 42),
        items: ["x", "y"])
    ]
    let now = try #require(try device.store.fields(table: "t", id: id))
    #expect(try device.store.update(table: "t", id: id, update, ifStill: now))
    #expect(try device.store.get("r") == ["l": .list(["x", "y"])])
    #expect(device.store.totals.size == -179)
    try device.store.sync()
    try device.reopen()
    #expect(try device.store.get("r") == ["l": .list(["x", "y"])])
  }

  @Test func `a pack that ends where numbers end is refused`() {
    var bytes: [UInt8] = []
    bytes.put(UInt64(1))
    bytes.putVarint(UInt64.max - 2)
    bytes.putVarint(1)
    #expect(throws: DecodeError.self) { try PackReader(bytes + [0, 0, 0, 0, 0, 0, 0, 0]) }
  }
}
