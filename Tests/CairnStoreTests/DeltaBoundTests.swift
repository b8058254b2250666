import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A commit that no reader would take, the next opening included, is refused before it is written.
struct DeltaBoundTests {
  @Test func `a commit in more tables than a delta may have is refused, and loses nothing`()
    throws
  {
    let device = try StoreDevice(1) {
      $0.limits.deltaBytes = 8 << 20
      $0.limits.datastoreBytes = 64 << 20
    }
    let id = RecordName("r")
    try device.store.insert("before")
    try device.store.sync()
    let tables = FormatBounds.tablesInDelta + 1
    for number in 0..<tables { try device.store.insert(table: "x\(number)", id: id, []) }
    let pending = device.store.totals.pending
    for _ in 0..<2 { #expect(refusal { try device.store.sync() } == .sizeLimit) }
    #expect(device.store.totals.pending == pending)
    #expect(device.store.vector[device.id] == 1)
    // One less is what a reader takes.
    try device.store.delete(table: "x7", id: id)
    try device.store.sync()
    #expect(device.store.vector[device.id] == 2)
    try device.reopen()
    #expect(device.store.recovery.isEmpty)
    #expect(device.store.totals.records == tables)
    #expect(try device.store.exists(table: "x\(tables - 1)", id: id))
    #expect(try !device.store.exists(table: "x7", id: id))
  }

  @Test func `what was refused can be taken back`() throws {
    let device = try StoreDevice(1) {
      $0.limits.deltaBytes = 8 << 20
      $0.limits.datastoreBytes = 64 << 20
    }
    try device.store.insert("before")
    try device.store.sync()
    for number in 0...FormatBounds.tablesInDelta {
      try device.store.insert(table: "x\(number)", id: RecordName("r"), [])
    }
    #expect(refusal { try device.store.sync() } == .sizeLimit)
    try device.store.rollBack()
    try device.store.insert("after")
    try device.store.sync()
    try device.reopen()
    #expect(device.store.recovery.isEmpty)
    #expect(device.store.totals.records == 2)
    #expect(try device.store.get("after") == [:])
  }

  @Test func `what a delta may have is asked of each of its tables`() {
    func made(columns: [Int], tables: Int) -> Delta {
      var delta = Delta()
      let column = Delta.Column(field: "f", operation: .put, cells: 0..<0)
      for index in 0..<tables {
        let start = delta.columns.count
        let count = index < columns.count ? columns[index] : 0
        delta.columns += Array(repeating: column, count: count)
        delta.sections.append(
          Delta.Section(table: "t", records: 0..<1, columns: start..<(start + count)))
      }
      return delta
    }
    let most = FormatBounds.columnsInTable
    for (columns, tables, isBeyond) in [
      ([], FormatBounds.tablesInDelta, false), ([], FormatBounds.tablesInDelta + 1, true),
      ([most], 1, false), ([most + 1], 1, true), ([1, most + 1], 2, true), ([most, 1], 2, false),
    ] as [([Int], Int, Bool)] {
      var delta = made(columns: columns, tables: tables)
      #expect(delta.isBeyondBounds() == isBeyond, "\(columns), \(tables)")
    }
  }

  @Test func `what a delta may put into lists is asked of all its edits together`() {
    func edit(_ counts: [Int]) -> ListEdit {
      var edit = ListEdit()
      edit.chains = counts.map {
        ListEdit.Chain(
          parent: NodeID(Dot(device: DeviceID(rawValue: 1), sequence: 1), 0), side: .right,
          count: UInt32($0))
      }
      return edit
    }
    func splices(_ counts: [Int]) -> ListSplices {
      var splices = ListSplices()
      splices.steps = counts.map { ListSplices.Step(skipped: 1, deleted: 1, inserted: $0) }
      return splices
    }
    let most = 1 << 24
    for (lists, isBeyond) in [
      ([[most]], false), ([[most + 1]], true), ([[most - 1], [1]], false), ([[most], [1]], true),
      ([[1], [most - 2, 1]], false), ([[1], [most - 1, 1]], true), ([[], [most]], false),
    ] as [([[Int]], Bool)] {
      var (edited, spliced) = (Delta(), Delta())
      for (cell, counts) in lists.enumerated() {
        edited.edits[cell] = edit(counts)
        spliced.splices[cell] = splices(counts)
      }
      #expect(edited.isBeyondBounds() == isBeyond, "\(lists)")
      #expect(spliced.isBeyondBounds() == isBeyond, "\(lists)")
    }
  }
}
