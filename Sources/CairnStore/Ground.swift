import CairnBytes
import CairnMerge

/// What all tables of a store stand on: the snapshot below them, the heap that their cells' words
/// refer to, and the stamps of their writes.
struct Ground {
  var base: BaseSnapshot?
  var heap: [UInt8] = []
  var stamps = StampTable()
  /// Counts freezes for compaction: a slot that changed in the current epoch outlives the switch
  /// to the new snapshot.
  var epoch: UInt32 = 1

  /// Copies a cell of another heap into this one.
  @inline(__always)
  mutating func adopt(_ cell: Cell, from other: [UInt8]) -> Cell {
    guard CellTag.isHeap(cell.tag), cell.tag != CellTag.editedList else { return cell }
    let start = heap.count
    heap.put(other, Cell.heapRange(cell.word))
    return Cell(tag: cell.tag, word: Cell.heapWord(start..<heap.count))
  }
}

/// A cell and the bytes that its word may refer to.
struct CellView {
  var cell: Cell
  var heap: [UInt8]

  static let none = CellView(cell: .none, heap: [])

  var value: FieldValue? { cell.value(heap) }
  /// What the field counts with: nothing if there is no value.
  var fieldSize: Int {
    CellTag.isValue(cell.tag) ? Sizes.field + cell.valueSize(heap) : 0
  }
}
