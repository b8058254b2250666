package import CairnMerge

/// Values between two bounds, either of which may be missing. A value of another kind than a bound
/// is in no range with it.
package struct ValueRange: Hashable, Sendable {
  package var lower: FieldValue?
  package var upper: FieldValue?
  package var includesLower: Bool
  package var includesUpper: Bool

  package init(
    lower: FieldValue? = nil, upper: FieldValue? = nil, includesLower: Bool = true,
    includesUpper: Bool = true
  ) {
    self.lower = lower
    self.upper = upper
    self.includesLower = includesLower
    self.includesUpper = includesUpper
  }

  package func contains(_ value: FieldValue) -> Bool {
    if let lower {
      guard FieldValue.isSameKind(value, lower) else { return false }
      let order = FieldValue.ordered(value, lower)
      if order < 0 || order == 0 && !includesLower { return false }
    }
    if let upper {
      guard FieldValue.isSameKind(value, upper) else { return false }
      let order = FieldValue.ordered(value, upper)
      if order > 0 || order == 0 && !includesUpper { return false }
    }
    return true
  }
}
