import Cairn

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Whole files and the standard streams, by system call.
enum Descriptor {
  static let standardInput: Int32 = 0
  static let standardOutput: Int32 = 1
  static let standardError: Int32 = 2

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// The content of a file, a pipe, or standard input for `-`.
  static func content(of path: String) throws -> [UInt8] {
    if path == "-" { return try readAll(standardInput, name: "standard input") }
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("read", path) }
    defer { close(descriptor) }
    return try readAll(descriptor, name: path)
  }

  private static func readAll(_ descriptor: Int32, name: String) throws -> [UInt8] {
    var content: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = unsafe piece.withUnsafeMutableBytes { buffer in
        unsafe read(descriptor, buffer.baseAddress, buffer.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure("read", name) }
      guard count > 0 else { return content }
      content.append(contentsOf: piece[..<count])
    }
  }

  static func put(_ bytes: [UInt8], on descriptor: Int32, name: String) throws {
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe write(descriptor, buffer.baseAddress?.advanced(by: done), bytes.count - done)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure("write", name) }
      done += count
    }
  }

  /// Puts a file in place whole or not at all: written beside its name, synced, renamed.
  static func replace(_ path: String, with bytes: [UInt8]) throws {
    try replace(path) { put in try put(bytes) }
  }

  /// The same for bytes that `write` gives piece by piece.
  static func replace(
    _ path: String, _ write: (([UInt8]) throws(CairnError) -> Void) throws -> Void
  ) throws {
    let temporary = path + ".partial"
    let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
    let descriptor = unsafe open(temporary, flags, 0o644)
    guard descriptor >= 0 else { throw failure("write", temporary) }
    defer { close(descriptor) }
    var problem: (any Error)?
    do {
      try write { bytes throws(CairnError) in
        do { try put(bytes, on: descriptor, name: temporary) } catch {
          problem = error
          throw CairnError(.fileIO, "can't write \(temporary)", file: temporary)
        }
      }
    } catch {
      // Nothing is left of half a file.
      _ = unsafe unlink(temporary)
      throw problem ?? error
    }
    guard fsync(descriptor) == 0 else { throw failure("sync", temporary) }
    guard unsafe rename(temporary, path) == 0 else { throw failure("rename", temporary) }
  }

  static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

  static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  static func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// A path that means the same from any working directory.
  static func absolute(_ path: String) throws -> String {
    if path.hasPrefix("/") { return path }
    guard let current = unsafe getcwd(nil, 0) else { throw failure("find", ".") }
    defer { unsafe free(current) }
    return unsafe String(cString: current) + "/" + path
  }

  private static func failure(_ verb: String, _ path: String) -> ToolError {
    let code = errno
    let reason = unsafe String(cString: strerror(code))
    return ToolError(
      code == ENOENT ? .notFound : .failure, "fileIO", "can't \(verb) \(path): \(reason)",
      file: path)
  }
}
