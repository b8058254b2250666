internal import CairnDisk
internal import CairnLog

/// Directories that keep their names. Where a file system is put together of layers, as those of
/// containers are, a directory that came with the image can't be renamed (EXDEV), though all that
/// is in it can be changed and removed. Moved it is copied then.
extension Trash {
  /// `Disk.move` for a directory of the root or of its trash, which is copied where it can't be
  /// renamed. Nobody may write in it meanwhile, or remove it: who moves one has its lock, and gives
  /// that here.
  ///
  /// After a crash at any step one of the two is whole. The copy is put together under a third
  /// name, and gets its own only when all of it is durable: until then the old one was not touched,
  /// and the next try begins anew. Once the directories are synced in which that name is, the old
  /// one goes, its CURRENT first and durably: so it is never taken for one that is whole, and what
  /// is left of it goes by the next try, `keep(_:at:)`, or is moved, too, beside the whole one.
  func carry(
    _ from: String, to: String, releasing lock: (any DiskLock)?, syncing directories: String...
  ) throws(DiskError) {
    do throws(DiskError) {
      try machine.disk.move(from, to: to, syncing: directories)
      return
    } catch {
      guard error.isOfLayers else { throw error }
    }
    try copy(from, to: to, syncing: directories)
    try removeInPlace(from, releasing: lock)
  }

  private func copy(
    _ from: String, to: String, syncing directories: [String]
  ) throws(DiskError) {
    let disk = machine.disk
    // Not a temporary name, which anybody who clears up removes at once. What a crash leaves of
    // this one goes after a week.
    let name = to.split(separator: "/").last.map(String.init) ?? ""
    let staged = root + "/" + FileName.staging(machine.random.next(), name)
    var lock: (any DiskLock)?
    defer { lock?.unlock() }
    do throws(DiskError) {
      try disk.createDirectory(staged)
      lock = try disk.lock(staged + "/" + FileName.lock)
      try disk.copyTree(from, to: staged, leavingOut: [FileName.lock], isWhole: true)
      // Who removes one takes its CURRENT first: this may be a part of it only.
      let current = "/" + FileName.current
      if try disk.info(staged + current) != nil, try disk.info(from + current) == nil {
        throw DiskError(reason: .notFound, operation: "copy", path: from + current)
      }
      try disk.move(staged, to: to, syncing: directories)
    } catch {
      lock?.unlock()
      // As above; the first error says more.
      do throws(DiskError) { try disk.removeTree(staged) } catch {}
      throw error
    }
  }

  /// Removes a directory that keeps its name until all in it has gone, for who has its lock. What
  /// makes others of a datastore without CURRENT say that it is damaged goes at the end, when the
  /// rest has gone durably: nobody makes a new one among what is left of the old.
  func removeInPlace(
    _ path: String, releasing lock: (any DiskLock)? = nil
  ) throws(DiskError) {
    let disk = machine.disk
    let current = path + "/" + FileName.current
    if try disk.info(current) != nil {
      try disk.remove(current)
      try disk.syncDirectory(path)
    }
    let late = [FileName.log, FileName.snapshots, FileName.lock]
    for entry in try disk.list(path) where !late.contains(entry.name) {
      try disk.removeTree(path + "/" + entry.name)
    }
    try disk.syncDirectory(path)
    for part in [FileName.log, FileName.snapshots] { try disk.removeTree(path + "/" + part) }
    try removeEmptied(path, releasing: lock)
    try disk.syncDirectory(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
  }

  /// Removes a directory in which nothing is left but LOCK.
  private func removeEmptied(
    _ path: String, releasing lock: (any DiskLock)?
  ) throws(DiskError) {
    let disk = machine.disk
    do throws(DiskError) { try disk.removeTree(path) } catch {
      guard let lock, try disk.info(path + "/" + FileName.lock) == nil else { throw error }
      // FUSE and NFS keep a name for it while it is held. What anybody makes there from now on is
      // theirs.
      lock.unlock()
      // FUSE lets go of that name when it is told of the unlocking, which may be a moment later.
      var tries = 20
      while tries > 0, try !disk.list(path).isEmpty {
        Pause.brief()
        tries -= 1
      }
      guard try disk.list(path).isEmpty else { throw error }
      try disk.removeTree(path)
    }
  }

  /// Whether a directory is what a crash has left of one that was copied: the copy got its name
  /// when it was whole, so it has all that is here. Not where CURRENT is another one: somebody has
  /// made something new here since.
  func isLeft(_ directory: String, of copy: String) throws(DiskError) -> Bool {
    guard let own = try current(directory) else { return true }
    return try current(copy) == own
  }

  private func current(_ directory: String) throws(DiskError) -> [UInt8]? {
    let path = directory + "/" + FileName.current
    guard try machine.disk.info(path) != nil else { return nil }
    let file = try machine.disk.open(path, .read)
    defer { file.close() }
    return try file.read(at: 0, count: 4096)
  }
}

extension DiskError {
  /// EXDEV: what is of a lower layer, or comes from another file system, can't be renamed.
  var isOfLayers: Bool { reason == .io(errno: 18) }
}

extension Disk {
  /// Copies a directory, durably but for its own name. Files that are called so are left out,
  /// wherever they are. `isWhole`: what can't be copied, as a link, is not just left out.
  func copyTree(
    _ from: String, to: String, leavingOut names: [String], isWhole: Bool = false
  ) throws(DiskError) {
    try createDirectory(to)
    for entry in try list(from) where !names.contains(entry.name) {
      let (old, new) = (from + "/" + entry.name, to + "/" + entry.name)
      switch entry.info.kind {
      case .directory: try copyTree(old, to: new, leavingOut: names, isWhole: isWhole)
      case .file: try copyFile(old, to: new)
      case .other:
        if isWhole { throw DiskError(reason: .notRegular, operation: "copy", path: old) }
      }
    }
    try syncDirectory(to)
  }

  func copyFile(_ from: String, to: String) throws(DiskError) {
    let source = try open(from, .read)
    defer { source.close() }
    let target = try open(to, .create)
    defer { target.close() }
    var offset: UInt64 = 0
    while true {
      let bytes = try source.read(at: offset, count: 1 << 20)
      if bytes.isEmpty { break }
      try target.write(bytes.span, at: offset)
      offset += UInt64(bytes.count)
    }
    try target.sync()
  }
}
