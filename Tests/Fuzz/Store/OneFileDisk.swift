package import CairnDisk
internal import TestSupport

/// A disk that holds one file, to be read and nothing else: no bookkeeping, so that millions of
/// files can be read from memory. Whatever path is opened, it is that file.
package struct OneFileDisk: Disk {
  private let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    guard mode == .read else { throw refusal("open", path) }
    return BytesFile(bytes, path: path)
  }

  package func info(_ path: String) throws(DiskError) -> FileInfo? {
    FileInfo(kind: .file, size: UInt64(bytes.count), modified: 0, inode: 1)
  }

  package func createDirectory(_ path: String) throws(DiskError) { throw refusal("make", path) }
  package func createPrivateDirectory(_ path: String) throws(DiskError) {
    throw refusal("make", path)
  }
  package func list(_ path: String) throws(DiskError) -> [DirectoryEntry] { [] }
  package func rename(_ from: String, to: String) throws(DiskError) { throw refusal("move", from) }
  package func remove(_ path: String) throws(DiskError) { throw refusal("remove", path) }
  package func removeTree(_ path: String) throws(DiskError) { throw refusal("remove", path) }
  package func syncDirectory(_ path: String) throws(DiskError) { throw refusal("sync", path) }
  package func lock(_ path: String) throws(DiskError) -> any DiskLock {
    throw refusal("lock", path)
  }

  private func refusal(_ operation: String, _ path: String) -> DiskError {
    DiskError(reason: .readOnly, operation: operation, path: path)
  }
}
