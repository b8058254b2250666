import CairnBytes

/// Which notes in `undo` are of one record.
extension TableState {
  /// Made when somebody asks: who loads many records never does, and who opens lists in as many may
  /// not look through all notes for each.
  struct UndoLinks {
    /// By note: the number of the one before it of the same record, plus one.
    fileprivate var previous: [UInt32] = []
    /// By pending record: the number of its last note, plus one.
    fileprivate var last: [UInt32] = []

    mutating func clear() {
      previous.clear()
      last.clear()
    }
  }

  /// Where in `undo` the notes of a pending record are, the oldest first.
  mutating func undoIndexes(of slot: Int) -> [Int] {
    linkUndo()
    var result: [Int] = []
    let mark = Int(pendingMarks[slot])
    var next = mark == 0 ? 0 : undoLinks.last[mark - 1]
    while next != 0 {
      result.append(Int(next) - 1)
      next = undoLinks.previous[Int(next) - 1]
    }
    result.reverse()
    return result
  }

  /// Takes in what was noted since the last time.
  private mutating func linkUndo() {
    while undoLinks.last.count < pendingRecords.count { undoLinks.last.append(0) }
    for index in undoLinks.previous.count..<undo.count {
      let mark = Int(pendingMarks[Int(undo[index].slot)])
      undoLinks.previous.append(mark == 0 ? 0 : undoLinks.last[mark - 1])
      if mark != 0 { undoLinks.last[mark - 1] = UInt32(index + 1) }
    }
  }
}
