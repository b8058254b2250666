internal import CairnMerge
internal import CairnStore

/// A table of a datastore. It exists as long as it has records; a handle may be had before.
public struct Table: Hashable, Sendable {
  /// The datastore that it is in.
  public let datastore: Datastore
  /// Its id.
  public let id: String

  /// Whether a text may be the id of a table: 1 to 64 characters, as for records; a leading ":"
  /// is the library's.
  public static func isValid(_ id: String) -> Bool { Identifier.isValidTable(id) }

  /// Whether a text may name a field.
  public static func isValidField(_ name: String) -> Bool { Identifier.isValidField(name) }

  /// Inserts a record with a generated id, or with one that no record has yet.
  ///
  /// - Throws: `exists`, `sizeLimit`, `illegalArgument`, `badType`; nothing is inserted then.
  @discardableResult
  public func insert(
    _ fields: KeyValuePairs<String, Value>, id: RecordID? = nil
  ) throws(CairnError) -> Record {
    // A span is looked into where an element would be copied.
    let pairs = fields.span
    for index in pairs.indices {
      if case .list = pairs[index].value { try pairs[index].value.check(field: pairs[index].key) }
    }
    let id = id ?? .random()
    try id.check()
    try wrapped { () throws(StoreError) in
      try datastore.store.insert(table: self.id, id: id.name, count: fields.count) { index in
        (fields.span[index].key, fields.span[index].value.stored)
      }
    }
    return Record(table: self, id: id)
  }

  /// Inserts a record whose fields are in a dictionary.
  @discardableResult
  public func insert(
    fields: [String: Value], id: RecordID? = nil
  ) throws(CairnError) -> Record {
    try insert(try changes(fields), id)
  }

  private func changes(
    _ fields: [String: Value]
  ) throws(CairnError) -> [(field: String, value: FieldValue?)] {
    var changes: [(field: String, value: FieldValue?)] = []
    for (field, value) in fields.sorted(by: { $0.key < $1.key }) {
      if case .list = value { try value.check(field: field) }
      changes.append((field, value.stored))
    }
    return changes
  }

  private func insert(
    _ fields: [(field: String, value: FieldValue?)], _ id: RecordID?
  ) throws(CairnError) -> Record {
    let id = id ?? .random()
    try id.check()
    try wrapped { () throws(StoreError) in
      try datastore.store.insert(table: self.id, id: id.name, fields)
    }
    return Record(table: self, id: id)
  }

  /// The record of an id, nil if there is none.
  public func record(_ id: RecordID) throws(CairnError) -> Record? {
    try id.check()
    let exists = try wrapped { () throws(StoreError) in
      try datastore.store.exists(table: self.id, id: id.name)
    }
    return exists ? Record(table: self, id: id) : nil
  }

  /// A handle of the record of an id, whether there is one or not: for reading fields of many
  /// records without asking twice.
  public subscript(id: RecordID) -> Record { Record(table: self, id: id) }

  /// The record of an id; inserted with these fields if there is none, unchanged if there is.
  public func getOrInsert(
    _ id: RecordID, fields: [String: Value] = [:]
  ) throws(CairnError) -> (record: Record, inserted: Bool) {
    try id.check()
    let changes = try changes(fields)
    let inserted = try wrapped { () throws(StoreError) in
      try datastore.store.getOrInsert(table: self.id, id: id.name, changes)
    }
    return (Record(table: self, id: id), inserted)
  }

  /// The records of which every field given equals its value, all for none, in no set order.
  ///
  /// Numbers match by value (1 matches 1.0), everything else its own type only; an absent field
  /// matches nothing. Cost: a walk over the table, some nanoseconds a record, or as an index makes
  /// it. `query(_: Query)` has ranges, an order and a limit.
  public func query(_ filter: [String: Value] = [:]) throws(CairnError) -> [Record] {
    for (field, value) in filter { try check(field, value) }
    let wanted = filter.map { ($0.key, $0.value.stored) }
    let found = try wrapped { () throws(StoreError) in
      try datastore.store.query(table: id, wanted)
    }
    return found.map { Record(table: self, id: RecordID($0)) }
  }

  /// How many records the table has.
  public var count: Int {
    get throws(CairnError) {
      try wrapped { () throws(StoreError) in try datastore.store.count(table: id) }
    }
  }

  /// Sets the rule that a field of all records of the table is merged by, on all devices.
  public func setRule(_ rule: ResolutionRule, field: String) throws(CairnError) {
    try check(field, nil)
    try wrapped { () throws(StoreError) in
      try datastore.store.setRule(rule.stored, table: id, field: field)
    }
  }

  /// The rule that a field is merged by.
  public func rule(field: String) -> ResolutionRule {
    ResolutionRule(datastore.store.rule(table: id, field: field))
  }

  func check(_ field: String, _ value: Value?) throws(CairnError) {
    try Query.check(field: field)
    if case .list = value { try value?.check(field: field) }
  }
}
