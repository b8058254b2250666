internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A file of the operating system.
final class PosixFile: DiskFile {
  let path: String
  private let descriptor: Int32
  /// Twice the number of calls under way, plus one once `close` was called. The descriptor goes
  /// with the last of them: closed under a running call, its number could become another file's.
  private let state = Atomic<Int>(0)

  /// Takes over an open descriptor.
  init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close() }

  func size() throws(DiskError) -> UInt64 {
    let descriptor = try begin("measure")
    defer { end() }
    let status = try SystemCall.status("measure", path, of: descriptor)
    return UInt64(clamping: status.st_size)
  }

  func read(at offset: UInt64, count: Int) throws(DiskError) -> [UInt8] {
    let descriptor = try begin("read")
    defer { end() }
    var count = count
    if count > Self.trustedCount {
      // What is asked for may come from a damaged file; what is there can be allocated.
      let size = UInt64(clamping: try SystemCall.status("read", path, of: descriptor).st_size)
      count = min(count, Int(clamping: size - min(size, offset)))
    }
    // No file reaches further than an offset can say.
    guard count > 0, let start = off_t(exactly: offset), start <= off_t.max - off_t(count) else {
      return []
    }
    var failure: DiskError?
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(DiskError) {
        while filled < count {
          let length = min(count - filled, Self.largestTransfer)
          let done = try SystemCall.run("read", path) {
            unsafe pread(
              descriptor, buffer.baseAddress?.advanced(by: filled), length, start + off_t(filled))
          }
          if done == 0 { break }
          filled += done
        }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }

  func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(DiskError) {
    let descriptor = try begin("write")
    defer { end() }
    var rest = bytes
    var place = try SystemCall.offset("write", path, offset, adding: bytes.count)
    while !rest.isEmpty {
      let length = min(rest.count, Self.largestTransfer)
      let done = try SystemCall.run("write", path) {
        unsafe rest.withUnsafeBufferPointer {
          unsafe pwrite(descriptor, $0.baseAddress, length, place)
        }
      }
      // Would otherwise go on for ever.
      if done == 0 { throw DiskError(errno: EIO, operation: "write", path: path) }
      rest = rest.extracting(droppingFirst: done)
      place += off_t(done)
    }
  }

  func sync() throws(DiskError) {
    let descriptor = try begin("sync")
    defer { end() }
    try SystemCall.run("sync", path) { Platform.syncFile(descriptor) }
  }

  func preallocate(to length: UInt64) throws(DiskError) {
    let descriptor = try begin("reserve space for")
    defer { end() }
    let length = try SystemCall.offset("reserve space for", path, length)
    do {
      try SystemCall.run("reserve space for", path) { Platform.preallocate(descriptor, length) }
    } catch {
      // The file system can't: the file grows as it is written.
      if [.io(errno: EOPNOTSUPP), .io(errno: ENOTSUP), .io(errno: EINVAL)].contains(error.reason) {
        return
      }
      throw error
    }
  }

  func truncate(to length: UInt64) throws(DiskError) {
    let descriptor = try begin("truncate")
    defer { end() }
    let length = try SystemCall.offset("truncate", path, length)
    try SystemCall.run("truncate", path) { ftruncate(descriptor, length) }
  }

  func adviseRandom() {
    // A hint on a closed file is as good as none.
    guard let descriptor = try? begin("advise") else { return }
    defer { end() }
    Platform.adviseRandom(descriptor)
  }

  func close() {
    let before = state.bitwiseOr(1, ordering: .acquiringAndReleasing).oldValue
    if before == 0 { closeDescriptor(descriptor) }
  }

  /// Up to here a read's count is allocated as it is.
  private static let trustedCount = 1 << 20
  /// Darwin refuses more than 2^31 - 1 bytes in one call, Linux shortens it.
  private static let largestTransfer = 1 << 30

  /// Starts a call; each must be followed by `end`.
  private func begin(_ operation: String) throws(DiskError) -> Int32 {
    var current = state.load(ordering: .relaxed)
    while current & 1 == 0 {
      let done: Bool
      (done, current) = state.weakCompareExchange(
        expected: current, desired: current + 2, ordering: .acquiringAndReleasing)
      if done { return descriptor }
    }
    throw DiskError(errno: EBADF, operation: operation, path: path)
  }

  private func end() {
    let left = state.wrappingSubtract(2, ordering: .acquiringAndReleasing).newValue
    if left == 1 { closeDescriptor(descriptor) }
  }
}
