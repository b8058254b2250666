extension FieldValue {
  /// Whether a query for `other` finds this value.
  ///
  /// Numbers match by their numeric value (1 and 1.0, 0.0 and -0.0, NaN and NaN), everything else
  /// only its own kind: no bool is a number. Lists match item by item.
  package func matches(_ other: FieldValue) -> Bool {
    switch (self, other) {
    case (.string(let a), .string(let b)): a.hasSameUTF8(as: b)
    case (.bytes(let a), .bytes(let b)): a == b
    default: FieldValue.ordered(self, other) == 0
    }
  }
}
