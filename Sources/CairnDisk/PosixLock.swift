internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A lock by `flock`, which belongs to the open file and not, as `fcntl`'s, to the process: there,
/// closing any other descriptor of the file would end it.
final class PosixLock: DiskLock {
  private let path: String
  private let descriptor: Int32
  private let file: FileIdentity
  private let owner = ProcessMark()
  private let isOver = Atomic<Bool>(false)

  private init(path: String, descriptor: Int32, file: FileIdentity) {
    self.path = path
    self.descriptor = descriptor
    self.file = file
  }

  deinit { unlock() }

  /// Takes the lock, or fails at once.
  static func take(_ path: String) throws(DiskError) -> PosixLock {
    for _ in 0..<attempts {
      let descriptor = try SystemCall.open("lock", path, O_RDWR | O_CREAT | O_NOFOLLOW)
      do {
        if let lock = try take(path, descriptor) { return lock }
      } catch {
        closeDescriptor(descriptor)
        throw error
      }
    }
    throw DiskError(
      reason: .locked, operation: "lock", path: path, detail: "it is replaced again and again")
  }

  func unlock() {
    if isOver.exchange(true, ordering: .acquiringAndReleasing) { return }
    // A forked child has a copy of the descriptor, and the lock is its parent's.
    if isOwn {
      // Said, not left to `close`: a child's copy would keep the lock.
      _ = flock(descriptor, LOCK_UN)
      LockRegistry.release(file)
    }
    closeDescriptor(descriptor)
  }

  var isOwn: Bool { owner.isOwn }

  var isInPlace: Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 && FileIdentity(status) == file
  }

  private static let attempts = 16

  /// Locks an open file; nil, with the descriptor closed, if its name has meanwhile gone to
  /// another.
  private static func take(_ path: String, _ descriptor: Int32) throws(DiskError) -> PosixLock? {
    let file = FileIdentity(try SystemCall.requireRegular("lock", path, descriptor))
    guard LockRegistry.claim(file) else {
      throw DiskError(
        reason: .locked, operation: "lock", path: path, detail: "by this very process")
    }
    do {
      try SystemCall.run("lock", path) { flock(descriptor, LOCK_EX | LOCK_NB) }
    } catch {
      LockRegistry.release(file)
      if !isHeld(error) { throw error }
      throw DiskError(
        reason: .locked, operation: "lock", path: path, detail: holder(descriptor))
    }
    let lock = PosixLock(path: path, descriptor: descriptor, file: file)
    guard lock.isInPlace else {
      lock.unlock()
      return nil
    }
    lock.writeProcess()
    return lock
  }

  /// Whether a lock of an open file failed as somebody else has it. Network file systems that make
  /// locks of their server's answer EACCES, as such locks of ranges may: Linux' cifs does.
  static func isHeld(_ error: DiskError) -> Bool {
    error.reason == .io(errno: EWOULDBLOCK) || error.reason == .denied
  }

  /// Leaves the process id in the file for people to find. On a full disk the lock is as good.
  private func writeProcess() {
    // Always as long, so that nothing of a longer one stays: cutting the file would cost more than
    // the rest of the lock.
    let text = PosixLock.text(owner.process)
    _ = unsafe text.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }

  /// A process id, spaces and a new line: 20 bytes. By hand, since every opening pays for the code
  /// that a description of a number brings into memory.
  static func text(_ process: pid_t) -> [UInt8] {
    var text = [UInt8](repeating: 0x20, count: 20)
    text[19] = 0x0A
    var (rest, end) = (process.magnitude, 1)
    while rest > 9 { (rest, end) = (rest / 10, end + 1) }
    rest = process.magnitude
    while end > 0 {
      end -= 1
      text[end] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
    return text
  }

  /// Who has the lock, as far as the file says.
  static func holder(_ descriptor: Int32) -> String {
    var text = [UInt8](repeating: 0, count: 20)
    let count = unsafe text.withUnsafeMutableBytes {
      unsafe pread(descriptor, $0.baseAddress, $0.count, 0)
    }
    let digits = text.prefix(max(count, 0)).prefix { $0 >= 0x30 && $0 <= 0x39 }
    if digits.isEmpty { return "by another process" }
    return "by process \(String(decoding: digits, as: UTF8.self))"
  }
}

extension PosixDisk {
  package func lock(_ path: String) throws(DiskError) -> any DiskLock {
    try PosixLock.take(path)
  }
}
