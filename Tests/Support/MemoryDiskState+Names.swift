internal import CairnDisk

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

extension MemoryDiskState {
  /// A place in a directory that exists, whether or not something has that name.
  struct Place {
    var directory: Int
    var name: MemoryDiskName
    var inode: Int?
  }

  /// The names along a path; a relative one starts at the root too.
  static func names(_ verb: String, _ path: String) throws(DiskError) -> [MemoryDiskName] {
    if path.isEmpty { throw DiskError(reason: .notFound, operation: verb, path: path) }
    if path.utf8.contains(0) {
      throw DiskError(reason: .io(errno: EINVAL), operation: verb, path: path)
    }
    var names: [MemoryDiskName] = []
    for part in path.utf8.split(separator: UInt8(ascii: "/")) {
      switch Array(part) {
      case Array(".".utf8): continue
      case Array("..".utf8): names = names.dropLast()
      case let name: names.append(name)
      }
    }
    return names
  }

  static func path(_ names: some Sequence<MemoryDiskName>) -> String {
    "/" + names.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
  }

  /// What is at a path; fails if there is nothing.
  func find(_ verb: String, _ path: String) throws(DiskError) -> Int {
    var inode = Self.root
    for name in try Self.names(verb, path) {
      guard let directory = directories[inode] else {
        throw DiskError(reason: .notRegular, operation: verb, path: path)
      }
      guard let next = directory.current[name] else {
        throw DiskError(reason: .notFound, operation: verb, path: path)
      }
      inode = next
    }
    return inode
  }

  /// Where a path leads; fails if its directory is missing. The root has no place.
  func place(_ verb: String, _ path: String) throws(DiskError) -> Place? {
    let names = try Self.names(verb, path)
    guard let name = names.last else { return nil }
    let above = try directory(verb, Self.path(names.dropLast()), reportedAs: path)
    return Place(directory: above, name: name, inode: directories[above]?.current[name])
  }

  func directory(
    _ verb: String, _ path: String, reportedAs shown: String
  ) throws(DiskError) -> Int {
    let inode: Int
    do {
      inode = try find(verb, path)
    } catch {
      throw DiskError(reason: error.reason, operation: verb, path: shown)
    }
    guard directories[inode] != nil else {
      throw DiskError(reason: .notRegular, operation: verb, path: shown)
    }
    return inode
  }

  /// Gives an inode a name.
  mutating func link(_ inode: Int, _ place: Place, _ now: Int64) {
    directories[place.directory]?.make(.set(place.name, inode))
    directories[place.directory]?.modified = now
    count(inode, links: 1)
  }

  /// Takes a name away.
  mutating func unlink(_ inode: Int, _ place: Place, _ now: Int64) {
    directories[place.directory]?.make(.unset(place.name, inode))
    directories[place.directory]?.modified = now
    count(inode, links: -1)
  }

  /// Takes the name of a file away that was removed; on some disks one that is open gets another.
  mutating func remove(_ inode: Int, _ place: Place, _ now: Int64) {
    guard keepsOpenFiles, let file = files[inode], file.opens > 0 else {
      return unlink(inode, place, now)
    }
    hiddenCount += 1
    let digits = String(hiddenCount)
    let zeros = String(repeating: "0", count: max(0, 4 - digits.utf8.count))
    let name = Array(".fuse_hidden\(zeros)\(digits)".utf8)
    directories[place.directory]?.make(.move(from: place.name, to: name, inode))
    directories[place.directory]?.modified = now
    hidden[inode] = Place(directory: place.directory, name: name, inode: inode)
  }

  /// A file that has only the disk's own name loses that when the last handle is closed.
  mutating func dropHiddenName(_ inode: Int) {
    guard let file = files[inode], file.opens == 0, let place = hidden.removeValue(forKey: inode)
    else { return }
    unlink(inode, place, file.modified)
  }

  mutating func makeInode() -> Int {
    nextInode += 1
    return nextInode - 1
  }

  mutating func makeFile(_ place: Place, _ now: Int64) -> Int {
    let inode = makeInode()
    files[inode] = MemoryDiskContent(modified: now)
    link(inode, place, now)
    return inode
  }

  func info(_ inode: Int) -> FileInfo {
    if let file = files[inode] {
      return FileInfo(
        kind: .file, size: UInt64(file.current.length), modified: file.modified,
        inode: UInt64(inode))
    }
    let directory = directories[inode]
    return FileInfo(
      kind: directory == nil ? .other : .directory, size: 0, modified: directory?.modified ?? 0,
      inode: UInt64(inode))
  }
}
