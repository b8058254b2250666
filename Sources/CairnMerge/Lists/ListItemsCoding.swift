import CairnBytes

/// Items as bytes: the columns that cells of deltas have, too.
enum ListItemsCoding {
  static func encode(_ items: ListItems, into out: inout [UInt8]) {
    ColumnCoding.encode(
      items.tags, items.words, 0..<items.count, time: 0, heap: items.heap, into: &out)
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
    if let texts = try texts(count, &reader) { return texts }
    let delta = try columns(count, &reader)
    var values: [FieldValue] = []
    values.reserveCapacity(count)
    for index in delta.tags.indices {
      let cell = Cell(tag: delta.tags[index], word: delta.words[index])
      values.append(cell.value(reader.bytes) ?? .bool(false))
    }
    return values
  }

  /// The items if they all are text, nil if there is other than that: straight from their bytes,
  /// as this is how a text is read that was typed.
  private static func texts(
    _ count: Int, _ reader: inout ByteReader
  ) throws(DecodeError) -> [FieldValue]? {
    guard !reader.isAtEnd, reader.bytes[reader.offset] == CellTag.string else { return nil }
    var lengths = reader
    _ = try lengths.u8()
    guard count <= max(1, lengths.remaining) else {
      throw .malformed("a column of one type that takes no bytes")
    }
    reader = lengths
    try reader.skipVarints(count)
    var values: [FieldValue] = []
    values.reserveCapacity(count)
    for _ in 0..<count {
      let length = try lengths.varint()
      guard length <= UInt64(Cell.heapLengthMax) else { throw .limit }
      let range = try reader.skip(Int(length))
      if length == 1, reader.bytes[range.lowerBound] < 0x80 {
        values.append(FieldValue.letters[Int(reader.bytes[range.lowerBound])])
      } else {
        guard let text = reader.bytes.text(range) else { throw .malformed("text is not UTF-8") }
        values.append(.string(text))
      }
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
