internal import CairnDisk
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// An app's objects on this device, their records in datastores that sync, and the queue between.
///
/// Objects are values of the app's types in a local datastore of this store's own. Mappings say
/// which of them are records, of what shape, and in which of several datastores; all others stay on
/// this device. What `write` changes is one delta of the local datastore, together with what has to
/// be uploaded because of it and with what the changed fields were before. From there `exchange`
/// carries it into the datastores and their folders, and brings back what other devices did.
/// Changes that meet pending ones are merged, by the rules or by a handler of the app's.
///
/// Reading is possible from any thread at once: `objects(_:)`. All that changes is serial.
public actor ObjectStore {
  /// Called after an upload has failed, on no particular thread, and not while the store is busy.
  public typealias FailureHandler = @Sendable (UploadFailure) async -> Void

  nonisolated let local: Datastore
  nonisolated let remotes: [String: Datastore]
  nonisolated let mappings: [String: ObjectMapping]
  nonisolated let gate: OutboxGate
  nonisolated let version: MappingVersion
  nonisolated let onFailure: FailureHandler?
  /// Of this actor's own work: the datastores' rounds have turns, and threads, of their own.
  nonisolated let turn = ExchangeTurn(onRoundThreads: false)
  nonisolated let background = Lock(ObjectRounds())
  var book: MappingBook
  /// What the first report tells beside its own.
  var foundWhenOpened: [ObjectReport.Unreadable] = []
  /// Sets that have arrived, and of which neither a report nor the failure handler has told.
  var arrivedUntold: [RecordID] = []
  /// Records that could not be merged with what is pending of them, as this version can't read them
  /// or their objects: that is held until they can be, or they change. It is not stored.
  var unreadable: Set<RecordPlace> = []
  /// Set when the objects may not be what the queue says: the store has to be opened anew.
  var failure: CairnError?
  /// By route: why nobody knows whether its datastore has a set that is queued here.
  var doubts: [String: CairnError] = [:]
  /// As long as it lives, no other object store may use the routes' datastores.
  private var claim: ObjectClaim?

  /// Opens the objects, and all that belongs to them.
  ///
  /// What was pending when the app ended is pending again. Where the mappings' version is another
  /// than the last time, all objects are enumerated once; one that can't be read (`badType`,
  /// `illegalArgument`) stays as it is. What is pending of objects without a mapping, or on a route
  /// without a datastore, is held until the store is opened with these.
  ///
  /// - Parameters:
  ///   - manager: A local manager, in which the objects are; they should not be migrated.
  ///   - id: The id of their datastore, which nobody else may open.
  ///   - remotes: Open datastores of accounts, by the names of the routes that lead to them. They
  ///     stay open when the store is closed. Whoever changes mapped tables in them directly is to
  ///     the objects what another device is.
  ///   - mappings: One for each table of objects.
  ///   - version: The version of the mappings.
  ///   - suspendCount: How often uploading is suspended from the start.
  ///   - onFailure: Called after an upload has failed.
  /// - Throws: `invalidOperation` for a manager that is not local or a remote that is;
  ///   `illegalArgument` for a bad name of a route, or two mappings of one table; `alreadyOpen`,
  ///   also if another object store uses one of the datastores; `needsNewerVersion` and `corrupt`
  ///   if what is pending can't be read; what mappings throw; errors of the disk. Nothing is open
  ///   then.
  public static func open(
    in manager: DatastoreManager, id: String = "objects", remotes: [String: Datastore],
    mappings: [ObjectMapping], version: MappingVersion = MappingVersion(""),
    suspendCount: Int = 0, onFailure: FailureHandler? = nil
  ) async throws(CairnError) -> ObjectStore {
    try check(manager, remotes, mappings)
    let local = try manager.openOrCreateDatastore(id)
    do throws(CairnError) {
      let claim = try ObjectStore.claim(remotes, for: local)
      let book = try MappingBook(local.store)
      let store = ObjectStore(
        local, remotes, mappings, version, OutboxGate(suspendCount: suspendCount), onFailure, book)
      await store.keep(claim)
      try await store.start()
      return store
    } catch {
      // The first error says more.
      do throws(CairnError) { try local.close() } catch {}
      throw error
    }
  }

  private init(
    _ local: Datastore, _ remotes: [String: Datastore], _ mappings: [ObjectMapping],
    _ version: MappingVersion, _ gate: OutboxGate, _ onFailure: FailureHandler?,
    _ book: MappingBook
  ) {
    self.local = local
    self.remotes = remotes
    self.mappings = Dictionary(mappings.map { ($0.table, $0) }) { first, _ in first }
    self.version = version
    self.gate = gate
    self.onFailure = onFailure
    self.book = book
  }

  private func keep(_ claim: ObjectClaim) { self.claim = claim }

  /// Two stores would take each other's work for that of other devices, and neither would see all
  /// of it.
  private static func claim(
    _ remotes: [String: Datastore], for local: Datastore
  ) throws(CairnError) -> ObjectClaim {
    let claim = ObjectClaim(objects: local.store)
    for (route, remote) in remotes.sorted(by: { $0.key < $1.key }) {
      let isOurs = remote.blobs.objectClaim.withLock { known in
        if known.claim != nil { return false }
        known.claim = claim
        return true
      }
      if isOurs { continue }
      throw CairnError(
        .alreadyOpen, "another object store uses the datastore \(remote.id) of the route \(route); "
          + "close that one first", id: remote.id)
    }
    return claim
  }

  private static func check(
    _ manager: DatastoreManager, _ remotes: [String: Datastore], _ mappings: [ObjectMapping]
  ) throws(CairnError) {
    guard manager.isLocal else {
      throw CairnError(
        .invalidOperation, "objects are kept on this device: give a manager without an account")
    }
    for (route, remote) in remotes.sorted(by: { $0.key < $1.key }) {
      guard Identifier.isValidRecord(route), !Identifier.isReserved(route) else {
        throw CairnError(
          .illegalArgument,
          "\"\(route)\" can't name a route: 1 to 64 of the characters A-Z a-z 0-9 - . _ + / =",
          id: route)
      }
      if remote.exchanger == nil {
        throw CairnError(
          .invalidOperation,
          "the datastore \(remote.id) of the route \(route) is a local one; it syncs with nobody",
          id: remote.id)
      }
    }
    guard Set(remotes.values).count == remotes.count else {
      throw CairnError(.illegalArgument, "two routes lead to one datastore")
    }
    var tables: Set<String> = []
    var recordTables: Set<String> = []
    for mapping in mappings {
      for table in [mapping.table, mapping.recordTable].compactMap(\.self)
      where !Identifier.isValidTable(table) || Identifier.isReserved(table) {
        throw CairnError(.illegalArgument, "\"\(table)\" can't be a table's id", id: table)
      }
      let isNew = mapping.recordTable.map { recordTables.insert($0).inserted } ?? true
      guard tables.insert(mapping.table).inserted, isNew else {
        throw CairnError(
          .illegalArgument, "two mappings have the table \(mapping.table)", id: mapping.table)
      }
    }
  }

  // MARK: reading

  /// The objects of a type, for reading.
  ///
  /// - Throws: `closed`; `illegalArgument` for a bad table.
  public nonisolated func objects<Object: TableModel>(
    _ type: Object.Type
  ) throws(CairnError) -> ObjectTable<Object> {
    try ObjectTable(local)
  }

  /// Which objects change, as `Datastore.changes` tells it. Those made by other devices come at the
  /// end of the exchange or sync that brought them; tables whose ids begin with a colon are the
  /// store's own. Ends when the store is closed.
  public nonisolated var changes: Updates<DatastoreChange> { local.changes }

  /// Bytes of the changes and objects on this device, by the accounting of `Limits`: the queue is
  /// part of it.
  public nonisolated var size: Int { local.size }

  /// Whether it has not been closed.
  public nonisolated var isOpen: Bool { local.isOpen }

  // MARK: the end

  /// Closes the objects. What is pending stays pending; the routes' datastores stay open. Closing
  /// twice does nothing.
  public func close() throws(CairnError) {
    stopExchanging()
    gate.news.finish()
    claim = nil
    try local.close()
  }

  func checkUsable() throws(CairnError) {
    if let failure { throw failure }
    guard local.isOpen else {
      throw CairnError(.closed, "the object store is closed; open it again", id: local.id)
    }
  }

  // MARK: commits

  /// Makes durable what was done to objects and queue since the last commit. `limits`: for the
  /// queue and all else that is noted; nothing that follows from other devices is refused.
  func commit(limits: CairnMerge.Limits = .unlimited) throws(CairnError) {
    try wrapped { () throws(StoreError) in try book.store(in: local.store, limits: limits) }
    try local.sync()
    noteQueue()
  }

  private func noteQueue() {
    let held = book.outbox.held.count
    gate.note(
      queued: book.outbox.queuedCount - held, held: held, inFlight: book.outbox.inFlightCount)
  }

  /// Takes back what was not committed.
  func rollBack() {
    if failure != nil || !local.isOpen { return }
    do throws(CairnError) {
      try local.rollback()
      book = try MappingBook(local.store)
      // Sets that were taken apart for it may be whole again: the next merge finds it out anew.
      unreadable = []
      noteHeld()
      noteQueue()
    } catch {
      failure = CairnError(
        error.code, "the objects could not be taken back to their last commit (\(error.message)); "
          + "close the object store and open it again", id: local.id)
    }
  }

  /// Runs what changes objects and queue, and takes all of it back if it throws.
  func changing<R>(_ body: () throws(CairnError) -> R) throws(CairnError) -> R {
    try checkUsable()
    do throws(CairnError) { return try body() } catch {
      rollBack()
      throw error
    }
  }

  // MARK: places

  func remote(_ route: String, for object: RowKey) throws(CairnError) -> Datastore {
    if let remote = remotes[route] { return remote }
    throw CairnError(
      .illegalArgument, "the object \(object.id) of the table \(object.table) is routed to "
        + "\"\(route)\", and the object store was opened without such a route", id: route)
  }

  func fields(_ key: RowKey) throws(CairnError) -> ObjectFields? {
    try wrapped { () throws(StoreError) in
      try local.store.fields(table: key.table, id: key.id.name)
    }.map { ObjectFields($0) }
  }

  func record(
    _ route: String, _ table: String, _ id: RecordID
  ) throws(CairnError) -> ObjectFields? {
    guard let remote = remotes[route] else { return nil }
    return try wrapped { () throws(StoreError) in
      try remote.store.fields(table: table, id: id.name)
    }.map { ObjectFields($0) }
  }

  /// What an object's record is to be; nil for one that stays here. One that was attached to a
  /// record stays where that is.
  func shape(
    _ key: RowKey, _ fields: ObjectFields, _ pass: MappingPass = .change
  ) throws(CairnError) -> ShapedObject? {
    guard let mapping = mappings[key.table], book[link: key]?.isDetached != true else { return nil }
    var shaped = try mapping.shape(fields, book.place(key), pass)
    if let route = book[link: key]?.route { shaped?.route = route }
    return shaped
  }
}
