/// How an object stands to its record.
public struct ObjectState: Hashable, Sendable {
  /// The datastore that the record is in, or would be; nil for an object that stays on this device.
  public var route: String?
  /// The record's table; nil for a table of objects that stay on this device.
  public var recordTable: String?
  /// The record's id.
  public var record: RecordID
  /// Whether the object was detached: it has no record, whatever its mapping says.
  public var isDetached: Bool
  /// Whether there is such a record here.
  public var hasRecord: Bool
  /// The fields that are not uploaded yet, sorted.
  public var pendingFields: [String]
  /// Whether the record's delete is not uploaded yet.
  public var hasPendingDelete: Bool
}
