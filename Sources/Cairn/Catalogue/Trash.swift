internal import CairnDisk
internal import CairnLog

/// Getting rid of a datastore's files in a root, in a way that a crash can't leave half of one.
struct Trash: Sendable {
  /// What others deleted stays on this device for so long: 30 days.
  static let keepMilliseconds: Int64 = 30 * 24 * 3600 * 1000

  /// Staging directories that no journal names any more are left for so long: a week.
  private static let staleMilliseconds: Int64 = 7 * 24 * 3600 * 1000

  let root: String
  let machine: Machine

  /// Removes a directory of the root for good. In one step it is no datastore any more.
  func destroy(_ directory: String) throws(CairnError) {
    do { try remove(directory) } catch { throw CairnError(error) }
  }

  func remove(_ directory: String) throws(DiskError) {
    let gone = root + "/" + FileName.temporary(machine.random.next())
    try machine.disk.move(root + "/" + directory, to: gone, syncing: root)
    try machine.disk.removeTree(gone)
  }

  /// Moves a directory of the root to `trash/<time>/`. One with a reason stays there until somebody
  /// empties the trash. Returns where it is now.
  @discardableResult
  func keep(_ directory: String, reason: String? = nil) throws(CairnError) -> String {
    var time = max(0, machine.clock.now())
    do throws(DiskError) {
      while try machine.disk.info(place(time)) != nil { time += 1 }
      try machine.disk.createDirectory(place(time))
      if let reason { try write(reason, to: place(time) + "/" + FileName.trashReason) }
      try machine.disk.move(
        root + "/" + directory, to: place(time) + "/" + directory, syncing: place(time), root)
    } catch { throw CairnError(error) }
    return place(time) + "/" + directory
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
  /// effort: it is tried again.
  func purge() {
    let now = machine.clock.now()
    do {
      if try machine.disk.info(root) == nil { return }
      // While a move is under way, its staging directories are all there is.
      let journal = try MigrationJournal.read(root, disk: machine.disk)
      if journal?.isInstalled == false { return }
      for entry in try machine.disk.list(root) where entry.info.kind == .directory {
        // What was being put together may be just now, by another process.
        let isStale =
          FileName.stagingToken(entry.name) != nil
          && now.elapsed(since: entry.info.modified) > Trash.staleMilliseconds
        guard FileName.isTemporary(entry.name) || isStale else { continue }
        try machine.disk.removeTree(root + "/" + entry.name)
      }
      let trash = root + "/" + FileName.trash
      if try machine.disk.info(trash) == nil { return }
      for entry in try machine.disk.list(trash) {
        // Any number may be the name of a directory there; a negative one is none of ours.
        guard let time = Int64(entry.name), time >= 0,
          now.elapsed(since: time) > Trash.keepMilliseconds,
          try machine.disk.info(place(time) + "/" + FileName.trashReason) == nil
        else { continue }
        try machine.disk.removeTree(trash + "/" + entry.name)
      }
    } catch {}
  }
}

extension Disk {
  /// Renames, and syncs the directories: the target's first, or a power cut could leave it in
  /// neither. Where the sync of a name has failed no later one can be believed to make it durable,
  /// and whoever tries again takes what has its new name for done: so it gets its old one back.
  func move(_ from: String, to: String, syncing directories: String...) throws(DiskError) {
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
