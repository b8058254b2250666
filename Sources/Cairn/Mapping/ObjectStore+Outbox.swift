internal import CairnMerge
internal import CairnStore

/// Looking at the queue, and at how objects and records belong together.
extension ObjectStore {
  /// How many sets wait, and whether they may leave: both at one moment.
  public nonisolated var outbox: OutboxStatus { gate.status }

  /// The status now, then each one that differs from the one read before. Ends when the store is
  /// closed.
  public nonisolated var outboxChanges: Updates<OutboxStatus> {
    Updates(of: gate.news) { [gate] in gate.status }
  }

  /// All that has not arrived in a folder yet, in the order in which it is uploaded, the newest
  /// last. With a suspended queue this is what would be uploaded, and nothing is. Sets that are
  /// held are among them, with the reason.
  ///
  /// - Throws: what mappings throw that are asked for the values; `closed`.
  public func pendingChangeSets() throws(CairnError) -> [ChangeSet] {
    try checkUsable()
    var result: [ChangeSet] = []
    for batch in book.outbox.list(where: { !$0.isPublished }) {
      result.append(try changeSet(batch))
    }
    return result
  }

  /// The set in flight, or the next to be; nil if nothing is to be uploaded.
  public func currentChangeSet() throws(CairnError) -> ChangeSet? {
    try checkUsable()
    let next = book.outbox.list { !$0.isPublished && !book.outbox.held.contains($0.number) }.first
    return try next.map { batch throws(CairnError) in try changeSet(batch) }
  }

  private func changeSet(_ batch: OutboxBook.Batch) throws(CairnError) -> ChangeSet {
    var set = ChangeSet(
      id: batch.id, route: batch.route, isInFlight: !batch.isQueued,
      hold: book.outbox.held.contains(batch.number) ? hold(batch) : nil, changes: [])
    for entry in book.outbox.changes(in: batch) {
      let object = entry.kind == .delete ? nil : try fields(entry.object)
      var shaped: ShapedObject?
      do throws(CairnError) {
        shaped = try object.flatMap { object throws(CairnError) in
          try shape(entry.object, object)
        }
      } catch {
        // Of what is held as it can't be read the rest is told.
        guard set.hold != nil, error.code == .badType || error.code == .illegalArgument else {
          throw error
        }
      }
      var fields: [String: Value?] = entry.carried.mapValues { Value($0) }
      for field in entry.fields {
        fields.updateValue(shaped?.fields[field].map(Value.init), forKey: field)
      }
      set.changes.append(
        ChangeSet.Change(
          kind: entry.kind.shown, table: entry.object.table, object: entry.object.id,
          recordTable: entry.table, record: entry.record, fields: fields,
          originals: entry.replaced.shown))
    }
    return set
  }

  /// How an object stands to its record; nil if there is neither, nor anything pending.
  ///
  /// - Throws: what mappings throw; `closed`.
  public func state<Object: TableModel>(
    of type: Object.Type, _ id: RecordID
  ) throws(CairnError) -> ObjectState? {
    try checkUsable()
    try id.check()
    let key = RowKey(table: Object.table, id: id)
    guard let mapping = mappings[key.table] else { return nil }
    let object = try fields(key)
    let delete = object == nil ? book.outbox.delete(of: key) : nil
    let record = delete?.entry.record ?? book.place(key).record
    var state = ObjectState(
      route: nil, recordTable: mapping.recordTable, record: record,
      isDetached: book[link: key]?.isDetached ?? false, hasRecord: false, pendingFields: [],
      hasPendingDelete: false)
    guard let table = mapping.recordTable else { return object == nil ? nil : state }
    let shaped = try object.flatMap { object throws(CairnError) in try shape(key, object) }
    if let shaped {
      state.route = shaped.route
    } else {
      state.route = delete?.route
      if state.route == nil { state.route = try routes(of: key, table).first }
      // One that was detached.
      for route in remotes.keys.sorted() where state.route == nil {
        if try self.record(route, table, record) != nil { state.route = route }
      }
    }
    guard let route = state.route else { return object == nil ? nil : state }
    state.hasRecord = try self.record(route, table, record) != nil
    let place = RecordPlace(route: route, table: table, record: record)
    let pending = book.outbox.changes(key, place) { !$0.isPublished }
    state.pendingFields = Set(pending.flatMap(\.fields)).sorted()
    state.hasPendingDelete = pending.contains { $0.kind == .delete }
    return state
  }

  /// The object of a record, nil if there is none: its table and id.
  ///
  /// - Parameters:
  ///   - record: The record's id.
  ///   - recordTable: The record's table.
  ///   - route: The route that the record is on.
  public func object(
    of record: RecordID, in recordTable: String, route: String = ObjectMapping.mainRoute
  ) throws(CairnError) -> (table: String, id: RecordID)? {
    try checkUsable()
    try record.check()
    let address = MappingBook.Address(route: route, record: record)
    guard let tables = mappings.values.first(where: { $0.recordTable == recordTable })?.tables,
      let key = book.object(address, tables), book[link: key]?.isDetached != true,
      book.place(key).record == record, let object = try fields(key),
      try shape(key, object)?.route == route
    else { return nil }
    // It may have one of that id somewhere else.
    if let home = try home(key), home.route != route { return nil }
    return (key.table, key.id)
  }
}

extension OutboxBook.Entry.Kind {
  fileprivate var shown: ChangeSet.Change.Kind {
    switch self {
    case .insert: .insert
    case .update: .update
    case .delete: .delete
    }
  }
}
