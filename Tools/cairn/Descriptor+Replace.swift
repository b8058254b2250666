import Cairn

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension Descriptor {
  /// Puts a file in place whole or not at all: written beside its name, synced, renamed. It keeps
  /// the permissions of the one that it replaces. What is no regular file, a device or a pipe,
  /// stays what it is and is written into.
  static func replace(_ path: String, with bytes: [UInt8]) throws {
    try replace(path) { put in try put(bytes) }
  }

  /// The same for bytes that `write` gives piece by piece.
  static func replace(
    _ path: String, _ write: (([UInt8]) throws(CairnError) -> Void) throws -> Void
  ) throws {
    // A file that this process has open already is added to.
    if isOpenDescriptor(path) { return try writeInto(path, O_APPEND, write) }
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      // What a link leads to, and not the link, is what is to be made.
      if isLink(path) { return try writeInto(path, O_CREAT, write) }
      return try install(path, nil, write)
    }
    guard status.st_mode & S_IFMT == S_IFREG else { return try writeInto(path, 0, write) }
    try install(try real(path), status, write)
  }

  /// Whether `replace` puts a new file there, so that nothing is seen of one that fails half way.
  static func isReplaced(_ path: String) -> Bool {
    if isOpenDescriptor(path) { return false }
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return !isLink(path) }
    return status.st_mode & S_IFMT == S_IFREG
  }

  /// Whether a path names what a process has open. Not all of /dev does: /dev/shm has files.
  private static func isOpenDescriptor(_ path: String) -> Bool {
    ["/dev/stdin", "/dev/stdout", "/dev/stderr"].contains(path) || path.hasPrefix("/dev/fd/")
      || path.hasPrefix("/proc/")
  }

  /// Whether what is written there goes where results are printed. Opened anew it would be written
  /// at a place of its own, over which goes what is printed next.
  static func isStandardOutput(_ path: String) -> Bool {
    guard isOpenDescriptor(path) else { return path == "-" }
    if ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains(path) { return true }
    // Another number may be the same file. Of a pipe or a terminal there is no such place.
    var (named, own) = (stat(), stat())
    guard unsafe stat(path, &named) == 0 else { return false }
    guard unsafe fstat(standardOutput, &own) == 0 else { return false }
    return named.st_mode & S_IFMT == S_IFREG && named.st_dev == own.st_dev
      && named.st_ino == own.st_ino
  }

  private static func isLink(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// Writes to what `path` leads to, as it is.
  private static func writeInto(
    _ path: String, _ flags: Int32,
    _ write: (([UInt8]) throws(CairnError) -> Void) throws -> Void
  ) throws {
    let descriptor = unsafe open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | flags, 0o666)
    guard descriptor >= 0 else { throw failure("write", path) }
    defer { close(descriptor) }
    try fill(descriptor, path, write)
  }

  private static func install(
    _ path: String, _ old: stat?,
    _ write: (([UInt8]) throws(CairnError) -> Void) throws -> Void
  ) throws {
    let slash = path.lastIndex(of: "/")
    let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    // Nobody may read what comes in place of a private file, not even for a moment.
    let (descriptor, temporary) = try createTemporary(
      in: directory, for: path, permissions: old == nil ? 0o666 : 0o600)
    do {
      defer { close(descriptor) }
      try fill(descriptor, path, write)
      if let old {
        // Only root may give a file away; to anybody else the new one belongs already.
        _ = fchown(descriptor, old.st_uid, old.st_gid)
        guard fchmod(descriptor, old.st_mode & 0o777) == 0 || hasNoModes(errno) else {
          throw failure("set the permissions of", path)
        }
      }
      guard fsync(descriptor) == 0 else { throw failure("sync", path) }
      guard unsafe rename(temporary, path) == 0 else { throw failure("replace", path) }
    } catch {
      // Nothing is left of half a file.
      _ = unsafe unlink(temporary)
      throw error
    }
    try syncDirectory(directory)
  }

  /// Some mounts give all files the same permissions, and take no others.
  private static func hasNoModes(_ code: Int32) -> Bool {
    [EPERM, ENOSYS, EOPNOTSUPP].contains(code)
  }

  private static let temporaryStart = ".cairn-"
  private static let temporaryEnd = ".partial"

  /// A file that nobody else has, under a name that nobody else takes.
  private static func createTemporary(
    in directory: String, for path: String, permissions: mode_t
  ) throws -> (descriptor: Int32, path: String) {
    sweep(directory)
    while true {
      let number = UInt64.random(in: 0...UInt64.max)
      let temporary =
        directory + "/" + temporaryStart + String(number, radix: 16) + temporaryEnd
      let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
      let descriptor = unsafe open(temporary, flags, permissions)
      if descriptor >= 0 { return (descriptor, temporary) }
      guard errno == EEXIST else { throw failure("write", path) }
    }
  }

  /// Removes what commands have left that were killed, as far as that can be: a day after they last
  /// wrote to it. One that is stopped, or waits for a folder, may go on.
  private static func sweep(_ directory: String) {
    guard let stream = unsafe opendir(directory) else { return }
    defer { unsafe closedir(stream) }
    let now = time(nil)
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) {
        unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard name.hasPrefix(temporaryStart), name.hasSuffix(temporaryEnd),
        name.dropFirst(temporaryStart.count).dropLast(temporaryEnd.count)
          .allSatisfy(\.isHexDigit)
      else { continue }
      var status = stat()
      let path = directory + "/" + name
      guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        now - modified(status) > 86_400
      else { continue }
      _ = unsafe unlink(path)
    }
  }

  /// When a file was last written, in seconds since 1970.
  private static func modified(_ status: stat) -> Int {
    #if canImport(Darwin)
      status.st_mtimespec.tv_sec
    #else
      status.st_mtim.tv_sec
    #endif
  }

  private static func fill(
    _ descriptor: Int32, _ name: String,
    _ write: (([UInt8]) throws(CairnError) -> Void) throws -> Void
  ) throws {
    var problem: (any Error)?
    do {
      try write { bytes throws(CairnError) in
        do { try put(bytes, on: descriptor, name: name) } catch {
          problem = error
          throw CairnError(.fileIO, "can't write \(name)", file: name)
        }
      }
    } catch { throw problem ?? error }
  }

  /// So that no power cut takes the new name back.
  private static func syncDirectory(_ path: String) throws {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    // One that may be written and not read can't be synced.
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    // Not every file system knows how.
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure("sync", path) }
  }
}
