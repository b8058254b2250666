import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import Synchronization
import TestSupport
import Testing

/// A snapshot that is taken as it is replaces everything: so there must be nothing.
struct AdoptRefusalTests {
  /// The snapshot of another device.
  private func snapshot() throws -> [UInt8] {
    let other = try StoreDevice(1)
    try other.store.insert("theirs", ["n": 1])
    try other.store.sync()
    _ = try other.store.compact()
    return try #require(other.snapshotBytes())
  }

  /// A refused snapshot may be as large as a whole datastore.
  private func leftovers(_ disk: MemoryDisk) throws -> [String] {
    try disk.list(StoreDevice.directory + "/" + FileName.snapshots).map(\.name)
  }

  @Test(arguments: [false, true])
  func `a snapshot takes the place of nothing that is here`(isCommitted: Bool) throws {
    let device = try StoreDevice(2)
    try device.store.insert("mine", ["n": 2])
    if isCommitted { try device.store.sync() }
    let path = device.store.temporarySnapshotPath()
    try device.disk.setBytes(path, try snapshot())
    #expect(refusal { try device.store.adopt(snapshot: path) } == .invalidOperation)
    #expect(try leftovers(device.disk) == [])
    for _ in 0..<2 {
      #expect(try device.store.get("mine") == ["n": 2])
      #expect(try device.store.get("theirs") == nil)
      try device.store.sync()
      try device.crash(.nothingUnsynced)
    }
    // What was left of it is in nobody's way.
    _ = try device.store.compact()
    try device.reopen()
    #expect(try device.store.get("mine") == ["n": 2])
    #expect(try device.store.count(table: "t") == 1)
  }

  /// It has got its name, and is being opened: the question was asked before, and is asked again.
  @Test(arguments: [false, true])
  func `nor of what is written while it is looked at`(isCommitted: Bool) throws {
    let (memory, isWritten) = (MemoryDisk(), Flag())
    let held = Lock<Store?>(nil)
    let disk = OpenedDisk(base: memory) { path in
      guard path.hasSuffix(".snap"), let store = held.withLock({ $0 }), isWritten.raise() else {
        return
      }
      do {
        try store.insert("mine", ["n": 2])
        if isCommitted { try store.sync() }
      } catch { Issue.record(error) }
    }
    var options = StoreOptions()
    options.compactsAutomatically = false
    let store = try Store.open(
      StoreDevice.directory, datastore: StoreDevice.datastore, isLinked: true, options: options,
      machine: Machine(disk: disk, clock: ManualClock(), random: SeededRandom(4)))
    held.withLock { $0 = store }
    let path = store.temporarySnapshotPath()
    try memory.setBytes(path, try snapshot())
    #expect(refusal { try store.adopt(snapshot: path) } == .invalidOperation)
    #expect(isWritten.isUp)
    #expect(try leftovers(memory) == [])
    held.withLock { $0 = nil }
    #expect(try store.get("theirs") == nil)
    try store.sync()
    try store.close()
    let again = try StoreDevice.open(memory, ManualClock(), SeededRandom(5), true, options)
    #expect(try again.get("mine") == ["n": 2])
    #expect(try again.count(table: "t") == 1)
  }

  /// All of its checksums are right.
  @Test(arguments: [false, true])
  func `a snapshot of another datastore is neither taken nor joined`(isJoined: Bool) throws {
    var foreign = try snapshot()
    foreign[16] ^= 1
    foreign.set(XXH3.hash64(foreign, 0..<120), at: 120)
    let device = try StoreDevice(2)
    if isJoined {
      try device.store.insert("mine", ["n": 2])
      try device.store.sync()
    }
    let before = try StoreContent(device.store)
    let path = device.store.temporarySnapshotPath()
    try device.disk.setBytes(path, foreign)
    func take() throws {
      if !isJoined { return try device.store.adopt(snapshot: path) }
      _ = try device.store.join(snapshot: path)
    }
    let error = #expect(throws: StoreError.self) { try take() }
    #expect(error?.log?.reason == .foreign && error?.log?.path == path)
    #expect(device.disk.bytes(path) == nil)
    for _ in 0..<2 {
      #expect(try StoreContent(device.store) == before)
      try device.reopen()
    }
  }
}

/// A simulated disk that tells when a file is about to be opened.
private struct OpenedDisk: Disk {
  let base: MemoryDisk
  let opens: @Sendable (_ path: String) -> Void

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    opens(path)
    return try base.open(path, mode)
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
  func lock(_ path: String) throws(DiskError) -> any DiskLock { try base.lock(path) }
}
