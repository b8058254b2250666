/// The value of one field. Bool, int and double are three types and never equal to each other.
///
/// `==` means "the same bytes": what a snapshot would store. For the looser equality of queries see
/// `matches`, for the order of `min` and `max` see `ordered`.
package enum FieldValue: Sendable {
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case string(String)
  case bytes([UInt8])
  /// Milliseconds since 1970.
  case date(Int64)
  /// Items of any other type. Lists in lists are refused before they get here: see `isStorable`.
  case list([FieldValue])

  /// False for a list that holds a list.
  package var isStorable: Bool {
    guard case .list(let items) = self else { return true }
    return !items.contains { item in
      if case .list = item { true } else { false }
    }
  }
}

extension FieldValue {
  /// The texts of one byte: lists of what people type are read by the hundred thousand.
  static let letters = (0..<128).map { FieldValue.string(String(UnicodeScalar(UInt8($0)))) }
}

extension FieldValue: Hashable {
  package static func == (a: FieldValue, b: FieldValue) -> Bool {
    switch (a, b) {
    case (.bool(let a), .bool(let b)): a == b
    case (.int(let a), .int(let b)): a == b
    case (.double(let a), .double(let b)): a.canonicalBits == b.canonicalBits
    case (.string(let a), .string(let b)): a.hasSameUTF8(as: b)
    case (.bytes(let a), .bytes(let b)): a == b
    case (.date(let a), .date(let b)): a == b
    case (.list(let a), .list(let b)): a == b
    default: false
    }
  }

  package func hash(into hasher: inout Hasher) {
    switch self {
    case .bool(let value): hasher.combine(value)
    case .int(let value), .date(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value.canonicalBits)
    case .string(let value): hasher.combine(value)
    case .bytes(let value): hasher.combine(value)
    case .list(let items): hasher.combine(items)
    }
  }
}

extension Double {
  /// The bits to store and to compare: every NaN has the same ones, and -0.0 keeps its own.
  package var canonicalBits: UInt64 { isNaN ? 0x7ff8_0000_0000_0000 : bitPattern }
}

extension String {
  /// `==` on strings holds for different bytes that mean the same characters. Replicas must not
  /// differ in bytes, so that is too loose for them.
  package func hasSameUTF8(as other: String) -> Bool {
    utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
  }
}
