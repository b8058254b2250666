internal import CairnDisk
internal import CairnLog

/// Getting rid of a datastore's files in a root, in a way that a crash can't leave half of one.
struct Trash: Sendable {
  /// What others deleted stays on this device for so long: 30 days.
  static let keepMilliseconds: Int64 = 30 * 24 * 3600 * 1000

  /// A time that is so far ahead is of a clock that was wrong: 5 years. Without the time a device
  /// may begin with the day that its system was built, which is not as long ago.
  private static let leadMilliseconds: Int64 = 5 * 365 * 24 * 3600 * 1000

  /// Staging directories that no journal names any more are left for so long: a week.
  private static let staleMilliseconds: Int64 = 7 * 24 * 3600 * 1000

  let root: String
  let machine: Machine

  /// Removes a directory of the root for good. In one step it is no datastore any more. Whoever has
  /// its lock gives that here: once nobody finds it by its name it is unlocked.
  func destroy(
    _ directory: String, releasing lock: (any DiskLock)? = nil
  ) throws(CairnError) {
    do { try remove(directory, releasing: lock) } catch { throw CairnError(error) }
  }

  func remove(_ directory: String, releasing lock: (any DiskLock)? = nil) throws(DiskError) {
    let gone = root + "/" + FileName.temporary(machine.random.next())
    do throws(DiskError) {
      try machine.disk.move(root + "/" + directory, to: gone, syncing: root)
    } catch {
      guard error.isOfLayers else { throw error }
      return try removeInPlace(root + "/" + directory, releasing: lock)
    }
    // FUSE and NFS keep a name for a file that is removed while it is open, and with it its
    // directory can't be removed.
    lock?.unlock()
    try machine.disk.removeTree(gone)
  }

  /// Moves a directory of the root to `trash/<time>/`. One with a reason stays there until somebody
  /// empties the trash. Returns where it is now. Whoever has its lock gives that here, as for
  /// `destroy`.
  @discardableResult
  func keep(
    _ directory: String, reason: String? = nil, releasing lock: (any DiskLock)? = nil
  ) throws(CairnError) -> String {
    let time = try prepare(reason: reason)
    do throws(DiskError) { return try move(directory, to: time, lock) } catch {
      // Each new try would leave another one.
      removeUnused(time)
      throw CairnError(error)
    }
  }

  /// The same to a place that was prepared; nil if that is not there any more, or taken.
  func keep(
    _ directory: String, at time: Int64, releasing lock: (any DiskLock)? = nil
  ) throws(CairnError) -> String? {
    do throws(DiskError) {
      guard try machine.disk.info(place(time)) != nil else { return nil }
      let target = place(time) + "/" + directory
      if try machine.disk.info(target) == nil { return try move(directory, to: time, lock) }
      guard try isLeft(root + "/" + directory, of: target) else { return nil }
      // Who was killed may just have given the copy its name.
      try machine.disk.syncDirectory(place(time))
      try removeInPlace(root + "/" + directory, releasing: lock)
      return target
    } catch { throw CairnError(error) }
  }

  private func move(
    _ directory: String, to time: Int64, _ lock: (any DiskLock)?
  ) throws(DiskError) -> String {
    let target = place(time) + "/" + directory
    try carry(root + "/" + directory, to: target, releasing: lock, syncing: place(time), root)
    return target
  }

  /// Makes a place with a reason in it, durably: for what comes there when there may be no room any
  /// more to write that. Returns its time.
  func prepare(reason: String?) throws(CairnError) -> Int64 {
    var time = max(0, machine.clock.now())
    do throws(DiskError) {
      while try machine.disk.info(place(time)) != nil { time += 1 }
      try machine.disk.createDirectory(place(time))
    } catch { throw CairnError(error) }
    guard let reason else { return time }
    do throws(DiskError) {
      try write(reason, to: place(time) + "/" + FileName.trashReason)
      try machine.disk.syncDirectory(place(time))
      return time
    } catch {
      removeUnused(time)
      throw CairnError(error)
    }
  }

  /// Removes a place unless something was put there. Best effort.
  func removeUnused(_ time: Int64) {
    do throws(DiskError) {
      if try isUnused(time) { try machine.disk.removeTree(place(time)) }
    } catch {}
  }

  private func isUnused(_ time: Int64) throws(DiskError) -> Bool {
    // What an earlier removal has left is nobody's.
    try machine.disk.list(place(time)).allSatisfy {
      $0.name == FileName.trashReason || FileName.isTemporary($0.name)
    }
  }

  private func write(_ text: String, to path: String) throws(DiskError) {
    let file = try machine.disk.open(path, .create)
    defer { file.close() }
    let bytes = Array((text + "\n").utf8)
    try file.write(bytes.span, at: 0)
    try file.sync()
  }

  private func place(_ time: Int64) -> String { "\(root)/\(FileName.trash)/\(time)" }

  /// Removes what has been in the trash for long, and what a crash left of other removals. Best
  /// effort: it is tried again. `isLocked`: the caller holds the root's MIGRATION.LOCK.
  func purge(isLocked: Bool = false) {
    let now = machine.clock.now()
    do {
      if try machine.disk.info(root) == nil { return }
      if try isMoving() { return }
      let directories = try machine.disk.list(root).filter { $0.info.kind == .directory }
      let removed = directories.map(\.name).filter { FileName.isTemporary($0) }
      for name in removed + setAsideStale(directories, now, isLocked: isLocked) {
        try machine.disk.removeTree(root + "/" + name)
      }
      let trash = root + "/" + FileName.trash
      if try machine.disk.info(trash) == nil { return }
      for entry in try machine.disk.list(trash) {
        // Any number may be the name of a directory there; a negative one is none of ours.
        guard let time = Int64(entry.name), time >= 0 else { continue }
        let isOver = now.elapsed(since: time) > Trash.keepMilliseconds
        guard isOver || isAhead(time, of: now) else { continue }
        do throws(DiskError) {
          let hasReason = try machine.disk.info(place(time) + "/" + FileName.trashReason) != nil
          // One with a reason has no days, or something may be on its way there.
          if hasReason, !isOver { continue }
          if hasReason, try !isUnused(time) { continue }
          if isOver {
            _ = try removePlace(trash + "/" + entry.name)
          } else {
            try beginAnew(time, at: now)
          }
        } catch {
          // The time of the others has come all the same.
        }
      }
    } catch {}
  }

  /// Whether a time is of a clock that was ahead: its days would end in years. By a clock that has
  /// lost its date everything is ahead, and would be taken for years old when that is right again.
  private func isAhead(_ time: Int64, of now: Int64) -> Bool {
    now >= FormatTime.began && time.elapsed(since: now) > Trash.leadMilliseconds
  }

  /// The days of a place begin now. Not while a copy in it is in use.
  private func beginAnew(_ time: Int64, at now: Int64) throws(DiskError) {
    guard let copies = try lockCopies(in: place(time)) else { return }
    defer { for copy in copies { copy.lock?.unlock() } }
    var next = now
    while try machine.disk.info(place(next)) != nil { next += 1 }
    let trash = root + "/" + FileName.trash
    try machine.disk.move(place(time), to: place(next), syncing: trash)
  }

  /// A copy in a place; without a lock if it has no file for that.
  private typealias LockedCopy = (name: String, lock: (any DiskLock)?)

  /// The copies in a place; nil if one is in use.
  private func lockCopies(in place: String) throws(DiskError) -> [LockedCopy]? {
    var copies: [LockedCopy] = []
    var isComplete = false
    defer { if !isComplete { for copy in copies { copy.lock?.unlock() } } }
    // What an earlier removal has left is nobody's.
    let names = try machine.disk.list(place).filter {
      $0.info.kind == .directory && !FileName.isTemporary($0.name)
    }.map(\.name)
    for name in names {
      let path = place + "/" + name + "/" + FileName.lock
      guard try machine.disk.info(path)?.kind == .file else {
        copies.append((name, nil))
        continue
      }
      do { copies.append((name, try machine.disk.lock(path))) } catch {
        if error.reason == .locked { return nil }
        throw error
      }
    }
    isComplete = true
    return copies
  }

  /// Removes a place of the trash for good. False, and nothing is done, if a copy in it is in use:
  /// while one is merged back its records are read, and its contents at the very end.
  func removePlace(_ place: String) throws(DiskError) -> Bool {
    guard try machine.disk.info(place)?.kind == .directory else {
      try machine.disk.removeTree(place)
      return true
    }
    guard let copies = try lockCopies(in: place) else { return false }
    defer { for copy in copies { copy.lock?.unlock() } }
    // In one step it is no copy any more: who puts it back just now gets all of it or nothing.
    for copy in copies {
      let gone = place + "/" + FileName.temporary(machine.random.next())
      do throws(DiskError) {
        try machine.disk.move(place + "/" + copy.name, to: gone, syncing: place)
      } catch {
        guard error.isOfLayers else { throw error }
        try removeInPlace(place + "/" + copy.name, releasing: copy.lock)
      }
    }
    // As in `remove`: nobody puts back what has such a name.
    for copy in copies { copy.lock?.unlock() }
    try machine.disk.removeTree(place)
    return true
  }

  /// While a move is under way, its staging directories are all there is.
  private func isMoving() throws(CairnError) -> Bool {
    try MigrationJournal.read(root, disk: machine.disk)?.isInstalled == false
  }

  /// Staging directories that nobody works in any more get names by which they go, which are
  /// returned. Whoever is at it has MIGRATION.LOCK, or a lock in one of them: after a sleep, or by
  /// a clock that was put on, what was begun just before looks old as well.
  private func setAsideStale(
    _ directories: [DirectoryEntry], _ now: Int64, isLocked: Bool
  ) -> [String] {
    var result: [String] = []
    do {
      let staged = directories.filter { FileName.stagingToken($0.name) != nil }
      // A time ahead is of a clock that was put back since: as of one that was put on, it says
      // nothing, and the locks tell.
      let stale = staged.filter {
        now.elapsed(since: $0.info.modified) > Trash.staleMilliseconds
          || $0.info.modified.elapsed(since: now) > Trash.staleMilliseconds
      }
      if stale.isEmpty { return [] }
      let path = root + "/" + FileName.migrationLock
      // Nobody has one that is not there.
      let isFree = try isLocked || machine.disk.info(path) == nil
      let lock: (any DiskLock)? = try isFree ? nil : machine.disk.lock(path)
      defer { lock?.unlock() }
      // Somebody may have ended meanwhile, and left it to a journal what becomes of them.
      if try isMoving() { return [] }
      for entry in stale {
        let token = FileName.stagingToken(entry.name)
        let related = staged.map(\.name).filter { FileName.stagingToken($0) == token }
        if related.contains(where: { isInUse($0) }) { continue }
        guard try machine.disk.info(root + "/" + entry.name) != nil else { continue }
        // The lock is for moments only, and to remove all of it may take long.
        let name = FileName.temporary(machine.random.next())
        do throws(DiskError) {
          try machine.disk.rename(root + "/" + entry.name, to: root + "/" + name)
        } catch {
          // One that came with the image is in nobody's way; the others go.
          if error.isOfLayers { continue }
          throw error
        }
        result.append(name)
      }
    } catch {}
    return result
  }

  /// Whether somebody works in a directory of the root, as far as that can be told.
  private func isInUse(_ directory: String) -> Bool {
    do throws(DiskError) {
      let path = root + "/" + directory + "/" + FileName.lock
      if try machine.disk.info(path) == nil { return false }
      try machine.disk.lock(path).unlock()
      return false
    } catch { return true }
  }
}

extension Disk {
  /// Renames, and syncs the directories: the target's first, or a power cut could leave it in
  /// neither. Where the sync of a name has failed no later one can be believed to make it durable,
  /// and whoever tries again takes what has its new name for done: so it gets its old one back.
  func move(_ from: String, to: String, syncing directories: String...) throws(DiskError) {
    try move(from, to: to, syncing: directories)
  }

  func move(_ from: String, to: String, syncing directories: [String]) throws(DiskError) {
    try rename(from, to: to)
    do throws(DiskError) {
      for directory in directories { try syncDirectory(directory) }
    } catch {
      do throws(DiskError) {
        try rename(to, to: from)
        for directory in directories.reversed() { try syncDirectory(directory) }
      } catch {
        // The first error says more.
      }
      throw error
    }
  }
}
