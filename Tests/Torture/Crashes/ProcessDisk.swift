import CairnDisk
import Synchronization
import TestSupport

/// A disk as one process has it. Once the process is killed nothing that its objects still do
/// arrives at the disk, and what they held is free.
final class ProcessDisk: Disk {
  let base: MemoryDisk
  private let isKilled = Atomic<Bool>(false)
  private let held = Lock<[any DiskLock]>([])
  private let files = Lock<[Handle]>([])

  /// Files are closed with their last reference, which is not this one.
  private struct Handle {
    weak var file: (any DiskFile)?
  }

  init(_ base: MemoryDisk) { self.base = base }

  /// As a signal does it.
  func kill() {
    isKilled.store(true, ordering: .sequentiallyConsistent)
    for lock in held.withLock({ $0 }) { lock.unlock() }
    for handle in files.withLock({ $0 }) { handle.file?.close() }
    held.withLock { $0 = [] }
    files.withLock { $0 = [] }
  }

  private func living(_ verb: String, _ path: String) throws(DiskError) -> MemoryDisk {
    if isKilled.load(ordering: .sequentiallyConsistent) {
      throw DiskError(
        reason: .io(errno: 9), operation: verb, path: path, detail: "the process is gone")
    }
    return base
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    let file = try living("open", path).open(path, mode)
    if mode != .read, mode != .readPrivate { note(file) }
    return file
  }

  private func note(_ file: any DiskFile) {
    files.withLock { files in
      files.removeAll { $0.file == nil }
      files.append(Handle(file: file))
    }
  }

  func createDirectory(_ path: String) throws(DiskError) {
    try living("make the directory", path).createDirectory(path)
  }

  func createPrivateDirectory(_ path: String) throws(DiskError) {
    try living("make the directory", path).createPrivateDirectory(path)
  }

  func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
    try living("list", directory).list(directory)
  }

  func info(_ path: String) throws(DiskError) -> FileInfo? {
    try living("look up", path).info(path)
  }

  func rename(_ from: String, to: String) throws(DiskError) {
    try living("rename", from).rename(from, to: to)
  }

  func remove(_ path: String) throws(DiskError) { try living("remove", path).remove(path) }

  func removeTree(_ path: String) throws(DiskError) {
    try living("remove", path).removeTree(path)
  }

  func syncDirectory(_ path: String) throws(DiskError) {
    try living("sync", path).syncDirectory(path)
  }

  func lock(_ path: String) throws(DiskError) -> any DiskLock {
    let lock = try living("lock", path).lock(path)
    held.withLock { $0.append(lock) }
    return lock
  }
}
