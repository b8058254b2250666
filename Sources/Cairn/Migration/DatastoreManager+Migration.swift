internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

extension DatastoreManager {
  /// Moves all local datastores to an account: their contents become changes of the account's
  /// datastores of the same ids, which the next exchange publishes. After that this manager is
  /// empty and shut down.
  ///
  /// Records, rules and titles come along under their ids. What other devices have is merged when
  /// it is fetched: records of the same id as two inserts of it are. Where the account has a copy
  /// on this device already, fields that only one side has are kept from both, and a field that
  /// both have goes by its rule, with the account's value as the remote one; the report lists what
  /// lost. Limits are not enforced. It takes as long as writing everything anew.
  ///
  /// Roles that were prepared here bind from now on: the account's user becomes the owner of a
  /// datastore with a shareable id that has a list of roles, or that `createDatastore()` has made
  /// here, unless the account's copy on this device has an owner.
  ///
  /// It happens as a whole or not at all, also if the app is ended on the way: whoever uses one of
  /// the two roots next takes it back or completes it.
  ///
  /// - Throws: `invalidOperation` if this manager is not local or the other has no account;
  ///   `alreadyOpen` if a datastore of either is open, `retryLater` if another process moves
  ///   datastores of one of the roots or creates some there meanwhile, `corrupt` if a datastore has
  ///   to be repaired first: nothing is changed then; `shutdown` if either was shut down, or the
  ///   account is unlinked meanwhile: the local datastores stay; errors of the disk.
  @discardableResult
  public func migrate(to target: DatastoreManager) throws(CairnError) -> MigrationReport {
    guard isLocal, !target.isLocal else {
      throw CairnError(
        .invalidOperation, "datastores are moved from a local manager to one of an account")
    }
    guard PathName.absolute(root) != PathName.absolute(target.root) else {
      throw CairnError(
        .invalidOperation, "local datastores and those of an account need roots of their own",
        file: root)
    }
    try target.checkNotFollowing()
    for manager in [self, target] { try manager.checkNoFollower() }
    if isShutDown || target.isShutDown { throw DatastoreManager.shutDownError }
    try target.checkRoot()
    let report: MigrationReport
    do throws(CairnError) { report = try moveAll(to: target) } catch {
      // One before it may have been completed all the same.
      for manager in [self, target] { manager.noteList() }
      target.leaveIfUnlinked()
      throw error
    }
    listChanges.finish()
    target.noteList()
    return report
  }

  /// Gives its locks back before anybody is told: who is told may ask a manager, which takes them.
  private func moveAll(to target: DatastoreManager) throws(CairnError) -> MigrationReport {
    var report = MigrationReport()
    var locks = MigrationLocks(machine: machine)
    defer { locks.release() }
    try locks.take(root)
    try target.makeRoot()
    try locks.take(target.root)
    report.hasCompletedEarlier = try settleMigration(target: target, &locks)
    try locked { (own: inout State) throws(CairnError) in
      try target.locked { (other: inout State) throws(CairnError) in
        try requireClosed(own)
        try target.requireClosed(other)
        report.datastores = try move(to: target, &locks)
        trash.purge(isLocked: true)
        own.isShutDown = true
      }
    }
    return report
  }

  private func requireClosed(_ state: State) throws(CairnError) {
    guard let open = state.open.values.first(where: \.isOpen) else { return }
    throw CairnError(
      .alreadyOpen, "\(open.id) is open; close all datastores before they are moved", id: open.id)
  }

  private func makeRoot() throws(CairnError) {
    do throws(DiskError) {
      if try machine.disk.info(root) != nil { return }
    } catch { throw CairnError(error) }
    try requireLinked()
    do { try machine.disk.createDirectory(root) } catch { throw CairnError(error) }
  }

  /// For who may hold locks, so the account manager does not look.
  private func requireLinked() throws(CairnError) {
    if accountRoot?.isUnlinked == true { throw DatastoreManager.shutDownError }
  }

  /// What was staged is the account's from now on. Somebody may have unlinked it while that was
  /// put together, and would remove it, or nobody would ever find it.
  private func decide(_ journal: MigrationJournal) throws(CairnError) {
    try requireLinked()
    try journal.write(root, machine: machine)
    // Who unlinks it from now on finds the journal; who did so before this has found none.
    do throws(CairnError) { try requireLinked() } catch {
      try MigrationJournal.remove(root, disk: machine.disk)
      throw error
    }
  }

  /// The account is going, and a journal in it could not be taken back. Nothing is completed then:
  /// who unlinks it finds that, and takes the move back.
  private func isGoing() throws(CairnError) -> Bool {
    guard accountRoot?.isUnlinked == true else { return false }
    return try MigrationJournal.read(root, disk: machine.disk)?.isTarget == true
  }

  /// A root that was made anew after its account had gone would stay for good. Best effort, for who
  /// holds no lock: the account manager looks, and shuts this one down.
  private func leaveIfUnlinked() {
    guard let accountRoot, accountRoot.isUnlinked else { return }
    if accountRoot.isForgotten {
      do throws(DiskError) {
        let isBare = try machine.disk.list(root).allSatisfy {
          $0.name == FileName.migrationLock || FileName.isTemporary($0.name)
        }
        if isBare { try machine.disk.removeTree(root) }
      } catch {}
    }
    accountRoot.look()
  }

  private func move(
    to target: DatastoreManager, _ held: inout MigrationLocks
  ) throws(CairnError) -> [MigrationReport.Moved] {
    // It is no copy, and would be left behind without a word.
    for place in try places() {
      try LostCurrent.check(root + "/" + place.directory, id: place.id, disk: machine.disk)
    }
    let copies = try copies().sorted { $0.id < $1.id }
    if copies.isEmpty { return [] }
    if let other = try target.unfinishedMigration()?.other {
      throw CairnError(
        .invalidOperation,
        "what was moved from \(other) to \(target.root) may still be there, too: use its manager "
          + "once, or migrate(to:) again from where it is now, before anything else is moved",
        file: target.root + "/" + FileName.journal)
    }
    let token = machine.random.next()
    let staging = MigrationStaging(root: target.root, token: token, machine: machine)
    let intent = MigrationJournal(
      flags: 0, token: token, other: PathName.absolute(target.root),
      items: copies.map { MigrationJournal.Item(directory: $0.directory, source: "") })
    var sources: [Store] = []
    var locks: [any DiskLock] = []
    var moved: [MigrationReport.Moved] = []
    var items: [MigrationJournal.Item] = []
    // Places of which nothing can be locked.
    var empty: [String] = []
    defer { for lock in locks { lock.unlock() } }
    do throws(CairnError) {
      for copy in copies { sources.append(try source(copy)) }
      try intent.write(root, machine: machine)
      for (copy, source) in zip(copies, sources) {
        let generation = try target.generation(of: copy.id)
        let name = FileName.directory(datastore: copy.id, generation: generation)
        if let lock = try target.lockPlace(name, id: copy.id) {
          locks.append(lock)
        } else {
          empty.append(name)
        }
        moved.append(
          try staging.stage(
            source, id: copy.id, generation: generation, for: target.accessPolicy))
        items.append(MigrationJournal.Item(directory: name, source: ""))
      }
      let journal = MigrationJournal(
        flags: MigrationJournal.flagTarget, token: token, other: PathName.absolute(root),
        items: items)
      for name in empty where try target.isThere(target.root + "/" + name) {
        throw CairnError(
          .retryLater, "\(name) was created in \(target.root) while datastores were moved there; "
            + "move them again", file: target.root + "/" + name)
      }
      try target.requireStaged(items, token)
      try target.decide(journal)
    } catch {
      for store in sources { do throws(StoreError) { try store.close() } catch {} }
      for lock in locks { lock.unlock() }
      // What can't be cleared up now is the next time. It may have been just the last step's
      // answer that failed.
      do throws(CairnError) {
        if try !target.isGoing(), try settleMigration(target: target, &held) { return moved }
      } catch {}
      throw error
    }
    for store in sources { do throws(StoreError) { try store.close() } catch {} }
    for lock in locks { lock.unlock() }
    _ = try settleMigration(target: target, &held)
    return moved
  }

  /// Once the journal is there, what is not staged counts as being in its place, and what it was
  /// made of goes.
  private func requireStaged(
    _ items: [MigrationJournal.Item], _ token: UInt64
  ) throws(CairnError) {
    for item in items {
      let staged = root + "/" + FileName.staging(token, item.directory)
      if try isThere(staged) { continue }
      throw CairnError(
        .retryLater, "\(staged) was removed while datastores were moved there; move them again",
        file: staged)
    }
  }

  func source(_ copy: Copy) throws(CairnError) -> Store {
    try wrapped { () throws(StoreError) in
      try Store.open(
        root + "/" + copy.directory,
        datastore: DatastoreManager.identity(of: copy.id, generation: copy.generation),
        isLinked: !isLocal, options: MigrationStaging.options, machine: machine)
    }
  }

  func lockPlace(_ name: String, id: String) throws(CairnError) -> (any DiskLock)? {
    guard try isThere(root + "/" + name) else { return nil }
    do { return try machine.disk.lock(root + "/" + name + "/" + FileName.lock) } catch {
      if error.reason == .locked {
        throw CairnError(.alreadyOpen, "\(id) of the account is open; close it first", id: id)
      }
      throw CairnError(error)
    }
  }

  // MARK: after an interruption

  /// Completes or takes back a migration that was interrupted. One look at the disk if there is
  /// none, as nearly always. For who holds no lock, as it tells those who watch the list.
  ///
  /// - Throws: `retryLater` while one is under way.
  func settleMigration() throws(CairnError) {
    if try MigrationJournal.read(root, disk: machine.disk) == nil { return }
    if try settleAlone() { noteList() }
  }

  /// Returns whether one was completed. Who is told of that may ask the manager, and would meet
  /// the locks that this gives back.
  private func settleAlone() throws(CairnError) -> Bool {
    var locks = MigrationLocks(machine: machine)
    defer { locks.release() }
    try locks.take(root)
    return try settleMigration(target: nil, &locks)
  }

  /// The same for who has the locks of this root and of the target's. Returns whether a migration
  /// was completed: one of which only the other root has still to be told was so before.
  @discardableResult
  func settleMigration(
    target: DatastoreManager?, _ locks: inout MigrationLocks
  ) throws(CairnError) -> Bool {
    if let target { _ = try target.settleMigration(target: nil, &locks) }
    guard let journal = try MigrationJournal.read(root, disk: machine.disk) else { return false }
    if journal.isTarget {
      try complete(journal)
      return !journal.isInstalled
    }
    return try settle(journal, target: target, &locks)
  }

  /// Everything is staged in this root: it goes into its places.
  private func complete(_ journal: MigrationJournal) throws(CairnError) {
    if journal.isInstalled { return try forget(journal) }
    // Who wrote it may have been killed before its name was durable, or the sync of that failed:
    // then no later one can ever be trusted.
    try settleName(of: journal, in: root)
    let staging = MigrationStaging(root: root, token: journal.token, machine: machine)
    for item in journal.items { try staging.install(item) }
    if journal.other.isEmpty { return try MigrationJournal.remove(root, disk: machine.disk) }
    // Kept for the other root, which has to be told.
    var done = journal
    done.flags |= MigrationJournal.flagInstalled
    do throws(CairnError) { try done.write(root, machine: machine) } catch {
      // All is in its place, and the next use notes it: till there is room this one can go on.
      guard error.code == .diskSpace else { throw error }
    }
  }

  private func settleName(
    of journal: MigrationJournal, in root: String
  ) throws(CairnError) {
    do throws(CairnError) { try journal.write(root, machine: machine) } catch {
      // What comes next makes room.
      guard error.code == .diskSpace else { throw error }
      do { try machine.disk.syncDirectory(root) } catch { throw CairnError(error) }
    }
  }

  /// Everything is in its place: the file goes once the other root has been told.
  private func forget(_ journal: MigrationJournal) throws(CairnError) {
    guard try isAnything(at: journal.other),
      try MigrationJournal.read(journal.other, disk: machine.disk)?.token != journal.token
    else { return }
    try MigrationJournal.remove(root, disk: machine.disk)
  }

  /// Throws where MIGRATION must not be written over: if nothing here said any more that datastores
  /// were moved, the root that they came from would take them back, and have them moved once more.
  func checkNothingMoves(_ id: String) throws(CairnError) {
    guard let journal = try unfinishedMigration() else { return }
    let why =
      journal.isInstalled
      ? "datastores were moved here from \(journal.other), which has not been told: use its "
        + "manager once, or migrate(to:) again from where it is now, and try again after that"
      : "datastores are being moved in \(root); try again after that"
    throw CairnError(.retryLater, why, file: root + "/" + FileName.journal, id: id)
  }

  /// What MIGRATION says, unless nobody needs it any more.
  func unfinishedMigration() throws(CairnError) -> MigrationJournal? {
    guard let journal = try MigrationJournal.read(root, disk: machine.disk) else { return nil }
    if journal.isInstalled, try journal.origin(machine.disk) == .gone { return nil }
    return journal
  }

  private func isAnything(at path: String) throws(CairnError) -> Bool {
    do { return try machine.disk.info(path) != nil } catch { throw CairnError(error) }
  }

  /// This root's datastores may have been moved: the other root knows.
  private func settle(
    _ journal: MigrationJournal, target: DatastoreManager?, _ locks: inout MigrationLocks
  ) throws(CairnError) -> Bool {
    var roots = [journal.other]
    // Roots may have been moved as well.
    if let target, target.root != journal.other { roots.append(target.root) }
    var isAnyThere = false
    for other in roots {
      guard try isAnything(at: other) else { continue }
      isAnyThere = true
      try locks.take(other)
      guard let found = try MigrationJournal.read(other, disk: machine.disk), found.isTarget,
        found.token == journal.token
      else { continue }
      // The data is there, in its place or beside it; now it is for good.
      try settleName(of: found, in: other)
      // Also what is left of one that could not be renamed and was being removed when somebody was
      // killed.
      for item in journal.items where try isAnything(at: root + "/" + item.directory) {
        try trash.destroy(item.directory)
      }
      // Some may have been taken away by who was killed before that was durable: they must not come
      // back once nothing here says any more that they were moved.
      do { try machine.disk.syncDirectory(root) } catch { throw CairnError(error) }
      try MigrationJournal.remove(root, disk: machine.disk)
      if found.isInstalled { try MigrationJournal.remove(other, disk: machine.disk) }
      return true
    }
    // Its root was removed, as that of an account that was unlinked: nobody completes it any more.
    let isGone = try journal.origin(machine.disk) == .gone
    guard isAnyThere || target != nil || isGone else {
      throw CairnError(
        .notFound,
        "the datastores in \(root) were being moved to \(journal.other), which is not there any "
          + "more; call migrate(to:) with the account's manager to complete it or to begin anew",
        file: root + "/" + FileName.journal)
    }
    for other in roots {
      try MigrationStaging(root: other, token: journal.token, machine: machine).discard()
    }
    try MigrationJournal.remove(root, disk: machine.disk)
    return false
  }
}
