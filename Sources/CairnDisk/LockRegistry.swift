internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The files that this process has locked.
///
/// The system's locks already keep two descriptors of one process apart; this says it before the
/// file is touched, on file systems too where such locks belong to the process.
enum LockRegistry {
  /// By the process, since a forked child inherits the memory but none of the locks.
  private static let holders = Mutex<[FileIdentity: pid_t]>([:])

  /// False if this process has the file already.
  static func claim(_ file: FileIdentity) -> Bool {
    let process = getpid()
    return holders.withLock { holders in
      if holders[file] == process { return false }
      holders[file] = process
      return true
    }
  }

  static func release(_ file: FileIdentity) {
    holders.withLock { holders in holders[file] = nil }
  }
}
