import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// What a snapshot that a repair has put together anew says of itself.
struct SnapshotRebuildTests {
  private static let scratch = "/scratch"
  private static let rebuilt = scratch + "/rebuilt"

  private func description(
    _ path: String, _ device: StoreDevice
  ) throws -> SnapshotDescription {
    let reader = try SnapshotReader(path, disk: device.disk, isOwn: true)
    return try SnapshotDescription(reader.description, blockCount: reader.blockCount)
  }

  /// Puts a snapshot together anew.
  private func putTogether(
    _ path: String, _ device: StoreDevice, candidates: [String] = []
  ) throws -> SnapshotRebuild {
    let salvage = try SnapshotSalvage(
      path, disk: device.disk, datastore: StoreDevice.datastore, mend: BitMend())
    var rebuild = SnapshotRebuild(
      salvage, datastore: StoreDevice.datastore, candidates: candidates)
    try device.disk.createDirectory(Self.scratch)
    try rebuild.write(
      Self.rebuilt, disk: device.disk,
      spill: SpillPlace(machine: device.machine, directory: Self.scratch, records: 1000))
    return rebuild
  }

  /// A device with a snapshot of two tables that have a record each.
  private func snapshot(
    of first: String, _ second: String
  ) throws -> (StoreDevice, path: String) {
    let device = try StoreDevice(1)
    for (number, table) in [first, second].enumerated() {
      try device.store.insert(table: table, id: RecordName("r\(number)"), [("n", .int(1))])
    }
    try device.store.sync()
    _ = try device.store.compact()
    let path = try #require(device.store.snapshotFile()?.path)
    #expect(try description(path, device).tables.map(\.name) == [first, second])
    return (device, path)
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

    #expect(try putTogether(path, device).losses == [])
    let new = try description(Self.rebuilt, device)
    #expect(new.vector == old.vector)
    #expect(new.fence == old.fence)
    #expect(new.contexts == old.contexts)
    #expect(new.modified == old.modified)
    #expect(new.tables == old.tables)
  }

  /// "recovered-0" is what an earlier repair has left.
  @Test func `a table whose name is lost gets none that another one has`() throws {
    let (device, path) = try snapshot(of: "a", "recovered-0")
    var bytes = try #require(device.disk.bytes(path))
    // The end of the description.
    bytes.removeLast(4)
    try device.disk.setBytes(path, bytes)
    let rebuild = try putTogether(path, device, candidates: ["recovered-0"])
    #expect(rebuild.unnamed == ["recovered-0-1"])
    let loss = "the name of a table is lost: its records are in table recovered-0-1"
    #expect(rebuild.losses.map(\.message).contains(loss))
    let new = try description(Self.rebuilt, device)
    #expect(new.tables.map(\.name) == ["recovered-0", "recovered-0-1"])
    #expect(new.tables.map(\.rowCount) == [1, 1])
    let checked = try SnapshotCheck.run(
      Self.rebuilt, datastore: StoreDevice.datastore, disk: device.disk
    ) { _, _ in }
    #expect(checked.rows == 2)
  }

  /// A bad place at the end of the index and the beginning of the description.
  @Test func `a table keeps its name if any of its rows can be found`() throws {
    let device = try StoreDevice(1)
    let tables = (0..<24).map { "table\($0)" }
    for table in tables {
      for number in 0..<130 {
        try device.store.insert(
          table: table, id: RecordName("\(table)-\(number)"), [("n", .int(1))])
      }
    }
    try device.store.sync()
    _ = try device.store.compact()
    let path = try #require(device.store.snapshotFile()?.path)
    let header = try SnapshotReader(path, disk: device.disk, isOwn: true).header
    try #require(header.indexPages > 1)
    let place = Int(header.descriptionOffset)
    for offset in [place - 100, place + 4] {
      for index in 0..<8 { try device.disk.corrupt(path, offset + index, xor: 0x5A) }
    }
    let rebuild = try putTogether(path, device, candidates: tables)
    #expect(!rebuild.hasVector && rebuild.unnamed == [])
    #expect(try description(Self.rebuilt, device).tables.map(\.name) == tables.sorted())
  }

  @Test func `two tables that seem to be one are neither`() throws {
    let (device, path) = try snapshot(of: "a", "b")
    let whole = try SnapshotSalvage(
      path, disk: device.disk, datastore: StoreDevice.datastore, mend: BitMend())
    try device.disk.createDirectory(Self.scratch)
    let same = Self.scratch + "/same"
    let file = try device.disk.open(same, .create)
    let writer = SnapshotWriter(file: file, datastore: StoreDevice.datastore)
    var fields = FieldNumbers()
    let salt = BaseSnapshot.salt("x")
    for place in whole.blocks {
      let bytes = try #require(whole.content(place))
      let block = try Block(bytes, numbers: &fields)
      let hashes = (0..<block.rowCount).map { BaseSnapshot.hash(block.name($0), salt: salt) }
      try writer.add(block: bytes, hashes: hashes)
    }
    _ = try writer.finish(description: [])
    file.close()
    let rebuild = try putTogether(same, device, candidates: ["x"])
    #expect(rebuild.unnamed == ["recovered-0", "recovered-1"])
    let new = try description(Self.rebuilt, device)
    #expect(new.tables.map(\.name) == ["recovered-0", "recovered-1"])
    #expect(new.tables.map(\.rowCount) == [1, 1])
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
