internal import CairnLog
internal import CairnMerge

/// What a field can hold. Types stay distinct through storage and sync: `1`, `1.0` and `true` are
/// three values.
///
/// Literals are values as they are; variables are wrapped:
///
///     try record.set("title", "Find a flat stone")
///     try record.set("count", Value(count))  // an integer of any width
///     try record.set("due", .date(.now))
@nonexhaustive
public enum Value: Hashable, Sendable {
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case string(String)
  case bytes([UInt8])
  case date(Timestamp)
  /// Items of any type but lists.
  case list([Value])
  /// A content that is too large for a record: which one, not its bytes. Kept as 64 bytes of a
  /// form that nothing else has (`Datastore.attach`).
  // Indirect, or each value of every type would take twice as much memory.
  indirect case attachment(AttachmentID)
}

extension Value: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral
{
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .int(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: Value...) { self = .list(elements) }
}

/// Values of variables.
extension Value {
  /// A boolean.
  public init(_ value: Bool) { self = .bool(value) }

  /// An integer of any width, which has to fit into 64 bits with a sign: as with `Int64(_:)`, one
  /// that does not ends the process. `init(exactly:)` gives nil instead.
  public init(_ value: some BinaryInteger) { self = .int(Int64(value)) }

  /// An integer of any width; nil if it does not fit into 64 bits with a sign.
  public init?(exactly value: some BinaryInteger) {
    guard let value = Int64(exactly: value) else { return nil }
    self = .int(value)
  }

  /// A double.
  public init(_ value: Double) { self = .double(value) }

  /// Text.
  public init(_ value: String) { self = .string(value) }

  /// A point in time.
  public init(_ value: Timestamp) { self = .date(value) }
}

extension Value {
  /// What the value counts with: UTF-8 bytes of text, bytes, 64 for an attachment, 20 and its own
  /// size for each item of a list, nothing for the rest.
  public var size: Int { stored.size }

  @inline(__always)
  var stored: FieldValue {
    switch self {
    case .bool(let value): .bool(value)
    case .int(let value): .int(value)
    case .double(let value): .double(value)
    case .string(let value): .string(value)
    case .bytes(let value): .bytes(value)
    case .date(let value): .date(value.millisecondsSince1970)
    case .list(let items): .list(items.map(\.stored))
    case .attachment(let id): .bytes(id.reference.encoded())
    }
  }

  init(_ value: FieldValue) {
    switch value {
    case .bool(let value): self = .bool(value)
    case .int(let value): self = .int(value)
    case .double(let value): self = .double(value)
    case .string(let value): self = .string(value)
    case .bytes(let value):
      if let reference = BlobReference(value) {
        self = .attachment(AttachmentID(reference))
      } else {
        self = .bytes(value)
      }
    case .date(let value): self = .date(Timestamp(millisecondsSince1970: value))
    case .list(let items): self = .list(items.map(Value.init))
    }
  }

  /// Refuses lists inside lists.
  func check(field: String) throws(CairnError) {
    guard case .list(let items) = self else { return }
    for item in items {
      if case .list = item {
        throw CairnError(
          .badType, "field \(field): a list can't hold lists; keep them in fields or records of "
            + "their own", id: field)
      }
    }
  }
}
