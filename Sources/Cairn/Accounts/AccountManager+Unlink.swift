internal import CairnDisk
internal import CairnLog
internal import Synchronization

extension AccountManager {
  /// First the list says that the account goes, durably; then its files go; then the list forgets
  /// it. A crash in between leaves something that the next start finishes.
  func unlink(_ account: LinkedAccount) throws(CairnError) {
    // Already here: who uses the local datastores after the list has changed would complete a move,
    // into files that go. What fails is tried again below, and told.
    let root = root(account.number)
    do throws(CairnError) { try tellOrigin(of: root, isLeaving: false) } catch {}
    let (_, news) = try change { file throws(CairnError) in
      guard file.entry(account.number) != nil else { return nil }
      file.entries.removeAll { $0.id == account.number }
      file.leaving.append(account.number)
      return nil
    }
    // What had to wait for that, before anybody hears of it.
    do throws(CairnError) { try tellOrigin(of: root, isLeaving: true) } catch {}
    handle(news)
    do throws(CairnError) { try removeLeaving() } catch {
      var failure = error
      failure.message =
        "the account of \(account.userId) is unlinked, but its files on this device could not be "
        + "removed; the next start tries again: \(error.message)"
      throw failure
    }
  }

  /// Removes the files of accounts that were unlinked.
  func removeLeaving() throws(CairnError) {
    let (news, failure) = try removal.withLock { left throws(CairnError) -> (News, CairnError?) in
      var failure: CairnError?
      var gone: Set<UInt64> = []
      var news = News()
      left = Set(state.withLock { $0.file.leaving })
      for id in left.sorted() {
        do throws(CairnError) {
          if try removeFiles(of: id) { gone.insert(id) }
        } catch { failure = error }
      }
      if !gone.isEmpty {
        (_, news) = try change { file throws(CairnError) in
          file.leaving.removeAll { gone.contains($0) }
          return nil
        }
      }
      left.subtract(gone)
      return (news, failure)
    }
    // Another process may have unlinked another account meanwhile: that leads here again.
    handle(news)
    if let failure { throw failure }
  }

  /// False if another process has some of its datastores open: that one will remove them.
  private func removeFiles(of id: UInt64) throws(CairnError) -> Bool {
    try credentialStore.removeCredentials(for: FileName.hex(id))
    let root = root(id)
    try tellOrigin(of: root, isLeaving: true)
    do throws(DiskError) {
      guard try machine.disk.info(root) != nil else { return true }
      for entry in try machine.disk.list(root) where entry.info.kind == .directory {
        let directory = root + "/" + entry.name
        // Held until it has lost its name, so that nobody opens half a datastore. Where there is
        // none nothing is open.
        let lockFile = directory + "/" + FileName.lock
        let isDatastore = try machine.disk.info(lockFile) != nil
        let lock = isDatastore ? try machine.disk.lock(lockFile) : nil
        defer { lock?.unlock() }
        try Trash(root: root, machine: machine).remove(entry.name, releasing: lock)
      }
      try machine.disk.removeTree(root)
      try machine.disk.syncDirectory(directory)
      return true
    } catch {
      if error.reason == .locked { return false }
      throw CairnError(error)
    }
  }

  /// Local datastores that have become the account's go with it. Where they came from may not have
  /// been told, and would take them back once nothing says any more that they were moved. Those of
  /// a move that was not completed stay where they are.
  private func tellOrigin(of root: String, isLeaving: Bool) throws(CairnError) {
    // Where both roots are one there is nobody to be told.
    guard let journal = try migration(in: root), journal.isTarget, !journal.other.isEmpty
    else { return }
    // The app's directory may have moved since.
    for origin in [journal.other, localRoot] {
      guard try migration(in: origin)?.token == journal.token else { continue }
      var locks = MigrationLocks(machine: machine)
      defer { locks.release() }
      try locks.take(origin)
      try locks.take(root)
      // Before any file goes: as long as this says that all is here, who uses the origin next lets
      // go of what is there.
      if try canBeTakenBack(origin, root) {
        // An account that stays, as the list can't be written, would keep its part of them; and to
        // complete the move would take all of them along if it goes.
        if !isLeaving, try isPartlyInstalled(root) { return }
        return try MigrationJournal.remove(root, disk: machine.disk)
      }
      try localManager(at: origin).settleMigration(target: localManager(at: root), &locks)
    }
  }

  /// Whether all that was to be moved is still where it came from, and nothing is in its place for
  /// good. For who has the locks of both roots.
  private func canBeTakenBack(_ origin: String, _ root: String) throws(CairnError) -> Bool {
    guard let journal = try migration(in: root), journal.isTarget, !journal.isInstalled,
      let source = try migration(in: origin), source.token == journal.token
    else { return false }
    do throws(DiskError) {
      for item in source.items
      where try machine.disk.info("\(origin)/\(item.directory)/\(FileName.current)") == nil {
        return false
      }
    } catch { throw CairnError(error) }
    return true
  }

  /// Whether some of what is moved is in its place already. For who has the locks of both roots.
  private func isPartlyInstalled(_ root: String) throws(CairnError) -> Bool {
    guard let journal = try migration(in: root) else { return false }
    do throws(DiskError) {
      for item in journal.items {
        let staging = root + "/" + FileName.staging(journal.token, item.directory)
        if try machine.disk.info(staging) == nil { return true }
        // The account's own may have made room for it already.
        if try machine.disk.info("\(root)/\(item.directory)/\(FileName.current)") == nil,
          try isInTrash(item.directory, root)
        {
          return true
        }
      }
    } catch { throw CairnError(error) }
    return false
  }

  private func isInTrash(_ directory: String, _ root: String) throws(DiskError) -> Bool {
    let trash = root + "/" + FileName.trash
    guard try machine.disk.info(trash) != nil else { return false }
    for old in try machine.disk.list(trash)
    where try machine.disk.info("\(trash)/\(old.name)/\(directory)") != nil {
      return true
    }
    return false
  }

  /// What MIGRATION says. One that is damaged says nothing, and keeps no account from going.
  private func migration(in root: String) throws(CairnError) -> MigrationJournal? {
    do throws(CairnError) { return try MigrationJournal.read(root, disk: machine.disk) } catch {
      if error.code == .corrupt || error.code == .needsNewerVersion { return nil }
      throw error
    }
  }

  /// Finishes what a crash interrupted: an unlinking; a linking whose credentials were kept
  /// already; the writing of a file.
  func tidy() throws(CairnError) {
    if !state.withLock({ $0.file.leaving.isEmpty }) { try removeLeaving() }
    if try leftovers(state.withLock { $0.file }).isEmpty { return }
    // Again with the lock: another process may be linking right now.
    try edit { file throws(CairnError) in
      for path in try leftovers(file) {
        do throws(DiskError) { try machine.disk.remove(path) } catch { throw CairnError(error) }
      }
      return nil
    }
  }

  private func leftovers(_ file: AccountsFile) throws(CairnError) -> [String] {
    let hasList = try hasList()
    do throws(DiskError) {
      guard try machine.disk.info(directory) != nil else { return [] }
      var paths = try machine.disk.list(directory).map(\.name).filter(FileName.isTemporary)
        .map { directory + "/" + $0 }
      guard let files = ownSecrets, hasList, try machine.disk.info(files.directory) != nil
      else { return paths }
      let known = Set(file.entries.map(\.id) + file.leaving)
      for entry in try machine.disk.list(files.directory) {
        // What was kept for an account that never came to be.
        let isStranger = FileName.secret(entry.name).map { !known.contains($0) }
        if isStranger ?? FileName.isTemporary(entry.name) {
          paths.append(files.directory + "/" + entry.name)
        }
      }
      return paths
    } catch { throw CairnError(error) }
  }
}
