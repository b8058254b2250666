import CairnDisk
import TestSupport

/// A disk in memory that tells before each read of an attachment's content.
struct ContentDisk: Disk {
  let base: MemoryDisk
  /// Called by whoever reads.
  let willRead: @Sendable () -> Void

  private final class Content: DiskFile {
    let base: any DiskFile
    let willRead: @Sendable () -> Void

    init(_ base: any DiskFile, _ willRead: @escaping @Sendable () -> Void) {
      (self.base, self.willRead) = (base, willRead)
    }

    var path: String { base.path }
    func size() throws(DiskError) -> UInt64 { try base.size() }
    func read(at offset: UInt64, count: Int) throws(DiskError) -> [UInt8] {
      willRead()
      return try base.read(at: offset, count: count)
    }
    func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(DiskError) {
      try base.write(bytes, at: offset)
    }
    func sync() throws(DiskError) { try base.sync() }
    func preallocate(to length: UInt64) throws(DiskError) { try base.preallocate(to: length) }
    func truncate(to length: UInt64) throws(DiskError) { try base.truncate(to: length) }
    func adviseRandom() { base.adviseRandom() }
    func close() { base.close() }
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    let file = try base.open(path, mode)
    let isContent = path.hasSuffix(".own") || path.hasSuffix(".blob")
    return isContent ? Content(file, willRead) : file
  }
  func createDirectory(_ path: String) throws(DiskError) { try base.createDirectory(path) }
  func createPrivateDirectory(_ path: String) throws(DiskError) {
    try base.createPrivateDirectory(path)
  }
  func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
    try base.list(directory)
  }
  func info(_ path: String) throws(DiskError) -> FileInfo? { try base.info(path) }
  func rename(_ from: String, to: String) throws(DiskError) { try base.rename(from, to: to) }
  func remove(_ path: String) throws(DiskError) { try base.remove(path) }
  func removeTree(_ path: String) throws(DiskError) { try base.removeTree(path) }
  func syncDirectory(_ path: String) throws(DiskError) { try base.syncDirectory(path) }
  func lock(_ path: String) throws(DiskError) -> any DiskLock { try base.lock(path) }
}
