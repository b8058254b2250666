#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// An open directory: what is in it stays in reach whatever happens to its path meanwhile.
struct PosixDirectory: ~Copyable {
  /// Names as the system gives them, which need not be UTF-8.
  struct Names {
    /// One after the other, each with its zero: an array for each would cost more than all else.
    fileprivate(set) var bytes: [UInt8] = []
    /// Where each begins.
    fileprivate var starts: [Int32] = []

    var count: Int { starts.count }

    /// Repaired where it is not UTF-8.
    func text(_ index: Int) -> String {
      let next = index + 1 < count ? Int(starts[index + 1]) : bytes.count
      return String(decoding: bytes[Int(starts[index])..<(next - 1)], as: UTF8.self)
    }

    /// The numbers of all names, sorted by their bytes.
    var sorted: [Int32] {
      let numbers = (0..<Int32(count)).map { $0 }
      if count < 2 { return numbers }
      return unsafe bytes.withUnsafeBytes { bytes in
        numbers.sorted { a, b in
          // Where there are names, there are bytes.
          let base = unsafe bytes.baseAddress.unsafelyUnwrapped
          let (a, b) = unsafe (base + Int(starts[Int(a)]), base + Int(starts[Int(b)]))
          return unsafe strcmp(
            a.assumingMemoryBound(to: CChar.self), b.assumingMemoryBound(to: CChar.self)) < 0
        }
      }
    }

    /// Calls `body` with a name as C has it.
    func withName<R>(_ index: Int, _ body: (UnsafePointer<CChar>) -> R) -> R {
      unsafe bytes.withUnsafeBufferPointer { bytes in
        let name = unsafe UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped)
          .advanced(by: Int(starts[index])).assumingMemoryBound(to: CChar.self)
        return unsafe body(name)
      }
    }
  }

  let operation: String
  let path: String
  let descriptor: Int32

  /// Opens what `path` leads to; a link at its end is followed unless `flags` say otherwise.
  init(_ operation: String, _ path: String, _ flags: Int32 = 0) throws(DiskError) {
    self.operation = operation
    self.path = path
    descriptor = try SystemCall.open(operation, path, O_RDONLY | O_DIRECTORY | flags)
  }

  /// Opens a directory in another one; a link fails with `notRegular`.
  init(
    _ name: Int, of names: Names, in folder: borrowing PosixDirectory
  ) throws(DiskError) {
    let path = folder.path + "/" + names.text(name)
    let above = folder.descriptor
    operation = folder.operation
    self.path = path
    descriptor = try SystemCall.run(folder.operation, path) {
      unsafe names.withName(name) { name in
        unsafe openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      }
    }
  }

  deinit { closeDescriptor(descriptor) }

  /// All names but "." and "..", in the system's order.
  func names() throws(DiskError) -> Names {
    var names = Names()
    try unsafe forEachName { name in
      names.starts.append(Int32(names.bytes.count))
      unsafe names.bytes.append(contentsOf: name)
      return true
    }
    return names
  }

  /// Whether these are all names, in the order that they had.
  func hasNames(_ last: [UInt8]) throws(DiskError) -> Bool {
    var rest = last[...]
    var isSame = true
    try unsafe forEachName { name in
      isSame = unsafe rest.count >= name.count && begins(rest, name)
      if isSame { rest = rest.dropFirst(name.count) }
      return isSame
    }
    return isSame && rest.isEmpty
  }

  /// Whether bytes begin with a name, which has no more than they.
  private func begins(_ bytes: ArraySlice<UInt8>, _ name: UnsafeRawBufferPointer) -> Bool {
    unsafe bytes.withUnsafeBytes { bytes in
      guard let a = bytes.baseAddress, let b = name.baseAddress else { return false }
      return unsafe memcmp(a, b, name.count) == 0
    }
  }

  /// Calls `body` with each name and its zero until it returns false.
  private func forEachName(_ body: (UnsafeRawBufferPointer) -> Bool) throws(DiskError) {
    let descriptor = descriptor
    let copy = try SystemCall.run(operation, path) { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
    #if canImport(Darwin)
      // There rewinding asks for nothing as long as nothing was read from the stream.
      lseek(copy, 0, SEEK_SET)
    #endif
    guard let stream = unsafe fdopendir(copy) else {
      let code = errno
      closeDescriptor(copy)
      throw DiskError(errno: code, operation: operation, path: path)
    }
    defer { unsafe closedir(stream) }
    // The copy shares its position with the original.
    unsafe rewinddir(stream)
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else { break }
      guard let name = unsafe Self.name(of: entry) else { continue }
      guard unsafe body(name) else { return }
    }
    // The end leaves errno alone.
    if errno != 0 { throw DiskError(errno: errno, operation: operation, path: path) }
  }

  /// What a name stands for, links not followed; nil if it is gone.
  func status(of name: Int, in names: Names) throws(DiskError) -> stat? {
    var status = stat()
    let (descriptor, path) = (descriptor, path)
    do {
      try SystemCall.run(operation, path + "/" + names.text(name)) {
        unsafe names.withName(name) { unsafe fstatat(descriptor, $0, &status, AT_SYMLINK_NOFOLLOW) }
      }
    } catch {
      if error.reason == .notFound { return nil }
      throw error
    }
    return status
  }

  /// Removes a name: a directory if `flags` is `AT_REMOVEDIR`, else anything else.
  func unlink(_ name: Int, in names: Names, _ flags: Int32) throws(DiskError) {
    let (descriptor, path) = (descriptor, path)
    do {
      try SystemCall.run(operation, path + "/" + names.text(name)) {
        unsafe names.withName(name) { unsafe unlinkat(descriptor, $0, flags) }
      }
    } catch {
      if error.reason != .notFound { throw error }
    }
  }

  /// The entry is only as long as its name, so it is never copied as a whole. nil for "." and "..".
  private static func name(of entry: UnsafeMutablePointer<dirent>) -> UnsafeRawBufferPointer? {
    let offset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0
    let start = unsafe UnsafeRawPointer(entry) + offset
    let length = unsafe strlen(start.assumingMemoryBound(to: CChar.self))
    let name = unsafe UnsafeRawBufferPointer(start: start, count: length + 1)
    let dot = UInt8(ascii: ".")
    if unsafe length == 1 && name[0] == dot || length == 2 && name[0] == dot && name[1] == dot {
      return nil
    }
    return unsafe name
  }
}
