import CairnMerge

/// The order of a query's result: by the first field's entries, and where those tie by all values
/// and the id.
extension StoreState {
  /// All ids of a query's result, in its order if it has one.
  mutating func run(_ number: Int, _ query: RecordQuery) throws(StoreError) -> [RecordName] {
    let plan = try plan(number, query)
    if !query.isOrdered { return try names(number, places(number, plan)) }
    if plan.wanted == 0 { return [] }
    var rows = SortRows(plan)
    if case .order(let view, let ranges, _) = plan.source {
      try walk(number, plan, view, ranges, into: &rows)
    } else {
      for place in try places(number, plan) { try add(number, plan, place, to: &rows) }
    }
    try order(number, plan, &rows)
    return try names(number, rows.rows.dropFirst(query.skip).map(\.place))
  }

  /// How many records the result has.
  mutating func count(_ number: Int, _ query: RecordQuery) throws(StoreError) -> Int {
    var all: Int
    if query.conditions.isEmpty {
      all = try count(number)
    } else {
      var plain = RecordQuery()
      plain.conditions = query.conditions
      all = try places(number, try plan(number, plain)).count
    }
    all = max(0, all - query.skip)
    return min(all, query.limit ?? all)
  }

  private mutating func add(
    _ number: Int, _ plan: QueryPlan, _ place: TableState.Place, to rows: inout SortRows
  ) throws(StoreError) {
    if let column = plan.sortColumns.first {
      // A plain row's cell is in its block: no view of it is needed.
      if case .base(let row) = place, let block = try ground.base?.block(Int(row.block)),
        !block.hasComplexRows, tables[number].baseFields[column] >= 0
      {
        let cell = block.cell(Int(row.row), Int(tables[number].baseFields[column]))
        rows.add(place, IndexEntry(cell, block.bytes, reference: 0), block.bytes)
        if rows.isFull { try order(number, plan, &rows) }
        return
      }
      let view = try tables[number].view(place, column, &ground)
      rows.add(place, IndexEntry(view.cell, view.heap, reference: 0), view.heap)
    } else if let name = try name(number, place) {
      rows.add(place, IndexEntry(rank: IndexEntry.Rank.number, word: name.textPrefix), [])
    }
    if rows.isFull { try order(number, plan, &rows) }
  }

  /// Sorts the rows, and drops what is behind the last one wanted.
  private mutating func order(
    _ number: Int, _ plan: QueryPlan, _ rows: inout SortRows
  ) throws(StoreError) {
    var sorted = rows.rows
    sorted.sort { rows.precedes($0.entry, $1.entry) }
    var start = 0
    while start < min(sorted.count, rows.wanted) {
      var end = start + 1
      while end < sorted.count, !rows.precedes(sorted[start].entry, sorted[end].entry) { end += 1 }
      if end - start > 1 {
        sorted.replaceSubrange(start..<end, with: try byKeys(number, plan, sorted[start..<end]))
      }
      start = end
    }
    if sorted.count > rows.wanted { sorted.removeLast(sorted.count - rows.wanted) }
    rows.rows = sorted
    rows.trim()
  }

  /// Sorts rows whose entries tie.
  private mutating func byKeys(
    _ number: Int, _ plan: QueryPlan, _ rows: ArraySlice<SortRows.Row>
  ) throws(StoreError) -> [SortRows.Row] {
    // Equal entries of one field decide nothing where they stand for equal values.
    let isSettled = rows.first?.entry.isExact ?? false
    var keyed: [(key: RecordQuery.Key, row: SortRows.Row)] = []
    keyed.reserveCapacity(rows.count)
    for row in rows {
      guard let id = try name(number, row.place) else { continue }
      var key = RecordQuery.Key(values: [], id: id)
      for (index, column) in plan.sortColumns.enumerated() {
        if index == 0, isSettled {
          key.values.append(nil)
        } else {
          key.values.append(try tables[number].view(row.place, column, &ground).value)
        }
      }
      keyed.append((key, row))
    }
    keyed.sort { plan.query.precedes($0.key, $1.key) }
    return keyed.map(\.row)
  }

  // MARK: in the order of an index

  /// Feeds records in the order of an index until there are enough, and all that tie with the last.
  private mutating func walk(
    _ number: Int, _ plan: QueryPlan, _ view: IndexView, _ ranges: [KeyRange],
    into rows: inout SortRows
  ) throws(StoreError) {
    guard let overlay = tables[number].indexes[view.column] else { return }
    let heap = ground.heap
    let baseHeap = view.base?.heap ?? []
    var last: (entry: IndexEntry, heap: [UInt8])?
    for range in rows.isDescending ? ranges.reversed() : ranges {
      var pair = IndexWalk(
        view.base, overlay, range, heap: heap, isDescending: rows.isDescending)
      while let (entry, isBase) = pair.next() {
        let own = isBase ? baseHeap : heap
        if rows.added >= rows.wanted, let last, last.entry.order(last.heap, entry, own) != 0 {
          return
        }
        let place =
          isBase
          ? try place(number, view.column, base: entry)
          : place(number, view.column, overlay: entry)
        guard let place, try matches(number, plan, place) else { continue }
        last = (entry, own)
        rows.add(place, entry, own)
        if rows.isFull { try order(number, plan, &rows) }
      }
    }
  }
}
