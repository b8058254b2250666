internal import CairnMerge
internal import CairnStore

/// A table whose records are read and written as values of a type.
///
/// Each coding key of the model is a field. A property may be
/// - `Bool`, an integer of any width, `Float`, `Double`, `String`, ``Timestamp``, `[UInt8]`
///   (bytes), ``RecordID`` (kept as text), ``Value``, an enumeration of strings or integers,
///   whatever encodes as one of these (`UUID` is text), Foundation's `Date` (to the millisecond)
///   and `Data`;
/// - an array or a set of these, kept as a list; an empty one that is inserted is left out, and an
///   absent one reads as empty;
/// - an optional of all that: nil is an absent field, also of an array.
///
/// What a record can't hold is refused with an error that names table, record and field: structs
/// with fields of their own, dictionaries, lists in lists, nil in lists, classes with a superclass.
/// Fields that the model does not know are left alone by every write.
///
/// If the model is `Identifiable` by a ``RecordID``, its `id` is the record's id, and no field.
///
/// A value of the wrong type in the record is an error when it is read (`badType`), and so is a
/// missing one, unless the property is optional, an array or a set, or the model's own
/// `init(from:)` has a default for it. An integer is accepted for a `Double` or `Float` if it is an
/// exact `Double`. A `Float` reads the nearest to what is stored. An update that leaves a property,
/// or an item of a list, as it was read writes neither of that back: the record keeps the integer,
/// or the exact value. Nothing else is converted.
///
/// Like a `Table` it is a handle, thread-safe, and cheap to make and to copy.
public struct TypedTable<Model: Codable & Sendable>: Hashable, Sendable {
  /// The same table without the type.
  public let table: Table
  private let coder: ModelCoder<Model>

  init(table: Table) {
    self.table = table
    coder = ModelCoder(table: table.id)
  }

  // MARK: reading

  /// The value of a record, nil if there is no such record.
  ///
  /// - Throws: `badType` if the record is no `Model`; `illegalArgument` for a bad id.
  public func get(_ id: RecordID) throws(CairnError) -> Model? {
    guard let fields = try fields(id) else { return nil }
    return try decode(fields, id)
  }

  /// A record with its value, nil if there is no such record.
  ///
  /// - Throws: `badType` if the record is no `Model`; `illegalArgument` for a bad id.
  public func record(_ id: RecordID) throws(CairnError) -> TypedRecord<Model>? {
    guard let value = try get(id) else { return nil }
    return TypedRecord(record: table[id], value: value)
  }

  /// The records of which every field given equals its value, all for none, in no set order.
  ///
  /// Values are by coding key and match as with `Table.query`. Each record is read as a
  /// whole, but not all at one moment: what other threads delete meanwhile is left out.
  ///
  /// - Throws: `badType` if one of them is no `Model`; `illegalArgument` for a bad name of a field.
  public func records(
    where filter: [String: Value] = [:]
  ) throws(CairnError) -> [TypedRecord<Model>] {
    try records(where: filter) { _, error throws(CairnError) in throw error }
  }

  /// The same without the records that are no `Model`, because another version of the app wrote
  /// them, say: those go to `unreadable`, each with what is wrong with it.
  ///
  /// - Throws: `illegalArgument` for a bad name of a field; what `unreadable` throws.
  public func records(
    where filter: [String: Value] = [:],
    unreadable: (_ record: Record, _ error: CairnError) throws(CairnError) -> Void
  ) throws(CairnError) -> [TypedRecord<Model>] {
    try values(of: try table.query(filter), unreadable)
  }

  /// The records that a query finds, in its order.
  ///
  /// Each record is read as a whole, but not all at one moment: what other threads delete meanwhile
  /// is left out, and what they change comes as it is then. Cost: as `Table.query`, and the
  /// decoding of each record found.
  ///
  /// - Throws: `badType` if one of them is no `Model`; as `Table.query`.
  public func records(_ query: Query) throws(CairnError) -> [TypedRecord<Model>] {
    try records(query) { _, error throws(CairnError) in throw error }
  }

  /// The same without the records that are no `Model`: those go to `unreadable`, each with what is
  /// wrong with it.
  ///
  /// - Throws: as `Table.query`; what `unreadable` throws.
  public func records(
    _ query: Query,
    unreadable: (_ record: Record, _ error: CairnError) throws(CairnError) -> Void
  ) throws(CairnError) -> [TypedRecord<Model>] {
    try values(of: try table.query(query), unreadable)
  }

  private func values(
    of records: [Record],
    _ unreadable: (_ record: Record, _ error: CairnError) throws(CairnError) -> Void
  ) throws(CairnError) -> [TypedRecord<Model>] {
    var result: [TypedRecord<Model>] = []
    for record in records {
      guard let fields = try fields(record.id) else { continue }
      let value: Model
      do throws(CairnError) { value = try decode(fields, record.id) } catch {
        try unreadable(record, error)
        continue
      }
      result.append(TypedRecord(record: record, value: value))
    }
    return result
  }

  /// How many records a query finds, its limit and skip included, readable as `Model` or not.
  ///
  /// - Throws: as `Table.query`.
  public func count(where query: Query) throws(CairnError) -> Int {
    try table.count(where: query)
  }

  /// How many records the table has, readable as `Model` or not.
  public var count: Int {
    get throws(CairnError) { try table.count }
  }

  // MARK: writing

  /// Inserts a record.
  ///
  /// Arrays and sets without items are left out, and their first items begin them: so that lists of
  /// records that several devices insert under one id become one list. Those with items are set as
  /// a whole, of which one wins when they meet: insert them empty and `update` where others may
  /// insert the same record.
  ///
  /// - Parameters:
  ///   - model: Its value.
  ///   - id: Its id, which no record may have yet; without one the model's own if it carries one,
  ///     or a new one.
  /// - Throws: `badType` for what a record can't hold; `exists`; `illegalArgument` for a bad id,
  ///   one that is not the model's, or a bad coding key; `sizeLimit`. Nothing is inserted then.
  @discardableResult
  public func insert(
    _ model: Model, id: RecordID? = nil
  ) throws(CairnError) -> TypedRecord<Model> {
    let id = id ?? ownID(of: model) ?? .random()
    try id.check()
    try insert(try encode(model, id).forInsertion, id)
    return TypedRecord(record: table[id], value: model)
  }

  /// Inserts a record with all that the model encodes, empty lists among it: for tables that nobody
  /// else writes to, and that are compared with records field by field.
  func insertAll(of model: Model, id: RecordID) throws(CairnError) {
    try id.check()
    try insert(try encode(model, id).fields, id)
  }

  private func insert(
    _ fields: [(field: String, value: FieldValue?)], _ id: RecordID
  ) throws(CairnError) {
    try wrapped { () throws(StoreError) in
      try table.datastore.store.insert(table: table.id, id: id.name, fields)
    }
  }

  /// The record of an id; inserted with this value if there is none, unchanged if there is.
  ///
  /// Devices that call it without having met insert one record, whose fields merge one by one.
  /// Lists should be empty in the value: then what each device puts into them is all there. Of
  /// lists with items one wins as a whole, and what others have put into theirs goes.
  ///
  /// - Throws: as `get` and `insert`.
  public func getOrInsert(
    _ id: RecordID, _ model: Model
  ) throws(CairnError) -> (record: TypedRecord<Model>, inserted: Bool) {
    try id.check()
    let fields = try encode(model, id).forInsertion
    while true {
      if let found = try record(id) { return (found, false) }
      let inserted = try wrapped { () throws(StoreError) in
        try table.datastore.store.getOrInsert(table: table.id, id: id.name, fields)
      }
      if inserted { return (TypedRecord(record: table[id], value: model), true) }
    }
  }

  /// Deletes a record; no effect if there is none.
  ///
  /// - Throws: `illegalArgument` for a bad id; `sizeLimit`.
  public func delete(_ id: RecordID) throws(CairnError) {
    try id.check()
    try table[id].delete()
  }

  // MARK: coding

  /// All fields of a record as they are now, nil if it is not there.
  func fields(_ id: RecordID) throws(CairnError) -> [(String, FieldValue)]? {
    try id.check()
    return try wrapped { () throws(StoreError) in
      try table.datastore.store.fields(table: table.id, id: id.name)
    }
  }

  func decode(_ fields: [(String, FieldValue)], _ id: RecordID) throws(CairnError) -> Model {
    try coder.decode(fields, id)
  }

  /// The fields that the model has now, nil for those that are absent.
  func encode(_ model: Model, _ id: RecordID) throws(CairnError) -> RecordFields {
    try coder.encode(model, id)
  }

  /// The id that the model carries, nil if it carries none.
  func ownID(of model: Model) -> RecordID? { coder.ownID(of: model) }
}
