internal import CairnDisk
internal import CairnLog
internal import CairnStore

extension DatastoreManager {
  /// What can be said of a copy of a generation that is over.
  enum Rescue {
    case rescued
    /// It is no such copy.
    case none
    /// Something is in use, or has to be repaired first: not just now.
    case later
  }

  /// A copy of a generation that is over, of which nothing was ever exchanged, has what nobody can
  /// have meant to delete: what a new device wrote before it first heard of the account's others.
  /// It becomes a part of the datastore's present generation.
  func rescue(_ copy: Copy, generation: UInt32) throws(CairnError) -> Rescue {
    let published = root + "/" + copy.directory + "/" + FileName.publication
    do throws(DiskError) {
      if try machine.disk.info(published) != nil { return .none }
    } catch { throw CairnError(error) }
    do throws(CairnError) {
      // Opening is locked out meanwhile.
      return try locked { (state: inout State) throws(CairnError) in
        if state.open[copy.id]?.isOpen == true { return .later }
        var locks = MigrationLocks(machine: machine)
        defer { locks.release() }
        try locks.take(root)
        if try unfinishedMigration() != nil { return .later }
        // Another process may have been faster.
        guard try isThere(root + "/" + copy.directory) else { return .later }
        return try rescueLocked(copy, generation, &locks)
      }
    } catch {
      if error.code == .alreadyOpen || error.code == .retryLater { return .later }
      throw error
    }
  }

  private func rescueLocked(
    _ copy: Copy, _ generation: UInt32, _ locks: inout MigrationLocks
  ) throws(CairnError) -> Rescue {
    let source: Store
    do throws(CairnError) { source = try self.source(copy) } catch {
      if error.code == .corrupt { return .none }
      throw error
    }
    let isRescued: Bool
    do throws(CairnError) {
      isRescued = try prepare(source, copy, generation)
    } catch {
      do throws(StoreError) { try source.close() } catch {}
      // What is in its place has to be repaired, and says so when it is opened: this waits for
      // that, and nothing else does.
      if error.code == .corrupt { return .later }
      throw error
    }
    try wrapped { () throws(StoreError) in try source.close() }
    guard isRescued else { return .none }
    try settleMigration(target: nil, &locks)
    return .rescued
  }

  private func prepare(
    _ source: Store, _ copy: Copy, _ generation: UInt32
  ) throws(CairnError) -> Bool {
    guard source.isOwnOnly, !source.isBlank else { return false }
    let name = FileName.directory(datastore: copy.id, generation: generation)
    let lock = try lockPlace(name, id: copy.id)
    defer { lock?.unlock() }
    let token = machine.random.next()
    let staging = MigrationStaging(root: root, token: token, machine: machine)
    do throws(CairnError) {
      _ = try staging.stage(source, id: copy.id, generation: generation)
      let item = MigrationJournal.Item(directory: name, source: copy.directory)
      try MigrationJournal(
        flags: MigrationJournal.flagTarget, token: token, other: "", items: [item]
      ).write(root, machine: machine)
    } catch {
      staging.discardUnlessDecided()
      throw error
    }
    return true
  }
}
