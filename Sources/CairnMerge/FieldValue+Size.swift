extension FieldValue {
  /// The bytes that this value counts for: none for the types of fixed width.
  package var size: Int {
    switch self {
    case .bool, .int, .double, .date: 0
    case .string(let value): value.utf8.count
    case .bytes(let value): value.count
    case .list(let items): items.reduce(0) { $0 + Sizes.listItem + $1.size }
    }
  }
}
