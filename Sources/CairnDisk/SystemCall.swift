#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The one way in which this module calls the system.
package enum SystemCall {
  /// Runs a call that returns -1 and sets `errno` when it fails, again as long as a signal
  /// interrupts it.
  @inline(__always)
  @discardableResult
  package static func run<Number: SignedInteger>(
    _ operation: String, _ path: @autoclosure () -> String, _ call: () -> Number
  ) throws(DiskError) -> Number {
    var result: Number
    repeat { result = call() } while result < 0 && errno == EINTR
    if result < 0 { throw DiskError(errno: errno, operation: operation, path: path()) }
    return result
  }

  /// Refuses what C would cut short: "log\0.seg" is not the file "log".
  static func check(_ path: String, _ operation: String) throws(DiskError) {
    if path.utf8.contains(0) {
      throw DiskError(errno: EINVAL, operation: operation, path: path)
    }
  }

  /// Opens a path. Never for a program that this one starts, and never waiting for a pipe's reader.
  static func open(
    _ operation: String, _ path: String, _ flags: Int32, permissions: mode_t = 0o666
  ) throws(DiskError) -> Int32 {
    try check(path, operation)
    // The user's umask decides who else may read.
    let descriptor = try run(operation, path) {
      openFile(path, flags | O_CLOEXEC | O_NONBLOCK, permissions)
    }
    return try aboveStreams(operation, path, descriptor)
  }

  /// A descriptor, or another in its place if it has the number of a standard stream: a program
  /// that was started without its streams would print into what is behind it.
  static func aboveStreams(
    _ operation: String, _ path: String, _ descriptor: Int32
  ) throws(DiskError) -> Int32 {
    guard (0...2).contains(descriptor) else { return descriptor }
    defer { closeDescriptor(descriptor) }
    return try run(operation, path) { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
  }

  /// What is behind an open descriptor.
  static func status(
    _ operation: String, _ path: String, of descriptor: Int32
  ) throws(DiskError) -> stat {
    var status = stat()
    try run(operation, path) { unsafe fstat(descriptor, &status) }
    return status
  }

  /// Fails unless the descriptor is a regular file's.
  @discardableResult
  static func requireRegular(
    _ operation: String, _ path: String, _ descriptor: Int32
  ) throws(DiskError) -> stat {
    let status = try status(operation, path, of: descriptor)
    guard FileInfo(status).kind == .file else {
      throw DiskError(reason: .notRegular, operation: operation, path: path)
    }
    return status
  }

  /// An offset or length as the system takes it.
  @inline(__always)
  static func offset(
    _ operation: String, _ path: String, _ value: UInt64, adding count: Int = 0
  ) throws(DiskError) -> off_t {
    guard let offset = off_t(exactly: value), offset <= off_t.max - off_t(count) else {
      throw DiskError(errno: EFBIG, operation: operation, path: path)
    }
    return offset
  }
}

/// The C function, which inside a type that has an `open` is hidden by its namesake.
private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
  unsafe open(path, flags, mode)
}

/// The C function, likewise. Not repeated when interrupted: the descriptor is gone all the same.
func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }
