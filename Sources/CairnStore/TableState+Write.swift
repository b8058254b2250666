import CairnBytes
import CairnMerge

/// Local changes: they show at once, remember what was there, and have no dot yet.
extension TableState {
  /// The pending record of a slot; a new one if the slot was not touched since the last commit.
  mutating func pend(_ slot: Int) -> Int {
    if pendingMarks[slot] != 0 { return Int(pendingMarks[slot]) - 1 }
    pendingRecords.append(
      PendingRecord(
        slot: slot, flagsBefore: flags[slot], presenceBefore: presences[slot],
        sizeBefore: sizes[slot]))
    pendingMarks[slot] = UInt32(pendingRecords.count)
    return pendingRecords.count - 1
  }

  /// A change of a record has been made.
  mutating func notePending(_ slot: Int, size: Int, records: Int, changeSize: Int) {
    let pending = pend(slot)
    pendingRecords[pending].changeSize += changeSize
    if records < 0 { return }
    sizes[slot] = UInt32(clamping: records == 1 ? size : Int(sizes[slot]) + size)
  }

  mutating func grow(_ slot: Int, by size: Int) {
    sizes[slot] = UInt32(clamping: Int(sizes[slot]) + size)
  }

  /// Puts a cell; the first time since the last commit, the old one is remembered.
  ///
  /// The column is asked once, by a call that changes it: reading it several times here copied it
  /// with its arrays each time, and their reference counts took a quarter of a bulk load.
  @inline(__always)
  mutating func put(_ slot: Int, _ column: Int, _ cell: Cell) {
    if mayEditLists, mayHaveEdits(slot, column) { leaveList(slot, column) }
    let (old, stamp) = columns[column].replace(slot, with: cell, stamp: StampTable.pending)
    if stamp == StampTable.pending { return }
    undo.append(
      Undo(
        slot: UInt32(slot), column: UInt32(column), stamp: stamp, tag: old.tag, word: old.word))
  }

  /// The cells of a record that is being inserted, in one call: the table is looked up once.
  mutating func put(_ slot: Int, _ targets: [StoreState.Target]) {
    for target in targets { put(slot, target.column, target.cell) }
  }

  /// Whether the pending delta writes this cell already.
  @inline(__always)
  func isPending(_ slot: Int, _ column: Int) -> Bool {
    columns[column].stamp(slot) == StampTable.pending
  }

  mutating func insert(_ slot: Int) {
    let pending = pend(slot)
    pendingRecords[pending].inserted = true
    flags[slot] |= Flag.exists
    if flags[slot] & Flag.complex == 0 { presences[slot] = StampTable.pending }
    sizes[slot] = UInt32(Sizes.record)
  }

  mutating func delete(_ slot: Int) {
    let pending = pend(slot)
    for column in columns.indices {
      if columns[column].tag(slot) != CellTag.none {
        put(slot, column, .none)
      } else if pendingRecords[pending].lastList != 0 {
        leaveList(slot, column)
      }
    }
    pendingRecords[pending].inserted = false
    pendingRecords[pending].deleted = pendingRecords[pending].existedBefore
    flags[slot] = flags[slot] & ~Flag.exists | Flag.hidesBase
    sizes[slot] = 0
  }

  /// Takes all pending changes back.
  mutating func rollBack() {
    rollBackLists()
    for old in undo.reversed() {
      columns[Int(old.column)].set(Int(old.slot), old.cell, stamp: old.stamp)
    }
    for pending in pendingRecords {
      flags[pending.slot] = pending.flagsBefore
      presences[pending.slot] = pending.presenceBefore
      sizes[pending.slot] = pending.sizeBefore
      pendingMarks[pending.slot] = 0
    }
    forgetPending()
  }

  mutating func forgetPending() {
    undo.clear()
    undoLinks.clear()
    pendingRecords.clear()
    pendingLists.clear()
    collectedLists.clear()
  }
}
