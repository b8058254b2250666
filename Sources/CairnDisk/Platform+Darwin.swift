#if canImport(Darwin)
  internal import Darwin

  /// What Apple's systems do in their own way.
  enum Platform {
    static func modified(_ status: stat) -> timespec { status.st_mtimespec }

    /// What EPERM says. Modes and lists of access give EACCES; this comes from the protection of
    /// data while the device is locked, and from the sandbox.
    static let notPermitted = DiskError.Reason.withheld

    /// Makes a file's bytes and size durable: here a plain fsync stops at the drive's cache.
    /// Returns -1 and sets `errno` when it fails.
    static func syncFile(_ descriptor: Int32) -> Int32 {
      let result = fcntl(descriptor, F_FULLFSYNC)
      // Only where the file system does not know it: after any other failure an fsync could lie.
      if result == -1, errno == ENOTSUP || errno == EINVAL || errno == ENOTTY {
        return fsync(descriptor)
      }
      return result == -1 ? -1 : 0
    }

    /// Makes a directory's names durable. Returns -1 and sets `errno` when it fails.
    static func syncDirectory(_ descriptor: Int32) -> Int32 { syncFile(descriptor) }

    /// Reserves space. Returns -1 and sets `errno` when it fails.
    static func preallocate(_ descriptor: Int32, _ length: off_t) -> Int32 {
      var status = stat()
      if unsafe fstat(descriptor, &status) == -1 { return -1 }
      let missing = length - status.st_size
      if missing <= 0 { return 0 }
      var store = fstore_t(
        fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0,
        fst_length: missing, fst_bytesalloc: 0)
      if unsafe fcntl(descriptor, F_PREALLOCATE, &store) == -1 { return -1 }
      return ftruncate(descriptor, length)
    }

    static func adviseRandom(_ descriptor: Int32) {
      _ = fcntl(descriptor, F_RDAHEAD, 0)
    }
  }
#endif
