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
  /// A handful at most, so that an array does; a dictionary of its own kind would cost every
  /// process more at its first lock than all look-ups ever will.
  private static let holders = Lock<[Holder]>([])

  private struct Holder {
    var device: UInt64
    var inode: UInt64
    var process: pid_t
  }

  /// False if this process has the file already.
  static func claim(_ file: FileIdentity) -> Bool {
    let process = getpid()
    return holders.withLock { holders in
      for holder in holders
      where holder.inode == file.inode && holder.device == file.device && holder.process == process
      {
        return false
      }
      holders.append(Holder(device: file.device, inode: file.inode, process: process))
      return true
    }
  }

  /// Whether this process has the file.
  static func isClaimed(_ file: FileIdentity) -> Bool {
    let process = getpid()
    return holders.withLock { holders in
      holders.contains {
        $0.inode == file.inode && $0.device == file.device && $0.process == process
      }
    }
  }

  static func release(_ file: FileIdentity) {
    let process = getpid()
    holders.withLock { holders in
      holders.removeAll {
        $0.inode == file.inode && $0.device == file.device && $0.process == process
      }
    }
  }
}
