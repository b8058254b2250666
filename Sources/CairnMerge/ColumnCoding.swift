package import CairnBytes

/// Cells of one column as bytes: the types, then one stream a type, so that like lies with like.
package enum ColumnCoding {
  private static let mixed: UInt8 = 0xFF
  /// All cells are booleans, a bit each.
  private static let bits: UInt8 = 0xFE

  package static func encode(
    _ delta: Delta, _ cells: Range<Int>, heap: [UInt8], into out: inout [UInt8]
  ) {
    encode(delta.tags, delta.words, cells, time: delta.time, heap: heap, into: &out)
  }

  /// Cells that are no delta's. `time` is what dates count from.
  static func encode(
    _ tags: [UInt8], _ words: [UInt64], _ cells: Range<Int>, time: Int64, heap: [UInt8],
    into out: inout [UInt8]
  ) {
    guard let first = cells.first else { return }
    let tag = tags[first]
    if cells.count == 1, CellTag.isHeap(tag) {
      // A letter that was typed.
      out.put(tag)
      out.putVarint(words[first] & 0xFF_FFFF)
      out.put(heap, Cell.heapRange(words[first]))
      return
    }
    // A cell never takes less than a bit, so that few bytes can't stand for many cells.
    if cells.count == 1 || tag >= CellTag.int && cells.allSatisfy({ tags[$0] == tag }) {
      out.put(tag)
    } else if cells.allSatisfy({ isBool(tags[$0]) }) {
      putBits(tags, cells, into: &out)
    } else {
      out.put(mixed)
      for cell in cells { out.put(tags[cell]) }
    }
    putIntegers(tags, words, cells, CellTag.int, from: 0, into: &out)
    putIntegers(tags, words, cells, CellTag.date, from: time, into: &out)
    putDoubles(tags, words, cells, into: &out)
    for cell in cells where CellTag.isHeap(tags[cell]) {
      out.putVarint(words[cell] & 0xFF_FFFF)
    }
    for cell in cells where CellTag.isHeap(tags[cell]) {
      out.put(heap, Cell.heapRange(words[cell]))
    }
  }

  private static func isBool(_ tag: UInt8) -> Bool { tag == CellTag.no || tag == CellTag.yes }

  private static func putBits(_ tags: [UInt8], _ cells: Range<Int>, into out: inout [UInt8]) {
    out.put(bits)
    var byte: UInt8 = 0
    for (index, cell) in cells.enumerated() {
      if tags[cell] == CellTag.yes { byte |= 1 << UInt8(index & 7) }
      if index & 7 == 7 || index == cells.count - 1 {
        out.put(byte)
        byte = 0
      }
    }
  }

  /// Each as the difference to the one before it.
  private static func putIntegers(
    _ tags: [UInt8], _ words: [UInt64], _ cells: Range<Int>, _ tag: UInt8, from start: Int64,
    into out: inout [UInt8]
  ) {
    var previous = start
    for cell in cells where tags[cell] == tag {
      let number = Int64(bitPattern: words[cell])
      out.putZigzag(number &- previous)
      previous = number
    }
  }

  private static func putDoubles(
    _ tags: [UInt8], _ words: [UInt64], _ cells: Range<Int>, into out: inout [UInt8]
  ) {
    let words = cells.lazy.filter { tags[$0] == CellTag.double }.map { words[$0] }
    if words.isEmpty { return }
    guard let exponent = Decimal10.exponent(of: words) else {
      out.put(Decimal10.raw)
      for word in words { out.put(word) }
      return
    }
    out.put(UInt8(exponent))
    for word in words { out.putZigzag(Decimal10.digits(Double(bitPattern: word), exponent)) }
  }

  package static func put(_ number: Number, into out: inout [UInt8]) {
    switch number {
    case .int(let value):
      out.put(CellTag.int)
      out.putZigzag(value)
    case .double(let value):
      out.put(CellTag.double)
      out.put(value.bitPattern)
    }
  }

  package static func number(_ reader: inout ByteReader) throws(DecodeError) -> Number {
    switch try reader.u8() {
    case CellTag.int: return .int(try reader.zigzag())
    case CellTag.double:
      let value = Double(bitPattern: try reader.u64())
      guard value.isFinite else { throw .malformed("a total that is no number") }
      return .double(value)
    default: throw .malformed("a total is neither integer nor double")
    }
  }

  /// Reads `count` cells and appends them to the delta. Text is checked to be UTF-8, lists to be
  /// well-formed, here and nowhere later.
  package static func decode(
    _ count: Int, time: Int64, _ reader: inout ByteReader, into delta: inout Delta
  ) throws(DecodeError) {
    let start = delta.tags.count
    let cells = start..<(start + count)
    try readTags(count, &reader, into: &delta)
    delta.words.append(contentsOf: repeatElement(0, count: count))
    try readIntegers(&delta, cells, CellTag.int, from: 0, &reader)
    try readIntegers(&delta, cells, CellTag.date, from: time, &reader)
    try readDoubles(&delta, cells, &reader)
    try readHeap(&delta, cells, &reader)
  }

  private static func readTags(
    _ count: Int, _ reader: inout ByteReader, into delta: inout Delta
  ) throws(DecodeError) {
    let form = try reader.u8()
    switch form {
    case mixed:
      for _ in 0..<count { delta.tags.append(try cellTag(try reader.u8())) }
    case bits:
      let range = try reader.skip((count + 7) / 8)
      for index in 0..<count {
        let byte = reader.bytes[range.lowerBound + index / 8]
        delta.tags.append(byte >> UInt8(index & 7) & 1 == 1 ? CellTag.yes : CellTag.no)
      }
    default:
      let tag = try cellTag(form)
      guard count == 1 || tag >= CellTag.int, count <= max(1, reader.remaining) else {
        throw .malformed("a column of one type that takes no bytes")
      }
      delta.tags.append(contentsOf: repeatElement(tag, count: count))
    }
  }

  private static func cellTag(_ tag: UInt8) throws(DecodeError) -> UInt8 {
    guard tag >= CellTag.absent, tag <= CellTag.last else { throw .malformed("unknown cell type") }
    return tag
  }

  private static func readIntegers(
    _ delta: inout Delta, _ cells: Range<Int>, _ tag: UInt8, from start: Int64,
    _ reader: inout ByteReader
  ) throws(DecodeError) {
    var previous = start
    for cell in cells where delta.tags[cell] == tag {
      previous = previous &+ (try reader.zigzag())
      delta.words[cell] = UInt64(bitPattern: previous)
    }
  }

  private static func readDoubles(
    _ delta: inout Delta, _ cells: Range<Int>, _ reader: inout ByteReader
  ) throws(DecodeError) {
    guard cells.contains(where: { delta.tags[$0] == CellTag.double }) else { return }
    let exponent = try reader.u8()
    guard exponent == Decimal10.raw || exponent <= Decimal10.exponentMax else {
      throw .malformed("unknown form of doubles")
    }
    for cell in cells where delta.tags[cell] == CellTag.double {
      if exponent == Decimal10.raw {
        delta.words[cell] = try reader.u64()
      } else {
        delta.words[cell] = Decimal10.double(try reader.zigzag(), Int(exponent)).bitPattern
      }
    }
  }

  private static func readHeap(
    _ delta: inout Delta, _ cells: Range<Int>, _ reader: inout ByteReader
  ) throws(DecodeError) {
    for cell in cells where CellTag.isHeap(delta.tags[cell]) {
      let length = try reader.varint()
      guard length <= UInt64(Cell.heapLengthMax), length <= UInt64(reader.remaining) else {
        throw .limit
      }
      delta.words[cell] = length
    }
    for cell in cells where CellTag.isHeap(delta.tags[cell]) {
      let range = try reader.skip(Int(delta.words[cell]))
      switch delta.tags[cell] {
      case CellTag.string:
        guard reader.bytes.isUTF8(range) else { throw .malformed("text is not UTF-8") }
      case CellTag.list, CellTag.createdList: _ = try ListCoding.decode(reader.bytes, range)
      default: break
      }
      delta.words[cell] = Cell.heapWord(range)
    }
  }
}
