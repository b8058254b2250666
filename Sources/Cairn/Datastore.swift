internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// A datastore: tables of records in memory, durable with `sync()`.
///
/// Changes show at once, on all threads, and are one atomic, durable delta when `sync()` returns;
/// what was not synced is gone after `close()`. Changes of other devices become visible in
/// `sync()` only. All methods may be called from any thread. Those that read or change never wait
/// for the network; they are quick, but read from the disk what is not in memory, and wait for each
/// other. A commit's own sync of the disk holds nobody up. Others do, now and then, since they are
/// made under the lock that reads take: when a part of the log is full and the next one begins,
/// when a snapshot takes the place of the log, or after a sync of the disk that failed.
///
/// The unit is the datastore, not the thread: `sync()` commits and `rollback()` takes back what all
/// threads have changed. Each call that changes something, of several fields of a record too, is in
/// one commit as a whole; several calls of a thread may be parted by another thread's `sync()`.
///
/// An open datastore and its manager hold each other: dropping both frees neither, and the files
/// stay locked until the process ends. Close it, or shut its manager down.
public final class Datastore: Sendable {
  /// Its id: private, or shareable with a leading dot.
  public let id: String
  /// The manager that opened it.
  public let manager: DatastoreManager
  /// How often its id had been deleted when it was created.
  let generation: UInt32
  let store: Store
  /// What lists show of it.
  let info: InfoKeeper
  /// Present if the datastore belongs to an account.
  let exchanger: Exchange?
  /// Present if others can be given access to it.
  let roleNote: RoleNote?
  let observers: DatastoreObservers
  /// The contents of attachments that are here.
  let blobs: BlobStore
  private let background = Lock<BackgroundExchange?>(nil)
  /// Whether there is one: for each commit, which need not take the lock for that.
  private let isInBackground = Atomic<Bool>(false)
  /// For a local datastore, which transfers nothing.
  private let idleGauge = TransferGauge()
  var gauge: TransferGauge { exchanger?.transfers.gauge ?? idleGauge }

  /// - Parameter folder: The account's, made before: this is called with the manager locked, and
  ///   what makes it may ask for that.
  init(
    id: String, generation: UInt32, manager: DatastoreManager, directory: String,
    folder: (any Folder)?
  ) throws(CairnError) {
    self.id = id
    self.generation = generation
    self.manager = manager
    let options = manager.options
    let machine = manager.machine
    let isLinked = !manager.isLocal
    let following = manager.following
    var stored = options.stored
    stored.followed = following?.tables
    let storeOptions = stored
    store = try wrapped { () throws(StoreError) in
      try Store.open(
        directory,
        datastore: DatastoreManager.identity(of: id, generation: generation), isLinked: isLinked,
        options: storeOptions, machine: machine)
    }
    blobs = BlobStore(
      store: directory, machine: machine, isDurable: options.durability != .none,
      limit: options.limits.attachmentBytes)
    blobs.sweep()
    let isShared = isLinked && id.hasPrefix(".") && following == nil
    roleNote =
      isShared ? RoleNote(directory: directory, machine: machine, store: store) : nil
    do throws(CairnError) {
      info = try InfoKeeper(store, machine: machine)
      if let account = manager.account, let folder {
        exchanger = try Exchange(
          store: store, datastoreID: id,
          directory: FileName.directory(datastore: id, generation: generation),
          user: account.user, folder: folder,
          graceMilliseconds: Int64(max(0, min(options.graceSeconds, 1e9)) * 1000),
          massDeleteLimit: options.massDeleteLimit, tuning: options.tuning, machine: machine,
          blobs: (
            blobs,
            BlobExchange.Choice(
              policy: options.attachments,
              graceMilliseconds: options.attachmentGraceMilliseconds,
              trashMilliseconds: options.stored.trashMilliseconds,
              endsEarly: following != nil)
          ), following: following)
        // A new one is in the account's list at once, empty.
        info.notePublished(store.published)
      } else {
        exchanger = nil
      }
    } catch {
      // The store's own error would hide why it could not be opened.
      do throws(StoreError) { try store.close() } catch {}
      throw error
    }
    observers = DatastoreObservers(store, exchanger?.condition)
    do throws(CairnError) { try limitAccess() } catch {
      // Likewise.
      do throws(StoreError) { try store.close() } catch {}
      throw error
    }
  }

  /// Whether a text may be the id of a datastore, private or shareable.
  public static func isValidId(_ id: String) -> Bool { Identifier.isValidDatastore(id) }
  /// Whether a text may be a shareable id: a dot, then 1 to 63 of `A–Z a–z 0–9 - _`.
  public static func isValidShareableId(_ id: String) -> Bool { Identifier.isValidShareable(id) }

  /// Whether it has not been closed.
  public var isOpen: Bool { !store.isClosed }
  /// Whether it is somebody else's, which a ``DatastoreFollower`` brings here: every change of it
  /// throws `readOnly`.
  public var isFollowed: Bool { exchanger?.following != nil }
  /// Whether others can be given access: its id starts with a dot.
  public var isShareable: Bool { id.hasPrefix(".") }
  /// This device's name in the datastore: 16 hex digits. Another one after a `sync()` that says so
  /// (`SyncResult.newDevice`).
  public var device: String { store.device.description }
  /// What opening had to mend, in words; empty after a clean close.
  public var recoveryNotes: [String] {
    store.recovery.map { "\($0.path) at offset \($0.offset): \($0.message)" }
  }

  // MARK: contents

  /// A table by id; it need not have records yet.
  public func table(_ id: String) throws(CairnError) -> Table {
    guard Identifier.isValidTable(id) else {
      throw CairnError(
        .illegalArgument,
        "\"\(id)\" can't be a table's id: 1 to 64 of the characters A-Z a-z 0-9 - . _ + / =",
        id: id)
    }
    if Identifier.isReserved(id) {
      throw CairnError(
        .illegalArgument, "tables whose ids start with \":\" are the library's own", id: id)
    }
    try checkUsable(id)
    return Table(datastore: self, id: id)
  }

  /// The tables that have records, sorted by id.
  public func tables() throws(CairnError) -> [Table] {
    try wrapped { () throws(StoreError) in try store.tables() }.map {
      Table(datastore: self, id: $0.name)
    }
  }

  /// Size by the accounting of `Limits`: 1000, and the sizes of the records in `recordCount`.
  public var size: Int { store.totals.size }
  /// Records of all tables but the library's `:rules` and `:cuts`; its `:info` and `:acl` count.
  public var recordCount: Int { store.totals.records }
  /// What the changes since the last sync count with; 0 if there are none.
  public var unsyncedChangesSize: Int { store.totals.pending }

  /// When changes were last committed here or, if later, on the device that they came from; nil
  /// for a datastore in which nothing ever was.
  ///
  /// It is the time of the newest delta: a `sync()` that commits sets it to now; one that
  /// incorporates, to when the newest of those changes were committed over there. So it costs no
  /// write and no record, is the same after reopening, and the same on all devices that have the
  /// same changes. By a clock that is ahead, it may be in the future.
  public var mtime: Timestamp? {
    store.modified.map(Timestamp.init(millisecondsSince1970:))
  }


  /// A name for people, nil if it has none. Synced like data.
  public var title: String? {
    get throws(CairnError) {
      let value = try wrapped { () throws(StoreError) in
        try store.value(
          table: StoreSummary.infoTable, id: StoreSummary.infoRecord,
          field: StoreSummary.titleField)
      }
      if case .string(let title) = value { return title }
      return nil
    }
  }

  /// Sets the title, or removes it with nil. Like any change it needs a `sync()`.
  public func setTitle(_ title: String?) throws(CairnError) {
    try wrapped { () throws(StoreError) in
      try store.set(
        table: StoreSummary.infoTable, id: StoreSummary.infoRecord,
        field: StoreSummary.titleField, title.map(FieldValue.string))
    }
  }

  /// Sets the rule for fields that have none of their own, on all devices. Initially `remote`.
  ///
  /// The title goes by it, too; roles do not. A migration keeps the account's title whatever the
  /// rule is.
  public func setDefaultRule(_ rule: ResolutionRule) throws(CairnError) {
    try wrapped { () throws(StoreError) in try store.setDefaultRule(rule.stored) }
  }

  // MARK: commits

  /// Commits local changes as one atomic, durable delta, then makes visible what an exchange has
  /// fetched from other devices. Never waits for a network. While much is written at once, it waits
  /// for the compaction that runs beside: for seconds where a datastore has millions of records.
  ///
  /// The commit has all that any thread has changed until then, whoever calls it: a thread that is
  /// half done with several calls has the first of them in it. To have several changes committed
  /// together, make them by one call (`Record.update(_:)`), or sync only where none are half made:
  /// on one actor, or under a lock of the app's.
  ///
  /// What other devices delete beyond `Options.massDeleteLimit` is not taken: what those devices
  /// sent waits, and `massDelete` of the result and of `status` says so.
  ///
  /// - Parameter allowingMassDelete: Take it however much it deletes, what waits among it.
  /// - Throws: `diskSpace` and other errors of the disk. Local changes are then all committed, and
  ///   `unsyncedChangesSize` is 0, or none of them are, and they are there for another try. What
  ///   was committed or made visible before the error stays so; unless the datastore is closed
  ///   first, the result of the next `sync()` that does not throw tells what had come from others,
  ///   too. `syncFailed`: the disk took the changes but not its oath; close the datastore and open
  ///   it again. `sizeLimit`: deletes, which no limit refuses, are more than one commit can hold,
  ///   some four million of them; nothing is committed: sync in between.
  @discardableResult
  public func sync(allowingMassDelete: Bool = false) throws(CairnError) -> SyncResult {
    // Also if it throws half-way: some of it is visible then.
    defer { observers.tell(remote: true) }
    guard let exchanger, !exchanger.hasNothingForSync else { return try commit() }
    let outcome: SyncOutcome
    do throws(CairnError) {
      outcome = try exchanger.sync(allowingMassDelete: allowingMassDelete)
    } catch {
      let done = exchanger.lastUntold
      note(done?.summary, hasNews: done?.committed != nil)
      throw error
    }
    note(outcome.summary, hasNews: outcome.committed != nil || outcome.newDevice != nil)
    var result = SyncResult(
      committed: outcome.committed != nil, incorporated: outcome.appliedCount,
      newDevice: outcome.newDevice?.description, massDelete: exchanger.condition.massDelete)
    if !outcome.changed.isEmpty || !outcome.conflicts.isEmpty || outcome.arrived != nil {
      result.add(outcome) { [store] table, field in
        ResolutionRule(store.rule(table: table, field: field))
      }
    }
    return result
  }

  /// A sync while nothing of other devices waits: the rule where somebody types, and spared all
  /// that is said of them.
  private func commit() throws(CairnError) -> SyncResult {
    let done: (dot: Dot?, hasSummary: Bool)
    do throws(StoreError) { done = try store.commit() } catch { throw CairnError(error) }
    note(hasNews: done.dot != nil)
    if done.hasSummary { note(store.takeSummary()) }
    return SyncResult(committed: done.dot != nil)
  }

  /// What every sync leads to. `hasNews`: there is something for other devices.
  private func note(_ summary: StoreSummary?, hasNews: Bool) {
    note(hasNews: hasNews)
    note(summary)
  }

  private func note(hasNews: Bool) {
    roleNote?.note(effectiveRole)
    if hasNews, isInBackground.load(ordering: .acquiring) { background.withLock { $0?.hint() } }
  }

  private func note(_ summary: StoreSummary?) {
    if let summary, info.note(summary, published: exchanger == nil ? nil : store.published) {
      manager.noteList()
    }
  }

  /// Takes back everything that was changed since the last sync, by all threads: also what another
  /// one has changed and means to commit.
  public func rollback() throws(CairnError) {
    try wrapped { () throws(StoreError) in try store.rollBack() }
  }

  /// Closes the datastore. Changes since the last sync are discarded; closing twice does nothing.
  ///
  /// Not for the main thread of an app: it waits for a compaction that is under way, and may fold
  /// the log into a new snapshot first, so that the next opening is quick. That takes as long as
  /// `compact()`, seconds where there are millions of records. Without it the datastore is never
  /// freed and stays locked: its manager holds it.
  ///
  /// - Throws: Errors of the disk, `syncFailed` among them. It is closed all the same.
  public func close() throws(CairnError) {
    stopExchanging()
    manager.forget(self)
    // While the files are still ours.
    let failure = store.isClosed ? nil : info.save()
    observers.keepStatus()
    // Roles that were not synced say nothing of what the user may do the next time.
    roleNote?.note(Role(store.accessLevelAtClose))
    defer {
      // Not before: rounds that are cut short see a datastore that is closed.
      exchanger?.cancel()
      // One may have begun to put the store together anew while this one closed.
      exchanger?.stopRejoining(isForNow: true)
      observers.finish()
      gauge.finish()
    }
    exchanger?.stopRejoining(isForNow: true)
    exchanger?.following?.end()
    try wrapped { () throws(StoreError) in
      do throws(StoreError) { try store.close() } catch {
        // A disk tells of a failed sync once, and it says where.
        throw failure?.kind == .syncFailed ? failure ?? error : error
      }
    }
    if store.ending?.kind == .deleted {
      // What nobody can have meant to delete may be in the list again.
      defer { manager.noteList() }
      _ = try manager.sweep()
    }
  }

  /// Another device has deleted the datastore: every use of it throws `deleted` from now on, and
  /// `status.needsReset` is set. It stays open, and keeps its lock, until it is closed; then its
  /// files go to the trash. Returns false if that is known already.
  @discardableResult
  func markDeleted() -> Bool {
    if store.ending != nil { return false }
    store.end(
      StoreError(
        .deleted, "the datastore \(id) was deleted on another device; close it. Created again, it "
          + "is another one", id: id))
    stopExchanging()
    observers.tellStatus()
    observers.finishChanges()
    return true
  }

  private func checkUsable(_ id: String) throws(CairnError) {
    guard var ending = store.ending else { return }
    ending.id = id
    throw CairnError(ending)
  }

  // MARK: exchange

  /// One round with the account's folder: publishes what is committed, fetches what is new. What
  /// was fetched becomes visible in the next `sync()`.
  ///
  /// Rounds run one at a time, in the order in which they were asked for.
  ///
  /// - Throws: `invalidOperation` for a local datastore; errors of the folder. Damaged, foreign or
  ///   missing files are no errors: the report names them. `cancelled` if the task is: at once, and
  ///   nothing was done, while this waits for another round; otherwise as soon as a request to a
  ///   server has ended for it, and what has come or gone until then stays so. A directory is gone
  ///   on with to the end of the round.
  @discardableResult
  public func exchange() async throws(CairnError) -> ExchangeReport {
    guard let exchanger else {
      throw CairnError(
        .invalidOperation, "\(id) is a local datastore; it has no folder to exchange with", id: id)
    }
    let report = try await exchanger.run()
    if !store.isClosed { info.notePublished(store.published) }
    return report
  }

  /// One thorough round with the account's folder: besides what `exchange()` does, reads every file
  /// that this device has published, and puts back what is missing or damaged: from the log, or, if
  /// that does not have it any more, in a snapshot that other devices join with what they have.
  ///
  /// Rounds put back missing files by themselves, after they were missing for a while; damage is
  /// found by this only. What the folder has lost of other devices' files, and is here, is
  /// published in a snapshot at once, and not only after they have had the time to do it. Takes as
  /// long as reading all of the own files in the folder.
  ///
  /// - Parameter dryRun: Look into the own files, contents of attachments left out, and fetch what
  ///   is new; write nothing into the folder.
  /// - Throws: `invalidOperation` for a local datastore; `notFound` for a dry run with a folder in
  ///   which nobody has exchanged; `cancelled` as for `exchange()`; errors of the folder and of the
  ///   disk.
  @discardableResult
  public func repairFolder(dryRun: Bool = false) async throws(CairnError) -> FolderRepair {
    guard let exchanger else {
      throw CairnError(
        .invalidOperation, "\(id) is a local datastore; it has no folder to repair", id: id)
    }
    try checkNotFollowed("repair the folder of")
    let result = try await exchanger.repair(dryRun: dryRun)
    if !store.isClosed { info.notePublished(store.published) }
    return result
  }

  /// Exchanges in the background from now on: at once, after each commit, when the folder changes,
  /// and at intervals that grow while nothing happens.
  ///
  /// That the folder has changed is seen on Linux, where it is a directory and something on this
  /// computer changes it: a sync engine, another process. On macOS, and with servers and what other
  /// computers do in a directory of the network, it is the clock that looks
  /// (`Options.pollSeconds`).
  ///
  /// - Parameter onReport: Called after each round, on no particular thread, with the report or the
  ///   error. If it exchanges in the background already, this one takes the place of the one
  ///   before; without one that goes on being called.
  public func startExchanging(
    onReport: (@Sendable (Result<ExchangeReport, CairnError>) -> Void)? = nil
  ) throws(CairnError) {
    guard let exchanger else {
      throw CairnError(
        .invalidOperation, "\(id) is a local datastore; it has no folder to exchange with", id: id)
    }
    try checkUsable(id)
    defer { exchanger.condition.tell() }
    let earlier = background.withLock { running -> BackgroundExchange? in
      exchanger.condition.set { $0.isInBackground = true }
      if let running { return running }
      running = BackgroundExchange(
        exchanger, pollSeconds: manager.options.pollSeconds,
        isOver: { [weak self] in self?.store.isOpen != true },
        round: { [weak self] () async throws(CairnError) in
          guard let self else { throw CairnError(.closed, "the datastore is gone") }
          return try await exchange()
        }, onReport: onReport)
      isInBackground.store(true, ordering: .releasing)
      return nil
    }
    earlier?.reports.replace(with: onReport)
  }

  /// Ends what `startExchanging` began. A round that is under way ends by itself; requests of it to
  /// a server are cancelled.
  public func stopExchanging() {
    // What the app's handler holds goes after this, and not under the lock.
    let ended = background.withLock { running -> BackgroundExchange? in
      exchanger?.condition.set { $0.isInBackground = false }
      isInBackground.store(false, ordering: .releasing)
      return running.take()
    }
    ended?.stop()
    exchanger?.condition.tell()
  }

  // MARK: upkeep

  /// Folds the log into a new snapshot now. Happens by itself in the background otherwise.
  @discardableResult
  public func compact() throws(CairnError) -> CompactionReport {
    let outcome = try wrapped { () throws(StoreError) in try store.compact() }
    return CompactionReport(
      bytesBefore: outcome.bytesBefore, bytesAfter: outcome.bytesAfter, records: outcome.records)
  }
}

/// What a compaction did.
public struct CompactionReport: Hashable, Sendable {
  /// Bytes of all files before.
  public var bytesBefore: UInt64
  /// Bytes of all files after.
  public var bytesAfter: UInt64
  /// Records that the snapshot holds.
  public var records: Int
}

extension Datastore: Hashable {
  public static func == (a: Datastore, b: Datastore) -> Bool { a === b }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
