import CairnBytes

/// A stored value without an object: a type byte and a word. Small values sit in the word; text,
/// bytes and lists sit in a heap (an array of bytes owned by whoever owns the cell), and the word
/// says where: 40 bits of offset, 24 bits of length.
@frozen
@usableFromInline
package struct Cell: Hashable, Sendable {
  @usableFromInline package var tag: UInt8
  @usableFromInline package var word: UInt64

  /// The longest text, bytes value or encoded list that any format can hold (16 MiB − 1).
  @inlinable package static var heapLengthMax: Int { 1 << 24 - 1 }

  @inlinable @inline(always)
  package init(tag: UInt8, word: UInt64 = 0) {
    self.tag = tag
    self.word = word
  }

  @inlinable package static var none: Cell { Cell(tag: CellTag.none) }
  @inlinable package static var absent: Cell { Cell(tag: CellTag.absent) }

  @inlinable @inline(always)
  package static func heapWord(_ range: Range<Int>) -> UInt64 {
    UInt64(range.lowerBound) << 24 | UInt64(range.count)
  }

  /// The heap range that a heap cell's word stands for.
  @inlinable @inline(always)
  package static func heapRange(_ word: UInt64) -> Range<Int> {
    let start = Int(word >> 24)
    return start..<(start + Int(word & 0xFF_FFFF))
  }
}

extension Cell {
  /// Stores a value; text, bytes and lists are appended to `heap`.
  package init(_ value: FieldValue?, heap: inout [UInt8]) {
    guard let value else {
      self = .absent
      return
    }
    switch value {
    case .bool(let flag): self.init(tag: flag ? CellTag.yes : CellTag.no)
    case .int(let number): self.init(tag: CellTag.int, word: UInt64(bitPattern: number))
    case .double(let number): self.init(tag: CellTag.double, word: number.canonicalBits)
    case .date(let time): self.init(tag: CellTag.date, word: UInt64(bitPattern: time))
    case .string(let text):
      let start = heap.count
      heap.putUTF8(text)
      self.init(tag: CellTag.string, word: Cell.heapWord(start..<heap.count))
    case .bytes(let bytes):
      let start = heap.count
      heap.append(contentsOf: bytes)
      self.init(tag: CellTag.bytes, word: Cell.heapWord(start..<heap.count))
    case .list(let items):
      let start = heap.count
      ListCoding.encode(items, into: &heap)
      self.init(tag: CellTag.list, word: Cell.heapWord(start..<heap.count))
    }
  }

  /// Stores a list that was begun by editing; its items are appended to `heap`.
  package init(created items: [FieldValue], heap: inout [UInt8]) {
    let start = heap.count
    ListCoding.encode(items, into: &heap)
    self.init(tag: CellTag.createdList, word: Cell.heapWord(start..<heap.count))
  }

  /// The value, built anew; nil for an absent or missing cell.
  package func value(_ heap: [UInt8]) -> FieldValue? {
    switch tag {
    case CellTag.no: .bool(false)
    case CellTag.yes: .bool(true)
    case CellTag.int: .int(Int64(bitPattern: word))
    case CellTag.double: .double(Double(bitPattern: word))
    case CellTag.date: .date(Int64(bitPattern: word))
    case CellTag.string: .string(heap.checkedText(Cell.heapRange(word)))
    case CellTag.bytes: .bytes([UInt8](heap[Cell.heapRange(word)]))
    case CellTag.list, CellTag.createdList:
      .list(ListCoding.decodeChecked(heap, Cell.heapRange(word)))
    default: nil
    }
  }

  /// The size that a value counts with: only text, bytes and lists count.
  package func valueSize(_ heap: [UInt8]) -> Int {
    if tag < CellTag.string { return 0 }
    if CellTag.isList(tag) { return ListCoding.size(heap, Cell.heapRange(word)) }
    return Int(word & 0xFF_FFFF)
  }

  /// Same type and same value, bit for bit.
  package func equals(_ heap: [UInt8], _ other: Cell, _ otherHeap: [UInt8]) -> Bool {
    guard tag == other.tag else { return false }
    if !CellTag.isHeap(tag) { return word == other.word }
    return heap.equal(Cell.heapRange(word), otherHeap, Cell.heapRange(other.word))
  }
}
