internal import Cairn

/// What the next save does to one key.
struct CDBChange<Key: Sendable, Value: Sendable>: Sendable {
  enum Content: Sendable {
    case removed
    /// A value, and its bytes if it can't change by itself.
    case value(Value, stored: [UInt8]?)
  }

  var content: Content
  var key: Key
  /// The key's bytes.
  var name: [UInt8]
  /// Whether the file has the key.
  var isInFile: Bool
  /// Counts changes: tells whether this one is younger than a save.
  var ticket: UInt64
  /// The ticket of the change that added the key: new keys are written in this order.
  var order: UInt64

  /// The value's bytes; nil if the key is removed.
  func stored(_ values: CDBValueCoding<Value>) throws(CairnError) -> [UInt8]? {
    switch content {
    case .removed: return nil
    case .value(_, let stored?): return stored
    case .value(let value, nil): return try values.store(value)
    }
  }

  var value: Value? {
    if case .value(let value, _) = content { return value }
    return nil
  }
}
