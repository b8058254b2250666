internal import CairnMerge
internal import CairnStore

/// Changes of the app's.
extension ObjectStore {
  /// Changes objects: all that the closure does, or nothing if it throws.
  ///
  /// When it returns, the objects, what has to be uploaded because of them, and what changed fields
  /// were before are durable as one delta. What differs from before is found out by mapping each
  /// object that was touched as it was and as it is: a change set for each route that is concerned.
  ///
  /// The closure runs inside of the store: it should do nothing but use its argument.
  ///
  /// - Throws: what the closure throws; what mappings throw; `illegalArgument` if a mapping names a
  ///   route that does not exist; `exists` for an object that would become a record which another
  ///   one is attached to; errors of limits and of the disk, as `Datastore.sync`: also `syncFailed`
  ///   of a route's datastore, if that can't say whether it has a set of the queue.
  @discardableResult
  public func write<Result: Sendable>(
    _ body: @Sendable (inout ObjectTransaction) throws(CairnError) -> Result
  ) throws(CairnError) -> Result {
    settleDoubts()
    let result = try changing { () throws(CairnError) in
      var transaction = ObjectTransaction(local, tables: Set(mappings.keys))
      let size = local.size
      let result = try body(&transaction)
      let limits = queueLimits(grown: local.size > size)
      try record(transaction.touched, transaction.ties)
      try commit(limits: limits)
      return result
    }
    if gate.status.queued > 0 { hint() }
    return result
  }

  /// What the queue may take. A write that makes the objects no larger is not what a limit refuses:
  /// who is beyond one deletes something, which takes room in the queue until it is uploaded.
  private func queueLimits(grown: Bool) -> CairnMerge.Limits {
    let limits = local.store.options.limits
    if grown { return limits }
    var rest = CairnMerge.Limits.unlimited
    rest.deltaBytes = limits.deltaBytes
    return rest
  }

  private func record(
    _ touched: [RowKey: ObjectFields?], _ ties: [RowKey: ObjectTransaction.Tie]
  ) throws(CairnError) {
    var sets = BatchNames()
    var placed: [(key: RowKey, address: MappingBook.Address)] = []
    func isLate(_ key: RowKey) -> Bool {
      if case .attach? = ties[key] { true } else { false }
    }
    // First what lets go of a record that another object is attached to in the same write.
    let order = touched.sorted { $0.key < $1.key }
    for (key, before) in order.filter({ !isLate($0.key) }) + order.filter({ isLate($0.key) }) {
      let after = try fields(key)
      if let tie = ties[key] {
        try self.tie(key, after, tie, &sets)
      } else if before != after {
        if let address = try note(key, from: before, to: after, &sets) {
          placed.append((key, address))
        }
      }
    }
    // Not before: another object may have let go of the record in the same write.
    for (key, address) in placed { try checkUnattached(key, address) }
  }

  /// The sets of one commit, made when they are needed.
  struct BatchNames {
    private var numbers: [String: UInt64] = [:]
    /// What they take when they are uploaded, as far as it was counted, on all routes together.
    private var size = 0

    /// Before values are queued that the objects had already: the local delta has only the names of
    /// their fields then. Other sets begin where these would grow too large to be uploaded.
    mutating func makeRoom(for values: some Sequence<FieldValue?>, upTo most: Int) {
      let more = values.reduce(Sizes.change) { $0 + Sizes.field($1) }
      if size > 0, size + more > most { self = BatchNames() }
      size += more
    }

    mutating func number(_ route: String, _ outbox: inout OutboxBook) -> UInt64 {
      // One that nothing came into is dropped when the book is stored.
      if let known = numbers[route], outbox.batches[known] != nil { return known }
      let number = outbox.begin(route, id: .random())
      numbers[route] = number
      return number
    }
  }

  /// Queues what a change of an object means for its record. Returns where that is, or is to be;
  /// nil if there is none.
  private func note(
    _ key: RowKey, from before: ObjectFields?, to after: ObjectFields?, _ sets: inout BatchNames
  ) throws(CairnError) -> MappingBook.Address? {
    if book[link: key]?.isDetached == true {
      // Also while its table stays here: a later one of that id is another object.
      if after == nil { book[link: key] = nil }
      return nil
    }
    guard let table = mappings[key.table]?.recordTable else { return nil }
    var earlier: EarlierObject?
    if let before {
      do throws(CairnError) {
        earlier = try shape(key, before).map { EarlierObject(fields: before, shaped: $0) }
      } catch {
        // Another version of the app left what this one can't read.
        guard error.code == .badType || error.code == .illegalArgument else { throw error }
      }
    }
    let new = try after.flatMap { after throws(CairnError) in try shape(key, after) }
    // It stayed here before, and its record came like that: that one is others', not its own.
    if after != nil, new == nil, earlier == nil, try hasUnread(key, table) { return nil }
    var carried: ObjectFields = [:]
    // Not by what the mapping says of the object as it was: it may have said something else then.
    for route in try routes(of: key, table) where route != new?.route {
      if let new {
        // On a route that is not there the record of one that moves stays.
        if remotes[route] == nil { continue }
        let known = new.known.union(earlier?.shaped.known ?? [])
        carried.merge(try others(than: known, key, table, route)) { first, _ in first }
      }
      try save(nil, key, table, route, &sets, changed: [], from: earlier)
    }
    guard let new else {
      book[link: key] = nil
      return nil
    }
    let old = earlier?.shaped
    let changed =
      old?.route == new.route
      ? ObjectFields.differences(old?.fields ?? [:], new.fields) : Set(new.fields.keys)
    try save(
      new, key, table, new.route, &sets, changed: changed, from: earlier,
      isNew: old?.route != new.route, wasElsewhere: before != nil, carried: carried)
    return MappingBook.Address(route: new.route, record: book.place(key).record)
  }

  /// The routes on which an object has a record, or is to have one.
  func routes(of key: RowKey, _ table: String) throws(CairnError) -> [String] {
    if let route = book[link: key]?.route { return [route] }
    let record = book.place(key).record
    var routes = book.outbox.routes(of: key, table, record)
    if let home = try home(key), home.table == table, home.record == record {
      routes.insert(home.route)
    }
    return routes.sorted()
  }

  /// Fields that an object's record on a route has, or is to have, and that its mapping does not
  /// know: of another version of the app. They go along when it moves.
  func others(
    than known: Set<String>, _ key: RowKey, _ table: String, _ route: String
  ) throws(CairnError) -> ObjectFields {
    let place = RecordPlace(route: route, table: table, record: book.place(key).record)
    // A record that came where one is to be inserted is not the object's.
    let queued = book.outbox.queued(key, place)
    // Nor is one that it has left.
    if queued.contains(where: { $0.kind == .delete }) { return [:] }
    let insert = queued.first { $0.kind == .insert }
    let fields = try insert == nil ? record(route, table, place.record) : insert?.carried
    return (fields ?? [:]).filter { !known.contains($0.key) }
  }

  /// Queues a record that is to be as given, or to go. `earlier`: the object that it was until now,
  /// if that followed it. `isNew`: it was not to be there until now; `wasElsewhere`: the object was
  /// there all the same; `carried`: what its record was elsewhere and no mapping knows.
  func save(
    _ new: ShapedObject?, _ key: RowKey, _ table: String, _ route: String,
    _ sets: inout BatchNames, changed: Set<String>, from earlier: EarlierObject? = nil,
    isNew: Bool = false, wasElsewhere: Bool = false, carried: ObjectFields = [:]
  ) throws(CairnError) {
    _ = try remote(route, for: key)
    if let doubt = doubts[route] { throw doubt }
    let record = book.place(key).record
    var target = OutboxBook.Target(
      object: key, route: route, table: table, record: record,
      base: try self.record(route, table, record))
    target.seen = try seen(target, by: earlier)
    target.carried = carried
    // Such a record is merged with the insert, as if it came later.
    if new != nil, try isUnmet(target, isNew: isNew, wasElsewhere: wasElsewhere) {
      (target.base, target.seen) = (nil, nil)
    }
    let batch = sets.number(route, &book.outbox)
    if let new {
      book.outbox.save(target, changed, now: new, in: batch)
      // One that is to be inserted is not there before that is committed.
      try setHome(target.was == nil ? nil : target.place, of: key)
    } else {
      book.outbox.delete(target, in: batch)
      if try home(key) == target.place { try setHome(nil, of: key) }
    }
    // What waited, as it could not be read, is tried again with this.
    release(target.place)
  }

  /// Brings an object and a record together, or takes them apart.
  private func tie(
    _ key: RowKey, _ after: ObjectFields?, _ tie: ObjectTransaction.Tie,
    _ sets: inout BatchNames
  ) throws(CairnError) {
    guard let mapping = mappings[key.table], let table = mapping.recordTable else {
      throw CairnError(
        .invalidOperation, "objects of the table \(key.table) stay on this device; they have no "
          + "records", id: key.table)
    }
    switch tie {
    case .detach(let deletesRecord):
      if book[link: key]?.isDetached == true { return }
      for route in try routes(of: key, table) {
        if deletesRecord {
          try save(nil, key, table, route, &sets, changed: [])
        } else {
          book.outbox.drop(
            key, RecordPlace(route: route, table: table, record: book.place(key).record))
        }
      }
      try setHome(nil, of: key)
      book[link: key] = after == nil ? nil : MappingBook.Link(isDetached: true)
    case .attach(let record, let route, let uploads):
      try attach(key, after, mapping, table, record, route, uploads: uploads, &sets)
    }
  }

  private func attach(
    _ key: RowKey, _ after: ObjectFields?, _ mapping: ObjectMapping, _ table: String,
    _ record: RecordID, _ route: String, uploads: Bool, _ sets: inout BatchNames
  ) throws(CairnError) {
    _ = try remote(route, for: key)
    let address = MappingBook.Address(route: route, record: record)
    try checkFree(key, address, table)
    let base = try self.record(route, table, record)
    book[link: key] = MappingBook.Link(route: route, record: record)
    let place = RecordPlace(route: route, table: table, record: record)
    // Whose delete of it was pending: it is wanted now.
    if let delete = book.outbox.delete(of: place) { book.outbox.remove(delete) }
    book.outbox.drop(key, place)
    guard uploads else {
      guard base != nil else {
        throw CairnError(
          .notFound, "there is no record \(record) of the table \(table) on the route \(route) for "
            + "the object \(key.id) to follow", id: record.description)
      }
      var changes: [SyncResult.Change] = []
      try absorb(key, mapping, route, record, &sets, &changes)
      // Asked afterwards: the record may be what makes it one that stays.
      if let now = try fields(key), try shape(key, now) == nil {
        throw CairnError(
          .invalidOperation, "the object \(key.id) stays on this device by its mapping, so it "
            + "can't follow a record", id: key.id.description)
      }
      return
    }
    guard let after, let new = try shape(key, after) else {
      throw CairnError(
        .notFound, "there is no object \(key.id) of the table \(key.table) that could be a record",
        id: key.id.description)
    }
    let changed = new.known.filter { !new.isSame($0, base?[$0], new.fields[$0]) }
    try save(new, key, table, route, &sets, changed: changed)
  }

  /// An object has one record at most, and a record one object.
  private func checkFree(
    _ key: RowKey, _ address: MappingBook.Address, _ table: String
  ) throws(CairnError) {
    if book[link: key]?.isDetached != true {
      let own = book.place(key).record
      for route in try routes(of: key, table)
      where route != address.route || own != address.record {
        throw CairnError(
          .exists, "the object \(key.id) of the table \(key.table) has the record \(own) on the "
            + "route \(route); detach it first", id: key.id.description)
      }
    }
    let tables = MappedTables(table: key.table, recordTable: table)
    guard let other = book.object(address, tables), other != key,
      book.place(other).record == address.record,
      book[link: other]?.isDetached != true, try fields(other) != nil
    else { return }
    throw belongs(address, to: other)
  }

  /// An object becomes no record that another one was attached to.
  private func checkUnattached(
    _ key: RowKey, _ address: MappingBook.Address
  ) throws(CairnError) {
    if let other = try holder(of: address, but: key) { throw belongs(address, to: other) }
  }

  /// Another object that was attached to a record; nil if there is none.
  func holder(
    of address: MappingBook.Address, but key: RowKey
  ) throws(CairnError) -> RowKey? {
    guard let other = book.attached(to: address, of: key.table), other != key,
      try fields(other) != nil
    else { return nil }
    return other
  }

  private func belongs(_ address: MappingBook.Address, to other: RowKey) -> CairnError {
    CairnError(
      .exists, "the record \(address.record) on the route \(address.route) belongs to the object "
        + "\(other.id); detach that one first", id: address.record.description)
  }
}
