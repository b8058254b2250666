import CairnMerge
import CairnStore

/// Short calls for tests: table `t`, ids and values as literals.
extension Store {
  func insert(_ id: String, _ fields: KeyValuePairs<String, FieldValue> = [:]) throws {
    try insert(table: "t", id: RecordName(id), fields.map { ($0.key, $0.value) })
  }

  func set(_ id: String, _ fields: KeyValuePairs<String, FieldValue?>) throws {
    try update(table: "t", id: RecordName(id), fields.map { ($0.key, $0.value) })
  }

  func delete(_ id: String) throws { try delete(table: "t", id: RecordName(id)) }

  /// All fields of a record, nil if it is not there.
  func get(_ id: String) throws -> [String: FieldValue]? {
    try fields(table: "t", id: RecordName(id)).map {
      Dictionary($0, uniquingKeysWith: { first, _ in first })
    }
  }

  func find(_ field: String, _ value: FieldValue) throws -> [String] {
    try query(table: "t", [(field, value)]).map(\.text).sorted()
  }

  /// The deltas of this device since `sequence`, as one pack.
  func pack(after sequence: UInt64 = 0) throws -> [UInt8] {
    try flush()
    guard let pack = try ownPack(after: sequence, through: vector[device], limit: 1 << 30) else {
      return []
    }
    return pack.pack
  }
}

extension FieldValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
  public init(integerLiteral value: Int64) { self = .int(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}

/// The kind of a store's refusal, nil if it did not refuse.
func refusal(_ body: () throws -> Void) -> StoreError.Kind? {
  do {
    try body()
    return nil
  } catch { return (error as? StoreError)?.kind }
}
