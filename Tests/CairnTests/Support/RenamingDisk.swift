import CairnDisk

/// The system's disk, but for what happens when a file takes its name.
struct RenamingDisk: Disk {
  typealias Rename =
    @Sendable (_ base: PosixDisk, _ from: String, _ to: String) throws(DiskError) -> Void

  private let base = PosixDisk()
  private let rename: Rename

  init(_ rename: @escaping Rename) { self.rename = rename }

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

  func rename(_ from: String, to: String) throws(DiskError) { try rename(base, from, to) }
  func remove(_ path: String) throws(DiskError) { try base.remove(path) }
  func removeTree(_ path: String) throws(DiskError) { try base.removeTree(path) }
  func syncDirectory(_ path: String) throws(DiskError) { try base.syncDirectory(path) }
  func lock(_ path: String) throws(DiskError) -> any DiskLock { try base.lock(path) }
}
