#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

extension PosixDisk {
  /// Syncs, besides the parent of each directory it made, the parent of the innermost one that was
  /// there: whoever made that one may have been killed before its own sync.
  package func createDirectory(_ path: String) throws(DiskError) {
    try createDirectory(path, permissions: 0o777)
  }

  package func createPrivateDirectory(_ path: String) throws(DiskError) {
    try createDirectory(path, permissions: 0o700)
  }

  /// The permissions are for the directory itself, not for the parents that it lacks.
  private func createDirectory(_ path: String, permissions: mode_t) throws(DiskError) {
    try SystemCall.check(path, "make the directory")
    var missing: [String] = []
    var current = FilePath.trimmed(path)
    while !isDirectory(current) {
      missing.append(current)
      guard let parent = FilePath.parent(of: current) else { break }
      current = parent
    }
    try syncParent(of: current, isNew: false)
    for directory in missing.reversed() {
      let isOurs = try make(directory, directory == missing.first ? permissions : 0o777)
      do { try syncParent(of: directory, isNew: true) } catch {
        // What no later sync can be believed to make durable is not there for the next try.
        if isOurs { _ = unsafe rmdir(directory) }
        throw error
      }
    }
  }

  package func syncDirectory(_ path: String) throws(DiskError) {
    let folder = try PosixDirectory("sync", path)
    let descriptor = folder.descriptor
    do {
      try SystemCall.run("sync", path) { Platform.syncDirectory(descriptor) }
    } catch {
      // Some network file systems have nothing to sync here: names are durable there at once. Some
      // say EBADF, as the descriptor of a directory can't be written to; it is open all the same.
      let excused: [DiskError.Reason] = [
        .io(errno: EINVAL), .io(errno: ENOTSUP), .io(errno: EBADF),
      ]
      if !excused.contains(error.reason) { throw error }
    }
  }

  package func removeTree(_ path: String) throws(DiskError) {
    let path = FilePath.trimmed(path)
    guard let info = try info(path) else { return }
    do {
      guard info.kind == .directory else { return try remove(path) }
      try empty(PosixDirectory(Self.removing, path, O_NOFOLLOW), depth: 1)
      try SystemCall.run(Self.removing, path) { unsafe rmdir(path) }
    } catch {
      // Someone else removed it meanwhile.
      if error.reason != .notFound { throw error }
    }
  }

  private static let removing = "remove the directory"
  /// Each level keeps a descriptor and a piece of the stack.
  private static let deepest = 128

  private func empty(_ folder: borrowing PosixDirectory, depth: Int) throws(DiskError) {
    guard depth <= Self.deepest else {
      throw DiskError(
        reason: .io(errno: ENAMETOOLONG), operation: Self.removing, path: folder.path,
        detail: "more than \(Self.deepest) directories deep")
    }
    let names = try folder.names()
    for name in 0..<names.count {
      guard let status = try folder.status(of: name, in: names) else { continue }
      if FileInfo(status).kind == .directory {
        do throws(DiskError) {
          try empty(PosixDirectory(name, of: names, in: folder), depth: depth + 1)
        } catch {
          // Someone else removed this one meanwhile; the others may still be there.
          if error.reason != .notFound { throw error }
        }
        try folder.unlink(name, in: names, AT_REMOVEDIR)
      } else {
        try folder.unlink(name, in: names, 0)
      }
    }
  }

  /// A link to a directory is as good: people do move their folders.
  private func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && FileInfo(status).kind == .directory
  }

  /// False: someone else made it meanwhile.
  private func make(_ path: String, _ permissions: mode_t) throws(DiskError) -> Bool {
    do {
      try SystemCall.run("make the directory", path) { unsafe mkdir(path, permissions) }
      return true
    } catch {
      if !(error.reason == .exists && isDirectory(path)) { throw error }
      return false
    }
  }

  private func syncParent(of path: String, isNew: Bool) throws(DiskError) {
    guard let parent = FilePath.parent(of: path) else { return }
    do {
      try syncDirectory(parent)
    } catch {
      // Not ours to read, as above an app's sandbox, so not ours to sync either.
      if !isNew && [.denied, .withheld, .readOnly].contains(error.reason) { return }
      throw error
    }
  }
}
