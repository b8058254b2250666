import CairnBytes
import CairnMerge

/// The rows of a table in a snapshot, sorted by the value of one field. Never changes; rows that
/// the overlay replaced since are for the reader to leave out. Deleted records are not in it.
final class BaseIndex: Sendable {
  let entries: [IndexEntry]
  let heap: [UInt8]
  /// The rule by which records in conflict show what they do here.
  private let rule: Rule
  private let hasComplexRows: Bool

  private init(entries: [IndexEntry], heap: [UInt8], rule: Rule, hasComplexRows: Bool) {
    self.entries = entries
    self.heap = heap
    self.rule = rule
    self.hasComplexRows = hasComplexRows
  }

  /// Whether it is right under this rule, too.
  func holds(under rule: Rule) -> Bool { rule == self.rule || !hasComplexRows }

  /// One pass over the table's blocks, then a sort.
  static func build(
    _ name: IndexName, rule: Rule, over base: inout BaseSnapshot
  ) throws(StoreError) -> BaseIndex {
    var entries: [IndexEntry] = []
    var heap: [UInt8] = []
    var hasComplexRows = false
    let table = base.tableNumber(name.table).map { base.description.tables[$0] }
    if let table {
      entries.reserveCapacity(table.rowCount)
      let field = base.fields.number(name.field)
      for number in table.firstBlock..<(table.firstBlock + table.blockCount) {
        let block = try base.readUnkept(number)
        let isMixed = block.hasComplexRows
        for row in 0..<block.rowCount {
          let reference = RowPlace(block: UInt32(number), row: UInt32(row)).reference
          if isMixed, let range = block.complexState(row) {
            hasComplexRows = true
            let state = try TableState.state(block.bytes, range, Ground(base: base))
            guard state.exists else { continue }
            let view = CellView(state.visible(name.field, rule: rule), isCreated: false)
            entries.append(
              IndexEntry(view.cell, view.heap, reference: reference)
                .moved(into: &heap, from: view.heap))
            continue
          }
          let cell = block.cell(row, field)
          entries.append(
            IndexEntry(cell, block.bytes, reference: reference)
              .moved(into: &heap, from: block.bytes))
        }
      }
    }
    entries.sort { IndexEntry.precedes($0, $1, heap) }
    return BaseIndex(entries: entries, heap: heap, rule: rule, hasComplexRows: hasComplexRows)
  }

  /// The entries of a range, as positions.
  func positions(_ range: KeyRange) -> Range<Int> {
    let start = position(range.lower, isBehind: !range.includesLower)
    let end = position(range.upper, isBehind: range.includesUpper)
    return start..<max(start, end)
  }

  /// The first entry that is not before the bound; with `isBehind`, the first after it.
  private func position(_ bound: KeyRange.Bound, isBehind: Bool) -> Int {
    entries.partitionPoint {
      let order = $0.order(heap, bound.entry, bound.heap)
      return order > 0 || order == 0 && !isBehind
    }
  }
}

extension RowPlace {
  /// As an index entry refers to it: a block has at most 4,096 rows.
  var reference: UInt64 { UInt64(block) << 12 | UInt64(row) }

  init(reference: UInt64) {
    self.init(
      block: UInt32(truncatingIfNeeded: reference >> 12), row: UInt32(reference & 0xFFF))
  }
}
