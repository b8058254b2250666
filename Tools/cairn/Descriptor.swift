import ArgumentParser
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

  static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

  /// Best effort.
  static func remove(_ path: String) { _ = unsafe unlink(path) }

  static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  static func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// Where a stream is closed, the next file that is opened would take its number, and whatever is
  /// printed would go into that. What takes it here refuses it, as a closed one does.
  static func occupyStreams() {
    for (number, mode) in [(0, O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)]
    where fcntl(Int32(number), F_GETFD) < 0 {
      _ = unsafe open("/dev/null", mode)
    }
  }

  /// Help is wrapped to COLUMNS, else to the terminal, by code that does not bear a narrow one. A
  /// terminal breaks by itself what is too wide for it.
  static func widenScreen() {
    var columns = environment("COLUMNS").flatMap { Int($0) }
    if columns == nil {
      var size = winsize()
      if unsafe ioctl(standardOutput, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 {
        columns = Int(size.ws_col)
      }
    }
    guard let columns, columns < narrowest else { return }
    _ = unsafe setenv("COLUMNS", "\(narrowest)", 1)
  }

  private static let narrowest = 40

  /// The directory of the datastores: as the option says, the environment, or here.
  static func root(_ option: String?) -> String {
    if let option { return option }
    // An empty variable is one that is not set.
    return environment("CAIRN_ROOT").flatMap { $0.isEmpty ? nil : $0 } ?? "cairn-data"
  }

  /// An empty option is mostly a variable of a script that is not set: it means no place.
  static func checkRoot(_ option: String?) throws {
    if option?.isEmpty == true { throw ValidationError("--root takes a directory, and is empty") }
  }

  /// A path that means the same from any working directory.
  static func absolute(_ path: String) throws -> String {
    guard !path.isEmpty else {
      throw ToolError.usage("an option that names a place is empty: is a variable not set?")
    }
    if path.hasPrefix("/") { return path }
    guard let current = unsafe getcwd(nil, 0) else { throw failure("find", ".") }
    defer { unsafe free(current) }
    return unsafe String(cString: current) + "/" + path
  }

  /// An absolute path without "." and "..". Links stay as they are typed, but for those before a
  /// step up, which is to the parent of what they lead to.
  static func plain(_ path: String) throws -> String {
    var parts: [Substring] = []
    for part in try absolute(path).split(separator: "/") where part != "." {
      guard part == ".." else {
        parts.append(part)
        continue
      }
      if let found = resolved("/" + parts.joined(separator: "/")) {
        parts = found.split(separator: "/")
      }
      _ = parts.popLast()
    }
    return "/" + parts.joined(separator: "/")
  }

  /// The one path of a place, however it is typed: absolute, links followed where there are any.
  static func real(_ path: String) throws -> String {
    // Without links as far as it exists, so that a step up is to the parent.
    var parts: [Substring] = []
    for part in try absolute(path).split(separator: "/") where part != "." {
      if part == ".." {
        _ = parts.popLast()
        continue
      }
      parts.append(part)
      if let found = resolved("/" + parts.joined(separator: "/")) {
        parts = found.split(separator: "/")
      }
    }
    return "/" + parts.joined(separator: "/")
  }

  private static func resolved(_ path: String) -> String? {
    guard let buffer = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(buffer) }
    return unsafe String(cString: buffer)
  }

  /// Runs `body` while no other command does the same for a directory. Where there is none, or it
  /// can't be locked, nobody is kept out.
  static func locked<R>(_ directory: String, _ body: () throws -> R) throws -> R {
    let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return try body() }
    // It ends with the last descriptor.
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
    return try body()
  }

  static func failure(_ verb: String, _ path: String) -> ToolError {
    let code = errno
    let reason = unsafe String(cString: strerror(code))
    return ToolError(
      code == ENOENT ? .notFound : .failure, "fileIO", "can't \(verb) \(path): \(reason)",
      file: path)
  }
}
