import CairnBytes
import CairnMerge

/// What all tables of a store stand on: the snapshot below them, the heap that their cells' words
/// refer to, and the stamps of their writes.
struct Ground {
  var base: BaseSnapshot?
  var heap: [UInt8] = []
  /// Once the heap is longer it is worth a look whether most of it is in use.
  var heapLimit = Ground.heapKept
  var stamps = StampTable()
  /// Counts freezes for compaction: a slot that changed in the current epoch outlives the switch
  /// to the new snapshot.
  var epoch: UInt32 = 1

  /// So much that nobody refers to may stay in the heap, whatever else is in there.
  static let heapKept = 8 << 20

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
  /// The items of a list that is in a record's state: the cell says only that it is a list. Merging
  /// may make one longer than any word could say.
  private(set) var items: [FieldValue]?

  static let none = CellView(cell: .none, heap: [])

  init(cell: Cell, heap: [UInt8]) { (self.cell, self.heap) = (cell, heap) }

  init(items: [FieldValue], isCreated: Bool) {
    cell = Cell(tag: isCreated ? CellTag.createdList : CellTag.list)
    heap = []
    self.items = items
  }

  /// What a record's state shows.
  init(_ value: FieldValue?, isCreated: Bool) {
    self = .none
    switch value {
    case nil: break
    case .list(let items): self = CellView(items: items, isCreated: isCreated)
    case let value: cell = Cell(value, heap: &heap)
    }
  }

  var value: FieldValue? {
    if let items { return .list(items) }
    return cell.value(heap)
  }

  /// What the field counts with: nothing if there is no value.
  var fieldSize: Int {
    if let items { return Sizes.field(.list(items)) }
    return CellTag.isValue(cell.tag) ? Sizes.field + cell.valueSize(heap) : 0
  }
}
