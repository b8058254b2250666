#if canImport(Glibc)
  internal import Glibc

  /// What Linux does in its own way.
  enum Platform {
    static func modified(_ status: stat) -> timespec { status.st_mtim }

    /// What EPERM says: a file that is immutable, or a filter of system calls.
    static let notPermitted = DiskError.Reason.denied

    /// Makes a file's bytes and size durable. Returns -1 and sets `errno` when it fails.
    static func syncFile(_ descriptor: Int32) -> Int32 { fdatasync(descriptor) }

    /// Makes a directory's names durable. Returns -1 and sets `errno` when it fails.
    static func syncDirectory(_ descriptor: Int32) -> Int32 { fsync(descriptor) }

    /// Reserves space. Returns -1 and sets `errno` when it fails.
    static func preallocate(_ descriptor: Int32, _ length: off_t) -> Int32 {
      let code = posix_fallocate(descriptor, 0, length)
      if code == 0 { return 0 }
      errno = code
      return -1
    }

    static func adviseRandom(_ descriptor: Int32) {
      _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM)
    }
  }
#endif
