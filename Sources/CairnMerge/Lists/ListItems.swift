import CairnBytes

/// Values in columns: a type byte and a word each, text and bytes in one heap. No object per item.
package struct ListItems: Sendable {
  /// The type byte of what is no item: a root, a place that an item was moved to (the word says
  /// which), or a deleted one.
  package static let none = CellTag.none
  package static let place: UInt8 = 0xFF

  package internal(set) var tags: [UInt8] = []
  package internal(set) var words: [UInt64] = []
  package internal(set) var heap: [UInt8] = []

  package init() {}

  package init(_ values: [FieldValue]) {
    tags.reserveCapacity(values.count)
    words.reserveCapacity(values.count)
    for value in values { append(value) }
  }

  package var count: Int { tags.count }

  package mutating func append(_ value: FieldValue) { append(Cell(value, heap: &heap)) }

  mutating func append(_ cell: Cell) {
    tags.append(cell.tag)
    words.append(cell.word)
  }

  /// Copies an item of another set of items.
  mutating func append(_ index: Int, of other: ListItems) { append(adopt(index, of: other)) }

  /// Copies the bytes of another's item here.
  mutating func adopt(_ index: Int, of other: ListItems) -> Cell {
    let cell = other.cell(index)
    guard CellTag.isHeap(cell.tag), cell.tag != ListItems.place else { return cell }
    let start = heap.count
    heap.put(other.heap, Cell.heapRange(cell.word))
    return Cell(tag: cell.tag, word: Cell.heapWord(start..<heap.count))
  }

  @inline(__always)
  func cell(_ index: Int) -> Cell { Cell(tag: tags[index], word: words[index]) }

  mutating func set(_ index: Int, _ cell: Cell) {
    tags[index] = cell.tag
    words[index] = cell.word
  }

  mutating func truncate(to count: Int, heap heapCount: Int) {
    tags.removeLast(tags.count - count)
    words.removeLast(words.count - count)
    heap.removeLast(heap.count - heapCount)
  }

  /// The value, built anew. Nothing but values may be asked for.
  package func value(_ index: Int) -> FieldValue { value(cell(index)) }

  func value(_ cell: Cell) -> FieldValue { cell.value(heap) ?? .bool(false) }

  package var values: [FieldValue] { tags.indices.map(value) }

  /// Appends an item if it is as short as a letter; false if it is not, and nothing is appended.
  /// Says what `ColumnCoding` would say of it.
  @inline(__always)
  func encodeLetter(_ index: Int, into out: inout OutputSpan<UInt8>) -> Bool {
    let cell = cell(index)
    let range = Cell.heapRange(cell.word)
    guard CellTag.isHeap(cell.tag), range.count <= ListItems.letterMost else { return false }
    out.put(cell.tag)
    out.putVarint(range.count)
    for place in range { out.put(heap[place]) }
    return true
  }

  /// Bytes of the longest letter: with several code points, as some are.
  private static var letterMost: Int { 16 }

  /// Empties it and keeps the memory.
  mutating func removeAll() {
    tags.clear()
    words.clear()
    heap.clear()
  }

  /// Bytes that the value counts with, without the 20 of an item.
  func size(_ cell: Cell) -> Int {
    CellTag.isHeap(cell.tag) && cell.tag != ListItems.place ? Int(cell.word & 0xFF_FFFF) : 0
  }

  package func size(_ index: Int) -> Int { size(cell(index)) }

  func equal(_ cell: Cell, _ other: Cell, of others: ListItems) -> Bool {
    cell.equals(heap, other, others.heap)
  }
}

extension ListItems: Hashable {
  package static func == (a: ListItems, b: ListItems) -> Bool {
    a.count == b.count && a.tags == b.tags
      && a.tags.indices.allSatisfy { a.cell($0).equals(a.heap, b.cell($0), b.heap) }
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(tags) }
}
