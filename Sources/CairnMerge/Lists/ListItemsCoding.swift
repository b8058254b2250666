import CairnBytes

/// Items as bytes: the columns that cells of deltas have, too.
enum ListItemsCoding {
  static func encode(_ items: ListItems, into out: inout [UInt8]) {
    var delta = Delta()
    delta.tags = items.tags
    delta.words = items.words
    ColumnCoding.encode(delta, 0..<items.count, heap: items.heap, into: &out)
  }

  /// Reads `count` items; lists and absent values are refused.
  static func decode(
    _ count: Int, _ reader: inout ByteReader
  ) throws(DecodeError) -> ListItems {
    if count == 0 { return ListItems() }
    let delta = try columns(count, &reader)
    var items = ListItems()
    let bytes = delta.tags.indices.reduce(0) {
      $0 + (CellTag.isHeap(delta.tags[$1]) ? Int(delta.words[$1] & 0xFF_FFFF) : 0)
    }
    items.heap.reserveCapacity(bytes)
    for index in delta.tags.indices {
      let cell = Cell(tag: delta.tags[index], word: delta.words[index])
      if CellTag.isHeap(cell.tag) {
        let start = items.heap.count
        items.heap.put(reader.bytes, Cell.heapRange(cell.word))
        items.append(Cell(tag: cell.tag, word: Cell.heapWord(start..<items.heap.count)))
      } else {
        items.append(cell)
      }
    }
    return items
  }

  /// Reads `count` items as values.
  static func values(
    _ count: Int, _ reader: inout ByteReader
  ) throws(DecodeError) -> [FieldValue] {
    if count == 0 { return [] }
    let delta = try columns(count, &reader)
    var values: [FieldValue] = []
    values.reserveCapacity(count)
    for index in delta.tags.indices {
      let cell = Cell(tag: delta.tags[index], word: delta.words[index])
      values.append(cell.value(reader.bytes) ?? .bool(false))
    }
    return values
  }

  /// The cells of `count` items, whose words say where in the reader's bytes text and bytes are.
  private static func columns(
    _ count: Int, _ reader: inout ByteReader
  ) throws(DecodeError) -> Delta {
    var delta = Delta()
    try ColumnCoding.decode(count, time: 0, &reader, into: &delta)
    guard delta.tags.allSatisfy({ $0 >= CellTag.no && $0 <= CellTag.bytes }) else {
      throw .malformed("an item that no list can hold")
    }
    return delta
  }
}
