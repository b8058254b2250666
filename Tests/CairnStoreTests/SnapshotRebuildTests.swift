import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// What a snapshot that a repair has put together anew says of itself.
struct SnapshotRebuildTests {
  private static let scratch = "/scratch"

  private func description(
    _ path: String, _ device: StoreDevice
  ) throws -> SnapshotDescription {
    let reader = try SnapshotReader(path, disk: device.disk, isOwn: true)
    return try SnapshotDescription(reader.description, blockCount: reader.blockCount)
  }

  @Test func `it has the vectors and the time of the one that is damaged`() throws {
    let group = try FenceGroup(2, isAutomatic: false)
    for number in 0..<2 {
      try group[number].insert("r\(number)", ["x": 1])
      try group[number].sync()
    }
    group[0].requestCut()
    try group.settle()
    // Something behind the fence, so that the two vectors are not the same.
    try group[0].set("r0", ["x": 2])
    try group[0].sync()
    let device = group.devices[0]
    _ = try device.store.compact()
    let path = try #require(device.store.snapshotFile()?.path)
    let old = try description(path, device)
    #expect(!old.fence.isEmpty && old.fence != old.vector)
    #expect(old.contexts.count > 0 && old.modified > 0)

    let salvage = try SnapshotSalvage(
      path, disk: device.disk, datastore: StoreDevice.datastore, mend: BitMend())
    var rebuild = SnapshotRebuild(salvage, datastore: StoreDevice.datastore, candidates: [])
    try device.disk.createDirectory(Self.scratch)
    let rebuilt = Self.scratch + "/rebuilt"
    try rebuild.write(
      rebuilt, disk: device.disk,
      spill: SpillPlace(machine: device.machine, directory: Self.scratch, records: 1000))
    #expect(rebuild.losses == [])
    let new = try description(rebuilt, device)
    #expect(new.vector == old.vector)
    #expect(new.fence == old.fence)
    #expect(new.contexts == old.contexts)
    #expect(new.modified == old.modified)
    #expect(new.tables == old.tables)
  }

  /// What the author of a delta had seen by then is nowhere but in the snapshot.
  @Test func `what others wrote having seen it is no conflict with it`() throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2))
    try a.store.insert("r", ["n": 1])
    try a.store.sync()
    try b.store.sync(packs: [try a.store.pack()])
    try b.store.insert("s")
    try b.store.sync()
    try a.store.sync(packs: [try b.store.pack()])
    // The log begins anew behind the snapshot.
    a.store.confirmPublished(through: 1)
    _ = try a.store.compact()
    try b.store.set("r", ["n": 2])
    try b.store.sync()
    try a.store.sync(packs: [try b.store.pack(after: 1)])
    #expect(try a.store.conflicts(table: "t", id: RecordName("r")).isEmpty)
    try a.store.close()
    try a.disk.createDirectory(Self.scratch)
    let salvage = try StoreSalvage(
      StoreDevice.directory, datastore: StoreDevice.datastore, isLinked: true,
      scratch: Self.scratch, machine: a.machine)
    #expect(salvage.losses == [])
    #expect(try salvage.store.get("r") == ["n": 2])
    #expect(try salvage.store.conflicts(table: "t", id: RecordName("r")).isEmpty)
    try salvage.store.close()
  }
}
