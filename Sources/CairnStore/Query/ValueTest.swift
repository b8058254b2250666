package import CairnMerge

/// What a query asks of one field's value. These definitions are what a scan of cells and an index
/// have to agree with.
package enum ValueTest: Hashable, Sendable {
  case equals(FieldValue)
  /// A value that is another one.
  case notEquals(FieldValue)
  case range(ValueRange)
  case oneOf([FieldValue])
  /// Any value.
  case exists
  case isAbsent
  /// A string that begins with these bytes.
  case hasPrefix(String)

  /// Whether a value (nil: an absent field) passes.
  package func matches(_ value: FieldValue?) -> Bool {
    guard let value else { return self == .isAbsent }
    switch self {
    case .equals(let wanted): return value.matches(wanted)
    case .notEquals(let unwanted): return !value.matches(unwanted)
    case .range(let range): return range.contains(value)
    case .oneOf(let wanted): return wanted.contains(where: value.matches)
    case .exists: return true
    case .isAbsent: return false
    case .hasPrefix(let prefix):
      guard case .string(let text) = value else { return false }
      return text.utf8.starts(with: prefix.utf8)
    }
  }
}
