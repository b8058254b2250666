import CairnMerge

/// Sizes and counts of a whole datastore, kept up to date by every change, and what a sync is to
/// report.
struct StoreTotals {
  var size = Sizes.datastore
  var recordCount = 0
  /// Number of the sync that is applying deltas; 0 while nothing is reported.
  var reporting: UInt32 = 0

  @inline(__always)
  mutating func add(size more: Int, records: Int) {
    size += more
    recordCount += records
  }

  @inline(__always)
  func report(_ slot: Int, in table: inout TableState) {
    if reporting == 0 { return }
    while table.reportMarks.count <= slot { table.reportMarks.append(0) }
    if table.reportMarks[slot] == reporting { return }
    table.reportMarks[slot] = reporting
    table.reported.append(slot)
  }
}
