import CairnMerge

/// The records of an ordered query that may be in its result, each with an entry of the field that
/// is sorted by first. With a limit, those that can't be are dropped now and then, so that memory
/// follows the limit.
struct SortRows {
  struct Row {
    var entry: IndexEntry
    var place: TableState.Place
  }

  var rows: [Row] = []
  /// What the entries refer to.
  var heap: [UInt8] = []
  /// How many were added, dropped ones included.
  private(set) var added = 0
  /// From the time when there were enough: what is behind this is not wanted.
  var worst: IndexEntry?
  let wanted: Int
  let isDescending: Bool

  init(_ plan: QueryPlan) {
    wanted = plan.wanted
    isDescending = plan.query.sorts.first?.isDescending ?? false
  }

  /// Takes a record, unless it comes too late; `cells` is what the entry refers to.
  mutating func add(_ place: TableState.Place, _ entry: IndexEntry, _ cells: [UInt8]) {
    added += 1
    if let worst {
      let order = entry.order(cells, worst, heap)
      if isDescending ? order < 0 : order > 0 { return }
    }
    rows.append(Row(entry: entry.moved(into: &heap, from: cells), place: place))
  }

  /// Whether it is time to drop some.
  var isFull: Bool {
    wanted < 1 << 40 && rows.count >= 2 * wanted + 1024
  }

  func precedes(_ a: IndexEntry, _ b: IndexEntry) -> Bool {
    let order = a.order(heap, b, heap)
    return isDescending ? order > 0 : order < 0
  }

  /// Gives back the heap of rows that are gone.
  mutating func trim() {
    var kept: [UInt8] = []
    for index in rows.indices {
      rows[index].entry = rows[index].entry.moved(into: &kept, from: heap)
    }
    heap = kept
    worst = rows.count >= wanted ? rows.last?.entry : nil
  }
}
