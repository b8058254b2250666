internal import CairnMerge
internal import CairnStore

/// A record as it was here when another device's change deleted it.
public struct DeletedRecord: Sendable {
  /// Id of the table.
  public var table: String { kept.table }
  /// Its id in the table.
  public var id: RecordID { RecordID(kept.id) }
  /// All fields that had a value.
  public var fields: [String: Value] {
    var result: [String: Value] = [:]
    for field in kept.fields { result[field.name] = Value(field.value) }
    return result
  }
  /// The device that deleted it, 16 hex digits.
  public var device: String { kept.dot.device.description }
  /// When that became visible here, by this device's clock.
  public var deleted: Timestamp { Timestamp(millisecondsSince1970: kept.time) }

  let kept: KeptRecord
}
