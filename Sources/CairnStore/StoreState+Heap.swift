import CairnMerge

/// The heap only grows by itself: what a cell referred to stays there when another value takes its
/// place. Whoever types a text that is set as a whole would fill the memory, long before there is
/// anything that a compaction folds.
extension StoreState {
  /// Leaves behind what no cell refers to, if that is the greater part of the heap. The next look
  /// comes when the heap is twice as long: so those of a large import cost little.
  @inline(never)
  mutating func tidyHeap() {
    let live = tables.indices.reduce(0) { $0 + tables[$1].heapBytes }
    if ground.heap.count - live > ground.heap.count / 2 {
      let old = ground.heap
      ground.heap = []
      ground.heap.reserveCapacity(live)
      for number in tables.indices { tables[number].moveCells(from: old, to: &ground) }
    }
    ground.heapLimit = ground.heap.count + max(Ground.heapKept, ground.heap.count)
  }
}

extension TableState {
  /// Bytes of the heap that cells refer to, those that a roll-back brings back among them.
  fileprivate var heapBytes: Int {
    var count = 0
    for column in columns.indices { count += columns[column].heapBytes }
    for entry in undo where CellTag.isHeap(entry.tag) && entry.tag != CellTag.editedList {
      count += Cell.heapRange(entry.word).count
    }
    return count
  }

  fileprivate mutating func moveCells(from old: [UInt8], to ground: inout Ground) {
    for column in columns.indices { columns[column].move(from: old, to: &ground) }
    for index in undo.indices {
      undo[index].word = ground.adopt(undo[index].cell, from: old).word
    }
    // They refer to the heap, too: the next query that needs one makes it anew.
    for column in Array(indexes.keys) {
      indexes[column] = OverlayIndex()
      columns[column].touched = nil
    }
  }
}
