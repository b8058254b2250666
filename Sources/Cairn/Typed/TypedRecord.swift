/// A record together with its value as it was when it was read or written.
public struct TypedRecord<Model: Codable & Sendable>: Identifiable, Sendable {
  /// The record: always what it is now, with all fields, also those that the model does not know.
  public let record: Record
  /// The value as it was read or written; `update` brings it up to date.
  public private(set) var value: Model

  init(record: Record, value: Model) {
    self.record = record
    self.value = value
  }

  /// The record's id.
  public var id: RecordID { record.id }

  /// Changes the record, from what it is now, and writes the fields that the change changes:
  /// ``TypedTable/update(_:change:)``. `value` is the new value then.
  public mutating func update(_ change: (inout Model) -> Void) throws(CairnError) {
    value = try TypedTable<Model>(table: record.table).update(id, change: change)
  }

  /// Deletes the record; no effect if it is gone already.
  public func delete() throws(CairnError) { try record.delete() }
}

extension TypedRecord: Equatable where Model: Equatable {}
extension TypedRecord: Hashable where Model: Hashable {}
