import CairnMerge

/// Which lists of a record have pending edits, whether they show or are hidden by now.
extension TableState {
  /// An edit of a list was made that counts with so much in the pending delta; of that the record's
  /// own, which stays when something else takes the list's place, is `changeSize`. `number` is the
  /// list's here, if it was committed, and may be the next one.
  mutating func noteEdit(
    _ slot: Int, _ column: Int, _ number: Int?, root: Dot, size: Int, changeSize: Int
  ) {
    let pending = pend(slot)
    pendingRecords[pending].changeSize += size
    guard let number else { return }
    if number == pendingLists.count {
      var list = PendingList(
        key: ListKey(slot: slot, column: column, root: root),
        previous: pendingRecords[pending].lastList)
      list.size = size - changeSize
      pendingLists.append(list)
      pendingRecords[pending].lastList = UInt32(pendingLists.count)
    } else {
      pendingLists[number].size += size - changeSize
    }
  }

  /// The number of the last list of a record that has pending edits, plus one; 0 if it has none.
  @inline(__always)
  private func lastPendingList(_ slot: Int) -> UInt32 {
    let mark = pendingMarks[slot]
    return mark == 0 ? 0 : pendingRecords[Int(mark) - 1].lastList
  }

  /// What pending edits of a field's lists count with in the pending delta.
  func pendingListSize(_ slot: Int, _ column: Int) -> Int {
    if pendingLists.isEmpty { return 0 }
    var (size, next) = (0, lastPendingList(slot))
    while next != 0 {
      let list = pendingLists[Int(next) - 1]
      if list.key.isOf(slot, column), !list.isGone { size += list.size }
      next = list.previous
    }
    return size
  }

  /// Whether a field shows a list that is being edited, or may have one with pending edits that
  /// another rule, or an item's value, has hidden since.
  @inline(__always)
  func mayHaveEdits(_ slot: Int, _ column: Int) -> Bool {
    columns[column].tag(slot) == CellTag.editedList
      || !pendingLists.isEmpty && lastPendingList(slot) != 0
  }

  /// Something else takes the place of a list: edits of it that are pending were for nothing.
  mutating func leaveList(_ slot: Int, _ column: Int) {
    var next = pendingLists.isEmpty ? 0 : lastPendingList(slot)
    while next != 0 {
      let index = Int(next) - 1
      next = pendingLists[index].previous
      guard pendingLists[index].key.isOf(slot, column), !pendingLists[index].isGone else {
        continue
      }
      withPending(pendingLists[index].key) { $0.rollBack() }
      pendingLists[index].isGone = true
    }
    if isPending(slot, column) { free(columns[column].cell(slot)) }
  }
}
