/// A change of another device that meets what this one has not uploaded: three values of a record,
/// and what is to be uploaded after it.
///
/// It is handed to a mapping's merge handler with the outcome that the rules give; what the handler
/// makes of it holds instead. Only the device whose changes are pending is asked, and what it
/// answers becomes a commit of this device like any other: others see a later write, and need
/// neither the handler nor the same answer.
///
/// The handler is asked as well on a device whose change was published at the same moment as
/// another one's, and lost by the rules; `pending` is what lost then.
public struct ObjectMerge: Sendable {
  /// The object's table on this device.
  public let table: String
  /// The object's id.
  public let object: RecordID
  /// The route of its record.
  public let route: String
  /// The record's id.
  public let record: RecordID
  /// What the pending fields were before this device first changed them; a field that had no value
  /// is not in it. Of a pending delete: the whole record as it was.
  public let original: [String: Value]
  /// The record as other devices have left it; nil if it was deleted.
  public let remote: [String: Value]?
  /// What this device has changed and not uploaded; nil is a removal. Empty for a pending delete.
  public let pending: [String: Value?]
  /// Whether the object was deleted here, and the record's delete is pending.
  public let isPendingDelete: Bool
  /// The fields that both have changed, differently, sorted.
  public let conflicts: [String]

  /// What is to be uploaded, and what the object shows: all other fields become the record's. At
  /// first: what only this device has changed, and what the rules make of the conflicts.
  ///
  /// Fields that were not pending may be added. One that the mapping's `update` does not put into
  /// the object, or that its `map` does not take out of it, has no value to upload and is left out.
  public var stillPending: [String: Value?]
  /// Whether the object is to be gone. It is at first if either side has deleted it. If the record
  /// was deleted and this is set to false, it is inserted again with all that the object is; if the
  /// object was deleted here, it is there again with what the record says, and with `stillPending`.
  public var isDeleted: Bool

  /// Lets the other device's value of a field stand.
  public mutating func takeRemote(_ field: String) { stillPending[field] = nil }

  /// Lets a value of a field stand, and be uploaded; nil removes the field.
  public mutating func keep(_ field: String, _ value: Value?) {
    stillPending.updateValue(value, forKey: field)
  }
}
