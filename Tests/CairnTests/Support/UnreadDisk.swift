import CairnDisk

/// The system's disk, but for names of which it does not say what they stand for.
struct UnreadDisk: Disk {
  private let base = PosixDisk()
  let unread: Shared<Set<String>>

  private func isUnread(_ name: String) -> Bool { unread.withLock { $0.contains(name) } }

  func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
    try list(directory, only: { _ in true })
  }

  func list(
    _ directory: String, only isWanted: (String) -> Bool
  ) throws(DiskError) -> [DirectoryEntry] {
    let entries = try base.list(directory, only: isWanted)
    for entry in entries where isUnread(entry.name) {
      throw DiskError(
        reason: .io(errno: 5), operation: "list", path: directory + "/" + entry.name)
    }
    return entries
  }

  func list(
    _ directory: String, after last: DirectoryListing?
  ) throws(DiskError) -> DirectoryListing {
    let entries = try base.list(directory)
    return DirectoryListing(
      entries.filter { !isUnread($0.name) }, unread: entries.map(\.name).filter(isUnread))
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    try base.open(path, mode)
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
