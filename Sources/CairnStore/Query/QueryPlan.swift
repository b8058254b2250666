import CairnMerge

/// How a query finds its records. Every way gives the same result.
struct QueryPlan {
  enum Source {
    /// All records of the table.
    case scan
    /// Those that an index has in some ranges; `condition` needs no more asking if they are exact.
    case index(IndexView, condition: Int, ranges: [KeyRange])
    /// The records in the order of an index, until there are enough.
    case order(IndexView, ranges: [KeyRange], isDescending: Bool)
  }

  var source = Source.scan
  /// Records that are looked at, at most.
  var candidates = 0
  var tests: [CellTest] = []
  /// The column of each test, and of each sort.
  var columns: [Int] = []
  var sortColumns: [Int] = []
  let query: RecordQuery

  /// So many records are wanted from the beginning, skipped ones included.
  var wanted: Int {
    guard let limit = query.limit else { return .max }
    let (sum, overflow) = limit.addingReportingOverflow(query.skip)
    return overflow ? .max : sum
  }

  /// A condition that the source answers completely.
  var settledTest: Int? {
    guard case .index(_, let condition, let ranges) = source, ranges.allSatisfy(\.isExact) else {
      return nil
    }
    return condition
  }
}

extension StoreState {
  /// Chooses how to find a query's records.
  mutating func plan(_ number: Int, _ query: RecordQuery) throws(StoreError) -> QueryPlan {
    let query = query.merged
    var plan = QueryPlan(query: query)
    for condition in query.conditions {
      plan.tests.append(CellTest(condition.test))
      plan.columns.append(tables[number].column(condition.field, &ground, rules))
    }
    for sort in query.sorts {
      plan.sortColumns.append(tables[number].column(sort.field, &ground, rules))
    }
    let all = tables[number].baseRows(ground.base) + tables[number].ids.count
    plan.candidates = all
    if indexNames.isEmpty { return plan }
    var best: (view: IndexView, condition: Int, ranges: [KeyRange])?
    for (position, condition) in query.conditions.enumerated() {
      guard let ranges = condition.test.keyRanges,
        let view = try index(number, condition.field)
      else { continue }
      let count = candidates(number, view, ranges)
      if best == nil || count < plan.candidates {
        best = (view, position, ranges)
        plan.candidates = count
      }
    }
    // From a quarter of the table on, a walk over its blocks is quicker than visits to rows.
    if let best, plan.candidates < all / 4 || plan.candidates < 64 {
      plan.source = .index(best.view, condition: best.condition, ranges: best.ranges)
    } else {
      plan.candidates = all
    }
    try considerOrder(number, &plan)
    return plan
  }

  /// The order of an index is worth more than a few candidates if only the first are wanted.
  private mutating func considerOrder(
    _ number: Int, _ plan: inout QueryPlan
  ) throws(StoreError) {
    guard let sort = plan.query.sorts.first, plan.query.limit != nil,
      let view = try index(number, sort.field)
    else { return }
    var ranges = [KeyRange(ranks: IndexEntry.Rank.absent..<IndexEntry.Rank.end)]
    var count = candidates(number, view, ranges)
    for condition in plan.query.conditions where condition.field == sort.field {
      guard let own = condition.test.keyRanges else { continue }
      let ownCount = candidates(number, view, own)
      if ownCount <= count { (ranges, count) = (own, ownCount) }
    }
    if case .index(let other, _, _) = plan.source, other.column != view.column,
      plan.candidates < max(256, count / 64)
    {
      return
    }
    plan.candidates = count
    plan.source = .order(view, ranges: ranges, isDescending: sort.isDescending)
  }

  /// The plan in words.
  mutating func explanation(
    _ number: Int, _ query: RecordQuery
  ) throws(StoreError) -> String {
    let plan = try plan(number, query)
    switch plan.source {
    case .scan: return "scan of \(plan.candidates) records"
    case .index(let view, _, _):
      return "index of \(tables[number].fieldNames[view.column]), \(plan.candidates) candidates"
    case .order(let view, _, _):
      return "order of the index of \(tables[number].fieldNames[view.column]), at most "
        + "\(plan.candidates) candidates, until there are \(plan.wanted)"
    }
  }
}
