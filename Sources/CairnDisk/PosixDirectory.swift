#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// An open directory: what is in it stays in reach whatever happens to its path meanwhile.
struct PosixDirectory: ~Copyable {
  /// A name as the system gives it, which need not be UTF-8.
  struct Name {
    /// With the zero at the end.
    var bytes: [CChar]

    /// Repaired where it is not UTF-8.
    var text: String {
      String(decoding: bytes.dropLast().lazy.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    static func precedes(_ a: Name, _ b: Name) -> Bool {
      a.bytes.lexicographicallyPrecedes(b.bytes) {
        UInt8(bitPattern: $0) < UInt8(bitPattern: $1)
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

  /// Opens a directory in this one; a link fails with `notRegular`.
  init(_ name: Name, in folder: borrowing PosixDirectory) throws(DiskError) {
    let path = folder.path + "/" + name.text
    let above = folder.descriptor
    operation = folder.operation
    self.path = path
    descriptor = try SystemCall.run(folder.operation, path) {
      unsafe openat(above, name.bytes, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }
  }

  deinit { closeDescriptor(descriptor) }

  /// All names but "." and "..", sorted by their bytes.
  func names() throws(DiskError) -> [Name] {
    let descriptor = descriptor
    let copy = try SystemCall.run(operation, path) { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
    guard let stream = unsafe fdopendir(copy) else {
      let code = errno
      closeDescriptor(copy)
      throw DiskError(errno: code, operation: operation, path: path)
    }
    defer { unsafe closedir(stream) }
    // The copy shares its position with the original.
    unsafe rewinddir(stream)
    var names: [Name] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else { break }
      let bytes = unsafe Self.name(of: entry)
      if bytes != Self.itself && bytes != Self.above { names.append(Name(bytes: bytes)) }
    }
    // The end leaves errno alone.
    if errno != 0 { throw DiskError(errno: errno, operation: operation, path: path) }
    return names.sorted(by: Name.precedes)
  }

  /// What a name stands for, links not followed; nil if it is gone.
  func status(of name: Name) throws(DiskError) -> stat? {
    var status = stat()
    let descriptor = descriptor
    do {
      try SystemCall.run(operation, path + "/" + name.text) {
        unsafe fstatat(descriptor, name.bytes, &status, AT_SYMLINK_NOFOLLOW)
      }
    } catch {
      if error.reason == .notFound { return nil }
      throw error
    }
    return status
  }

  /// Removes a name: a directory if `flags` is `AT_REMOVEDIR`, else anything else.
  func unlink(_ name: Name, _ flags: Int32) throws(DiskError) {
    let descriptor = descriptor
    do {
      try SystemCall.run(operation, path + "/" + name.text) {
        unsafe unlinkat(descriptor, name.bytes, flags)
      }
    } catch {
      if error.reason != .notFound { throw error }
    }
  }

  private static let itself: [CChar] = [0x2E, 0]
  private static let above: [CChar] = [0x2E, 0x2E, 0]

  /// The entry is only as long as its name, so it is never copied as a whole.
  private static func name(of entry: UnsafeMutablePointer<dirent>) -> [CChar] {
    let offset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0
    let start = unsafe UnsafeRawPointer(entry).advanced(by: offset)
      .assumingMemoryBound(to: CChar.self)
    return unsafe Array(UnsafeBufferPointer(start: start, count: strlen(start) + 1))
  }
}
