#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Looking without touching.
extension PosixDisk {
  /// Takes a shared lock for a moment to find out: a process that opens just then may be told that
  /// the file is in use, and not again.
  package func lockHolder(_ path: String) throws(DiskError) -> String? {
    let descriptor: Int32
    do {
      descriptor = try SystemCall.open("look at", path, O_RDONLY | O_NOFOLLOW)
    } catch {
      if error.reason == .notFound { return nil }
      throw error
    }
    defer { closeDescriptor(descriptor) }
    let file = FileIdentity(try SystemCall.requireRegular("look at", path, descriptor))
    if LockRegistry.isClaimed(file) { return "by this very process" }
    do {
      try SystemCall.run("look at", path) { flock(descriptor, LOCK_SH | LOCK_NB) }
    } catch {
      if !PosixLock.isHeld(error) { throw error }
      return PosixLock.holder(descriptor)
    }
    _ = flock(descriptor, LOCK_UN)
    return nil
  }

  package func isWritable(_ path: String) -> Bool {
    guard !path.utf8.contains(0) else { return false }
    return unsafe access(path, W_OK) == 0
  }

  package func freeBytes(_ path: String) throws(DiskError) -> UInt64? {
    try SystemCall.check(path, "look at")
    var status = statvfs()
    try SystemCall.run("look at", path) { unsafe statvfs(path, &status) }
    // What keeps no count says so with nothing in all: many file systems in user space.
    if status.f_blocks == 0 { return nil }
    // Some file systems without an end say so with numbers that no product holds.
    let (bytes, isTooMuch) = UInt64(status.f_bavail)
      .multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return isTooMuch ? .max : bytes
  }
}
