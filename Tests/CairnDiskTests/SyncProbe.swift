#if canImport(Glibc)
  import CairnDisk
  import Glibc
  import Synchronization

  /// Sees, and makes fail, the syncs of single files: whether bytes were made durable shows in
  /// nothing that a program could read.
  ///
  /// This works because the two functions below have the names of the system's: in a test program,
  /// which is linked as one piece, calls of these names end here and go on to the system's.
  enum SyncProbe {
    struct Record: Sendable {
      var calls: [String] = []
      /// Error numbers for the calls to come.
      var failures: [Int32] = []
      /// How long a call takes before it goes on.
      var delay: UInt32 = 0
    }

    private static let records = Lock<[UInt64: Record]>([:])

    /// What was called for a file, by its inode, since the last time it was asked.
    static func calls(_ inode: UInt64) -> [String] {
      records.withLock { records in
        let calls = records[inode]?.calls ?? []
        records[inode] = Record()
        return calls
      }
    }

    /// Makes the next calls for a file fail with these numbers, one after the other.
    static func fail(_ inode: UInt64, _ codes: [Int32]) {
      records.withLock { $0[inode] = Record(failures: codes) }
    }

    /// Makes the next call for a file take so long at least.
    static func delay(_ inode: UInt64, microseconds: UInt32) {
      records.withLock { $0[inode] = Record(delay: microseconds) }
    }

    /// Whether a call was made since the last time it was asked, without asking.
    static func hasCall(_ inode: UInt64) -> Bool {
      records.withLock { $0[inode]?.calls.isEmpty == false }
    }

    /// Notes a call if the file is one that was asked about. What is to become of it: how long it
    /// takes, and the error it fails with.
    fileprivate static func note(
      _ name: String, _ descriptor: Int32
    ) -> (delay: UInt32, code: Int32?) {
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0 else { return (0, nil) }
      let inode = UInt64(status.st_ino)
      return records.withLock { records in
        guard var record = records[inode] else { return (0, nil) }
        record.calls.append(name)
        let code = record.failures.isEmpty ? nil : record.failures.removeFirst()
        let delay = record.delay
        record.delay = 0
        records[inode] = record
        return (delay, code)
      }
    }

    fileprivate static func call(_ name: String, _ descriptor: Int32) -> Int32 {
      let (delay, code) = note(name, descriptor)
      if delay > 0 { usleep(delay) }
      if let code {
        errno = code
        return -1
      }
      // The next of this name after this program's own.
      let next = unsafe UnsafeMutableRawPointer(bitPattern: -1)
      guard let symbol = unsafe dlsym(next, name) else { return -1 }
      typealias Sync = @convention(c) (Int32) -> Int32
      return unsafe unsafeBitCast(symbol, to: Sync.self)(descriptor)
    }
  }

  @c(fsync) public func probedSync(_ descriptor: Int32) -> Int32 {
    SyncProbe.call("fsync", descriptor)
  }

  @c(fdatasync) public func probedDataSync(_ descriptor: Int32) -> Int32 {
    SyncProbe.call("fdatasync", descriptor)
  }
#endif
