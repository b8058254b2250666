import CairnDisk
import CairnLog
import CairnStore
import TestSupport
import Testing

/// Looking at a closed store on a disk that takes no writes, not even a lock.
struct ReadOnlyInspectionTests {
  /// A closed store of one delta.
  private func sample() throws -> StoreDevice {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["n": 1])
    try device.store.sync()
    try device.store.close()
    return device
  }

  private func inspection(
    _ device: StoreDevice, lock: DiskError.Reason = .readOnly, holder: String? = nil
  ) throws -> StoreInspection {
    let disk = UnlockableDisk(base: device.disk, reason: lock, holder: holder)
    return try StoreInspection(
      StoreDevice.directory,
      machine: Machine(disk: disk, clock: device.clock, random: device.random))
  }

  @Test func `a store on a read-only disk is looked at without its lock, and nothing is written`()
    throws
  {
    let device = try sample()
    let before = device.disk.operations
    let inspection = try inspection(device)
    let segments = try inspection.segments()
    #expect(segments.count == 1 && segments.allSatisfy { $0.problem == nil })
    #expect(segments.first?.scan?.frames.count == 1)
    #expect(try inspection.otherFiles().isEmpty)
    inspection.close()
    #expect(device.disk.operations == before)
  }

  /// By another mount of the same disk, which may write there.
  @Test func `one that somebody has open is not looked at`() throws {
    let device = try sample()
    let error = #expect(throws: StoreError.self) {
      try inspection(device, holder: "by process 4711")
    }
    #expect(error?.kind == .alreadyOpen)
    #expect(error?.message.contains("by process 4711") == true)
  }

  @Test func `a lock that can't be had for another reason is an error as before`() throws {
    let device = try sample()
    let error = #expect(throws: StoreError.self) { try inspection(device, lock: .denied) }
    guard case .disk(let disk)? = error?.log?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(disk.reason == .denied)
  }
}

/// A disk on which no lock can be taken.
private struct UnlockableDisk: Disk {
  let base: MemoryDisk
  /// Why.
  let reason: DiskError.Reason
  let holder: String?

  func lock(_ path: String) throws(DiskError) -> any DiskLock {
    throw DiskError(reason: reason, operation: "lock", path: path)
  }

  func lockHolder(_ path: String) throws(DiskError) -> String? { holder }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    try base.open(path, mode)
  }

  func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
    try base.list(directory)
  }

  func info(_ path: String) throws(DiskError) -> FileInfo? { try base.info(path) }
  func createDirectory(_ path: String) throws(DiskError) { try base.createDirectory(path) }
  func createPrivateDirectory(_ path: String) throws(DiskError) {
    try base.createPrivateDirectory(path)
  }

  func rename(_ from: String, to: String) throws(DiskError) { try base.rename(from, to: to) }
  func remove(_ path: String) throws(DiskError) { try base.remove(path) }
  func removeTree(_ path: String) throws(DiskError) { try base.removeTree(path) }
  func syncDirectory(_ path: String) throws(DiskError) { try base.syncDirectory(path) }
}
