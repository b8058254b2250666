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
    if count == 1, let letter = try oneText(&reader) { return letter }
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

  /// A letter that was typed: other devices' keystrokes come by the ten thousand, and most of the
  /// time of each would be taken by the columns for many. Nil, and nothing read, for all else.
  private static func oneText(_ reader: inout ByteReader) throws(DecodeError) -> ListItems? {
    guard !reader.isAtEnd, reader.bytes[reader.offset] == CellTag.string else { return nil }
    _ = try reader.u8()
    let length = try reader.varint()
    guard length <= UInt64(Cell.heapLengthMax), length <= UInt64(reader.remaining) else {
      throw .limit
    }
    let range = try reader.skip(Int(length))
    guard reader.bytes.isUTF8(range) else { throw .malformed("text is not UTF-8") }
    var items = ListItems()
    items.heap.put(reader.bytes, range)
    items.append(Cell(tag: CellTag.string, word: Cell.heapWord(0..<range.count)))
    return items
  }

  /// Reads `count` items, and hands them out one by one.
  static func forEachValue(
    _ count: Int, _ reader: inout ByteReader, _ body: (FieldValue) -> Void
  ) throws(DecodeError) {
    if count == 0 { return }
    if try forEachText(count, &reader, body) { return }
    let delta = try columns(count, &reader)
    for index in delta.tags.indices {
      let cell = Cell(tag: delta.tags[index], word: delta.words[index])
      body(cell.value(reader.bytes) ?? .bool(false))
    }
  }

  /// The same if all items are text, straight from their bytes: this is how a text is read that was
  /// typed. False, and nothing read, if there is other than that.
  private static func forEachText(
    _ count: Int, _ reader: inout ByteReader, _ body: (FieldValue) -> Void
  ) throws(DecodeError) -> Bool {
    guard !reader.isAtEnd, reader.bytes[reader.offset] == CellTag.string else { return false }
    var lengths = reader
    _ = try lengths.u8()
    guard count <= max(1, lengths.remaining) else {
      throw .malformed("a column of one type that takes no bytes")
    }
    reader = lengths
    try reader.skipVarints(count)
    let letters = FieldValue.letters
    for _ in 0..<count {
      let length = try lengths.varint()
      guard length <= UInt64(Cell.heapLengthMax) else { throw .limit }
      let range = try reader.skip(Int(length))
      if length == 1, reader.bytes[range.lowerBound] < 0x80 {
        body(letters[Int(reader.bytes[range.lowerBound])])
      } else {
        guard let text = reader.bytes.text(range) else { throw .malformed("text is not UTF-8") }
        body(.string(text))
      }
    }
    return true
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
