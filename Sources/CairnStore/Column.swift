import CairnMerge

/// One field of a table's overlay: a cell and the stamp of its writer for each slot.
///
/// Dense columns are arrays by slot. A column that few slots have (its first cell came late, or a
/// table has thousands of different fields) is a dictionary until an eighth of the slots have it,
/// so that memory follows what is there.
struct Column {
  let field: Int
  /// The rule that this field is merged by; kept here because every write asks.
  var rule: Rule
  private(set) var tags: [UInt8] = []
  private(set) var words: [UInt64] = []
  private(set) var stamps: [UInt32] = []
  private var sparse: [UInt32: SparseCell]? = [:]
  /// The slots whose cells were set, for an index that has to follow; nil if there is none.
  var touched: SlotMarks?

  private struct SparseCell {
    var tag: UInt8
    var word: UInt64
    var stamp: UInt32
  }

  init(field: Int, rule: Rule) {
    self.field = field
    self.rule = rule
  }

  var isDense: Bool { sparse == nil }

  /// What a cell of a dense column takes.
  static let cellBytes = 13

  /// The slots that may have a cell, for walking over a whole column.
  var denseCount: Int { tags.count }

  @inline(__always)
  func tag(_ slot: Int) -> UInt8 {
    if slot < tags.count { return tags[slot] }
    guard let sparse else { return CellTag.none }
    return sparse[UInt32(slot)]?.tag ?? CellTag.none
  }

  @inline(__always)
  func cell(_ slot: Int) -> Cell {
    if slot < tags.count { return Cell(tag: tags[slot], word: words[slot]) }
    guard let found = sparse?[UInt32(slot)] else { return .none }
    return Cell(tag: found.tag, word: found.word)
  }

  @inline(__always)
  func stamp(_ slot: Int) -> UInt32 {
    if slot < stamps.count { return stamps[slot] }
    return sparse?[UInt32(slot)]?.stamp ?? StampTable.settled
  }

  @inline(__always)
  mutating func set(_ slot: Int, _ cell: Cell, stamp: UInt32) {
    if touched != nil { touched?.insert(slot) }
    if slot < tags.count {
      tags[slot] = cell.tag
      words[slot] = cell.word
      stamps[slot] = stamp
    } else if sparse == nil, slot == tags.count {
      tags.append(cell.tag)
      words.append(cell.word)
      stamps.append(stamp)
    } else {
      setOutside(slot, cell, stamp: stamp)
    }
  }

  /// Sets a cell and gives back what was there.
  @inline(__always)
  mutating func replace(
    _ slot: Int, with cell: Cell, stamp: UInt32
  ) -> (cell: Cell, stamp: UInt32) {
    let old = (self.cell(slot), self.stamp(slot))
    set(slot, cell, stamp: stamp)
    return old
  }

  mutating func set(_ slot: Int, stamp: UInt32) {
    if slot < stamps.count {
      stamps[slot] = stamp
    } else {
      sparse?[UInt32(slot)]?.stamp = stamp
    }
  }

  /// Gives a cell that is pending the stamp of its delta.
  @inline(__always)
  mutating func commit(_ slot: Int, stamp: UInt32) {
    if slot < stamps.count {
      if stamps[slot] == StampTable.pending { stamps[slot] = stamp }
    } else if self.stamp(slot) == StampTable.pending {
      set(slot, stamp: stamp)
    }
  }

  // MARK: the heap

  private static func isInHeap(_ tag: UInt8) -> Bool {
    CellTag.isHeap(tag) && tag != CellTag.editedList
  }

  /// Bytes of the heap that its cells refer to.
  var heapBytes: Int {
    var count = 0
    for slot in tags.indices where Column.isInHeap(tags[slot]) {
      count += Cell.heapRange(words[slot]).count
    }
    guard let sparse else { return count }
    for cell in sparse.values where Column.isInHeap(cell.tag) {
      count += Cell.heapRange(cell.word).count
    }
    return count
  }

  /// Lets its cells refer to their bytes in another heap, where they are appended.
  mutating func move(from old: [UInt8], to new: inout Ground) {
    for slot in tags.indices where Column.isInHeap(tags[slot]) {
      words[slot] = new.adopt(Cell(tag: tags[slot], word: words[slot]), from: old).word
    }
    guard let cells = sparse else { return }
    for (slot, cell) in cells where Column.isInHeap(cell.tag) {
      let moved = new.adopt(Cell(tag: cell.tag, word: cell.word), from: old)
      sparse?[slot]?.word = moved.word
    }
  }

  private mutating func setOutside(_ slot: Int, _ cell: Cell, stamp: UInt32) {
    guard let count = sparse?.count else {
      grow(to: slot + 1)
      set(slot, cell, stamp: stamp)
      return
    }
    sparse?[UInt32(slot)] = SparseCell(tag: cell.tag, word: cell.word, stamp: stamp)
    if (count + 1) * 8 > slot { makeDense(slot + 1) }
  }

  private mutating func grow(to count: Int) {
    let missing = count - tags.count
    tags.append(contentsOf: repeatElement(CellTag.none, count: missing))
    words.append(contentsOf: repeatElement(0, count: missing))
    stamps.append(contentsOf: repeatElement(StampTable.settled, count: missing))
  }

  private mutating func makeDense(_ count: Int) {
    let cells = sparse ?? [:]
    sparse = nil
    grow(to: max(count, (cells.keys.max().map(Int.init) ?? 0) + 1))
    for (slot, cell) in cells {
      tags[Int(slot)] = cell.tag
      words[Int(slot)] = cell.word
      stamps[Int(slot)] = cell.stamp
    }
  }
}
