import CairnDisk
import TestSupport

/// A simulated disk that does not give some of its files any more.
struct DeafDisk: Disk {
  let base: MemoryDisk
  /// Why a file can't be read; nil if it can.
  let fault: @Sendable (_ path: String) -> DiskError.Reason?
  /// Before something is looked up.
  var willLookUp: @Sendable (_ path: String) -> Void = { _ in }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    if mode == .read, let reason = fault(path) {
      throw DiskError(reason: reason, operation: "open", path: path)
    }
    return try base.open(path, mode)
  }

  func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
    try base.list(directory)
  }

  func info(_ path: String) throws(DiskError) -> FileInfo? {
    willLookUp(path)
    return try base.info(path)
  }

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
