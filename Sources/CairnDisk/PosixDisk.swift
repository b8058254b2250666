#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The operating system's file system.
package struct PosixDisk: Disk {
  package init() {}

  package func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    let flags =
      switch mode {
      case .read, .readPrivate: O_RDONLY
      case .readWrite: O_RDWR
      case .create, .createPrivate: O_RDWR | O_CREAT | O_EXCL
      }
    let operation = mode.isCreating ? "create" : "open"
    let descriptor = try SystemCall.open(
      operation, path, flags | O_NOFOLLOW, permissions: mode == .createPrivate ? 0o600 : 0o666)
    // From here on the file closes the descriptor, also when it is not a regular one.
    let file = PosixFile(path: path, descriptor: descriptor)
    let status = try SystemCall.requireRegular(operation, path, descriptor)
    if mode == .readPrivate, status.st_mode & 0o077 != 0 || status.st_uid != geteuid() {
      throw DiskError(reason: .exposed, operation: operation, path: path)
    }
    return file
  }

  package func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
    try list(directory, only: { _ in true })
  }

  package func list(
    _ directory: String, only isWanted: (String) -> Bool
  ) throws(DiskError) -> [DirectoryEntry] {
    let folder = try PosixDirectory("list", directory)
    let names = try folder.names()
    var entries: [DirectoryEntry] = []
    for number in names.sorted {
      let name = names.text(Int(number))
      // Else removed since its name was read.
      guard isWanted(name), let status = try folder.status(of: Int(number), in: names) else {
        continue
      }
      entries.append(DirectoryEntry(name: name, info: FileInfo(status)))
    }
    return entries
  }

  package func list(
    _ directory: String, after last: DirectoryListing?
  ) throws(DiskError) -> DirectoryListing {
    let folder = try PosixDirectory("list", directory)
    let names = try folder.names()
    var infos: [FileInfo?] = []
    var unread: [String] = []
    var failure: DiskError?
    for name in 0..<names.count {
      do throws(DiskError) {
        infos.append(try folder.status(of: name, in: names).map { FileInfo($0) })
      } catch {
        infos.append(nil)
        unread.append(names.text(name))
        failure = failure ?? error
      }
    }
    // It is the directory's fault, not that of a name.
    if let failure, infos.allSatisfy({ $0 == nil }) { throw failure }
    if let last, last.names.bytes == names.bytes, last.infos == infos, last.unread == unread {
      return last
    }
    var entries: [DirectoryEntry] = []
    var numbers: [Int32] = []
    for name in names.sorted {
      guard let info = infos[Int(name)] else { continue }
      entries.append(DirectoryEntry(name: names.text(Int(name)), info: info))
      numbers.append(name)
    }
    return DirectoryListing(
      entries, unread: unread, names: names, infos: infos, numbers: numbers)
  }

  package func isUnchanged(
    _ directory: String, since last: DirectoryListing, at places: [Int]
  ) throws(DiskError) -> Bool {
    // One that was gone before it was asked for has no entry, nor has one that is not read.
    guard last.infos.count == last.entries.count else { return false }
    let folder = try PosixDirectory("list", directory)
    guard try folder.hasNames(last.names.bytes) else { return false }
    for place in places {
      let status = try folder.status(of: Int(last.numbers[place]), in: last.names)
      if status.map({ FileInfo($0) }) != last.entries[place].info { return false }
    }
    return true
  }

  package func info(_ path: String) throws(DiskError) -> FileInfo? {
    try SystemCall.check(path, "look up")
    let path = FilePath.trimmed(path)
    var status = stat()
    do {
      try SystemCall.run("look up", path) { unsafe lstat(path, &status) }
    } catch {
      // Below a file, as below a directory that is missing, there is nothing.
      if error.reason == .notFound || error.reason == .notRegular { return nil }
      throw error
    }
    return FileInfo(status)
  }

  package func rename(_ from: String, to: String) throws(DiskError) {
    try SystemCall.check(from, "rename")
    try SystemCall.check(to, "rename")
    do {
      try SystemCall.run("rename", from) { renameFile(from, to) }
    } catch {
      throw DiskError(
        reason: error.reason, operation: "rename", path: from, detail: "the new name was \(to)")
    }
  }

  package func remove(_ path: String) throws(DiskError) {
    try SystemCall.check(path, "remove")
    try SystemCall.run("remove", path) { unsafe unlink(path) }
  }
}

/// The C function, which inside `PosixDisk` is hidden by its namesake.
private func renameFile(_ from: String, _ to: String) -> Int32 { unsafe rename(from, to) }
