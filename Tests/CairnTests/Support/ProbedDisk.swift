import CairnDisk

/// The system's disk, but for what it says of its room and of who may write, and what it removes.
struct ProbedDisk: Disk {
  private let base = PosixDisk()
  var free: UInt64?
  /// Where there is no room at all.
  var isFull: @Sendable (_ path: String) -> Bool = { _ in false }
  var mayWrite: @Sendable (_ path: String) -> Bool = { _ in true }
  var mayRemove: @Sendable (_ path: String) -> Bool = { _ in true }
  /// Before a directory is listed, and before it is asked who has a lock.
  var willLook: @Sendable (_ path: String) -> Void = { _ in }
  var willOpen: @Sendable (_ path: String) -> Void = { _ in }

  func freeBytes(_ path: String) throws(DiskError) -> UInt64? { isFull(path) ? 0 : free }
  func isWritable(_ path: String) -> Bool { mayWrite(path) }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    willOpen(path)
    return try base.open(path, mode)
  }

  func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
    willLook(directory)
    return try base.list(directory)
  }

  func info(_ path: String) throws(DiskError) -> FileInfo? { try base.info(path) }
  func createDirectory(_ path: String) throws(DiskError) { try base.createDirectory(path) }
  func createPrivateDirectory(_ path: String) throws(DiskError) {
    try base.createPrivateDirectory(path)
  }

  func rename(_ from: String, to: String) throws(DiskError) { try base.rename(from, to: to) }
  func remove(_ path: String) throws(DiskError) {
    guard mayRemove(path) else {
      throw DiskError(reason: .denied, operation: "remove", path: path)
    }
    try base.remove(path)
  }

  func removeTree(_ path: String) throws(DiskError) { try base.removeTree(path) }
  func syncDirectory(_ path: String) throws(DiskError) { try base.syncDirectory(path) }
  func lock(_ path: String) throws(DiskError) -> any DiskLock { try base.lock(path) }
  func lockHolder(_ path: String) throws(DiskError) -> String? {
    willLook(path)
    return try base.lockHolder(path)
  }
}
