internal import CairnMerge
internal import CairnStore

/// Changes of objects that are made, recorded and durable together: the argument of
/// `ObjectStore.write`, which is the only place where it is.
public struct ObjectTransaction: ~Copyable {
  /// Makes an object and a record belong together, or takes them apart.
  enum Tie: Sendable {
    case attach(RecordID, route: String, uploads: Bool)
    case detach(deletesRecord: Bool)
  }

  private let local: Datastore
  private let tables: Set<String>
  /// What the objects were that it has changed; nil for those that were not there.
  private(set) var touched: [RowKey: ObjectFields?] = [:]
  private(set) var ties: [RowKey: Tie] = [:]

  init(_ local: Datastore, tables: Set<String>) {
    self.local = local
    self.tables = tables
  }

  // MARK: objects

  /// An object as it is now, with what this transaction has changed; nil if there is none.
  public func get<Object: TableModel>(
    _ type: Object.Type, _ id: RecordID
  ) throws(CairnError) -> Object? {
    try table(of: type).get(id)
  }

  /// The objects that a query finds now, in its order; all of them without one.
  public func objects<Object: TableModel>(
    _ type: Object.Type, _ query: Query = Query()
  ) throws(CairnError) -> [StoredObject<Object>] {
    _ = try table(of: type)
    return try ObjectTable<Object>(local).objects(query)
  }

  /// Inserts an object, with its own id if it carries one, or a new one. Returns the id.
  ///
  /// - Throws: as `TypedTable.insert`; `illegalArgument` for a type without a mapping; and at the
  ///   end of the transaction, which is taken back then, `exists` if another object is attached to
  ///   the record that this one would be.
  @discardableResult
  public mutating func insert<Object: TableModel>(
    _ object: Object, id: RecordID? = nil
  ) throws(CairnError) -> RecordID {
    let table = try table(of: Object.self)
    let id = id ?? table.ownID(of: object) ?? .random()
    try touch(table, id)
    try table.insertAll(of: object, id: id)
    return id
  }

  /// Makes the object of an id this one, which is inserted if there is none.
  ///
  /// - Throws: as `TypedTable.update` and `insert`.
  public mutating func put<Object: TableModel>(
    _ object: Object, id: RecordID
  ) throws(CairnError) {
    let table = try table(of: Object.self)
    try touch(table, id)
    if try table.table.record(id) == nil {
      try table.insertAll(of: object, id: id)
    } else {
      try table.update(id, object)
    }
  }

  /// Changes an object. Returns what it is then.
  ///
  /// - Throws: `deleted` if there is none of that id; as `TypedTable.update`.
  @discardableResult
  public mutating func update<Object: TableModel>(
    _ type: Object.Type, _ id: RecordID, change: (inout Object) -> Void
  ) throws(CairnError) -> Object {
    let table = try table(of: type)
    try touch(table, id)
    return try table.update(id, change: change)
  }

  /// Deletes an object; no effect if there is none of that id.
  public mutating func delete<Object: TableModel>(
    _ type: Object.Type, _ id: RecordID
  ) throws(CairnError) {
    let table = try table(of: type)
    try touch(table, id)
    try table.delete(id)
  }

  // MARK: records

  /// Makes an object and a record of a route belong together, from the end of this transaction on.
  /// What else it does comes before: another object may let go of the record in it.
  ///
  /// - Parameters:
  ///   - type: The type of the object.
  ///   - id: The object's id.
  ///   - record: The record's id, which may be another one, unless the record's type carries its id
  ///     itself: then it is the object's, and `illegalArgument` says so.
  ///   - route: The route that the record is on, or shall be on; it stays there whatever the
  ///     mapping says.
  ///   - uploads: Whether the object is what counts: what differs from the record is queued.
  ///     Otherwise the record is, and the object becomes what it says.
  /// - Throws: at the end of the transaction, which is taken back then: `exists` if the object has
  ///   another record, or the record another object; `notFound` if there is no object to upload,
  ///   or no record to follow; `invalidOperation` for an object that is to follow it, and stays on
  ///   this device by its mapping, as it is or as the record makes it.
  public mutating func attach<Object: TableModel>(
    _ type: Object.Type, _ id: RecordID, to record: RecordID,
    route: String = ObjectMapping.mainRoute, uploads: Bool
  ) throws(CairnError) {
    try record.check()
    try touch(try table(of: type), id)
    ties[RowKey(table: Object.table, id: id)] = .attach(record, route: route, uploads: uploads)
  }

  /// Takes an object and its record apart, from the end of this transaction on: neither follows the
  /// other, and what was to be uploaded of it is not, until they are attached again.
  ///
  /// - Parameters:
  ///   - type: The type of the object.
  ///   - id: The object's id.
  ///   - deletesRecord: Whether the record is to be deleted, on all devices.
  public mutating func detach<Object: TableModel>(
    _ type: Object.Type, _ id: RecordID, deletesRecord: Bool
  ) throws(CairnError) {
    try touch(try table(of: type), id)
    ties[RowKey(table: Object.table, id: id)] = .detach(deletesRecord: deletesRecord)
  }

  // MARK: what was changed

  private func table<Object: TableModel>(
    of type: Object.Type
  ) throws(CairnError) -> TypedTable<Object> {
    guard tables.contains(Object.table) else {
      throw CairnError(
        .illegalArgument,
        "the object store has no mapping for the table \(Object.table); open it with one, or with "
          + "ObjectMapping.local for objects that stay on this device", id: Object.table)
    }
    return TypedTable(table: try local.table(Object.table))
  }

  private mutating func touch<Object: TableModel>(
    _ table: TypedTable<Object>, _ id: RecordID
  ) throws(CairnError) {
    let key = RowKey(table: Object.table, id: id)
    if touched[key] != nil { return }
    let fields = try table.fields(id).map { ObjectFields($0) }
    touched.updateValue(fields, forKey: key)
  }
}
