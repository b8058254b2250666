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
  /// A handful at most, each of which knows the next one; an array or a dictionary of their own
  /// kind would cost every process more at its first lock than all look-ups ever will.
  private static let holders = Lock<Holder?>(nil)

  private final class Holder: Sendable {
    private let file: FileIdentity
    private let process: pid_t
    let next: Holder?

    init(_ file: FileIdentity, _ process: pid_t, next: Holder?) {
      (self.file, self.process, self.next) = (file, process, next)
    }

    /// Whether `process` has the file, by this one or those behind it.
    func holds(_ file: FileIdentity, _ process: pid_t) -> Bool {
      if self.file == file, self.process == process { return true }
      return next?.holds(file, process) ?? false
    }

    /// The same without that file.
    func without(_ file: FileIdentity, _ process: pid_t) -> Holder? {
      let rest = next?.without(file, process)
      if self.file == file, self.process == process { return rest }
      return rest === next ? self : Holder(self.file, self.process, next: rest)
    }
  }

  /// False if this process has the file already.
  static func claim(_ file: FileIdentity) -> Bool {
    let process = getpid()
    return holders.withLock { holders in
      if holders?.holds(file, process) ?? false { return false }
      holders = Holder(file, process, next: holders)
      return true
    }
  }

  /// Whether this process has the file.
  static func isClaimed(_ file: FileIdentity) -> Bool {
    let process = getpid()
    return holders.withLock { $0?.holds(file, process) ?? false }
  }

  static func release(_ file: FileIdentity) {
    let process = getpid()
    holders.withLock { $0 = $0?.without(file, process) }
  }
}
