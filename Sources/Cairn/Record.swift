internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// A record: a handle by table and id, always showing what the record is now. Handles with equal
/// table and id are the same record; changes through one show through all, on every thread.
///
/// Reading a field of a deleted record gives nil, writing one throws `deleted`.
public struct Record: Hashable, Sendable {
  /// The table that it is in.
  public let table: Table
  /// Its id in the table.
  public let id: RecordID

  private var store: Store { table.datastore.store }

  /// Whether there is no such record (any more).
  public var isDeleted: Bool {
    get throws(CairnError) {
      try !wrapped { () throws(StoreError) in try store.exists(table: table.id, id: id.name) }
    }
  }

  /// The field's value, nil if it has none.
  public func get(_ field: String) throws(CairnError) -> Value? {
    try wrapped { () throws(StoreError) in
      try store.value(table: table.id, id: id.name, field: field)
    }.map(Value.init)
  }

  /// All fields that have a value; empty for a deleted record.
  public var fields: [String: Value] {
    get throws(CairnError) {
      let found = try wrapped { () throws(StoreError) in
        try store.fields(table: table.id, id: id.name)
      }
      var result: [String: Value] = [:]
      for (field, value) in found ?? [] { result[field] = Value(value) }
      return result
    }
  }

  /// The size that the record counts with: 100, and 100 and the value's size for each field; 0 for
  /// a deleted one.
  public var size: Int {
    get throws(CairnError) {
      try wrapped { () throws(StoreError) in try store.size(table: table.id, id: id.name) }
    }
  }

  /// Sets one field; nil removes it.
  public func set(_ field: String, _ value: Value?) throws(CairnError) {
    if case .list = value { try value?.check(field: field) }
    try wrapped { () throws(StoreError) in
      try store.update(table: table.id, id: id.name, [(field, value?.stored)])
    }
  }

  /// Sets several fields as one change; nil removes a field. All or, if it throws, none.
  public func update(_ fields: [String: Value?]) throws(CairnError) {
    var changes: [(field: String, value: FieldValue?)] = []
    for (field, value) in fields.sorted(by: { $0.key < $1.key }) {
      if case .list = value { try value?.check(field: field) }
      changes.append((field, value?.stored))
    }
    let all = changes
    try wrapped { () throws(StoreError) in
      try store.update(table: table.id, id: id.name, all)
    }
  }

  /// Removes a field; no effect if it has no value.
  public func remove(_ field: String) throws(CairnError) { try set(field, nil) }

  /// Deletes the record; no effect on one that is deleted already.
  public func delete() throws(CairnError) {
    try wrapped { () throws(StoreError) in try store.delete(table: table.id, id: id.name) }
  }
}

/// Typed reads: nil if the field is absent or holds another type.
extension Record {
  /// The field as a boolean.
  public func bool(_ field: String) throws(CairnError) -> Bool? {
    if case .bool(let value) = try stored(field) { value } else { nil }
  }

  /// The field as an integer.
  public func int(_ field: String) throws(CairnError) -> Int64? {
    if case .int(let value) = try stored(field) { value } else { nil }
  }

  /// The field as a double. Integers are none: after `insert(["hours": 2])` this is nil and
  /// `int("hours")` is 2. Write `2.0`, or `Value(hours)` of a `Double`, where a double is meant; a
  /// `Double` property of a model, and queries, take an integer for a number as well.
  public func double(_ field: String) throws(CairnError) -> Double? {
    if case .double(let value) = try stored(field) { value } else { nil }
  }

  /// The field as text.
  public func string(_ field: String) throws(CairnError) -> String? {
    if case .string(let value) = try stored(field) { value } else { nil }
  }

  /// The field as bytes. An attachment is none: see `attachment(_:)`.
  public func bytes(_ field: String) throws(CairnError) -> [UInt8]? {
    guard case .bytes(let value) = try stored(field), BlobReference(value) == nil else {
      return nil
    }
    return value
  }

  /// The field as a point in time.
  public func date(_ field: String) throws(CairnError) -> Timestamp? {
    if case .date(let value) = try stored(field) {
      Timestamp(millisecondsSince1970: value)
    } else {
      nil
    }
  }

  /// The field as a whole list. For editing items see `list(_:)`.
  public func listValues(_ field: String) throws(CairnError) -> [Value]? {
    if case .list(let items) = try stored(field) { items.map(Value.init) } else { nil }
  }

  @inline(__always)
  private func stored(_ field: String) throws(CairnError) -> FieldValue? {
    do { return try store.value(table: table.id, id: id.name, field: field) } catch {
      throw CairnError(error)
    }
  }
}

/// Runs a call of the store and gives its error the public form.
@inline(__always)
func wrapped<R>(_ body: () throws(StoreError) -> R) throws(CairnError) -> R {
  do { return try body() } catch { throw CairnError(error) }
}
