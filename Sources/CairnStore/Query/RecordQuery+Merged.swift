import CairnMerge

extension RecordQuery {
  /// The same query with the ranges of one field in one condition where they are of one kind: an
  /// index finds what lies between two bounds, not what is on one side of each.
  var merged: RecordQuery {
    var query = self
    query.conditions = []
    for condition in conditions {
      if case .range(let range) = condition.test,
        let position = query.conditions.firstIndex(where: {
          $0.field == condition.field && $0.isRange
        }),
        case .range(let other) = query.conditions[position].test,
        let both = other.intersection(range)
      {
        query.conditions[position].test = .range(both)
      } else {
        query.conditions.append(condition)
      }
    }
    return query
  }
}

extension RecordQuery.Condition {
  fileprivate var isRange: Bool {
    if case .range = test { true } else { false }
  }
}

extension ValueRange {
  /// What is in both, nil if their bounds are of different kinds.
  fileprivate func intersection(_ other: ValueRange) -> ValueRange? {
    let bounds = [lower, upper, other.lower, other.upper].compactMap { $0 }
    guard let first = bounds.first, bounds.allSatisfy({ FieldValue.isSameKind($0, first) }) else {
      return nil
    }
    var result = self
    if let bound = other.lower {
      let order = lower.map { FieldValue.ordered(bound, $0) } ?? 1
      if order >= 0 {
        result.includesLower = other.includesLower && (order > 0 || includesLower)
        result.lower = bound
      }
    }
    if let bound = other.upper {
      let order = upper.map { FieldValue.ordered(bound, $0) } ?? -1
      if order <= 0 {
        result.includesUpper = other.includesUpper && (order < 0 || includesUpper)
        result.upper = bound
      }
    }
    return result
  }
}
