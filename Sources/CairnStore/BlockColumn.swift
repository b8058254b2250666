import CairnBytes
import CairnMerge

/// One field of a block.
///
///     name string (read by the block) · stamps · form u8 · cells
///
/// Forms: every row has a value of one type (`ints`, `dates`: minimum and differences of 0 to 8
/// bytes; `doubles`: 8 bytes each; `decimals`: like ints, with an exponent; `bits`; `heap`: ends
/// and bytes), or `mixed`: a type byte and a word a row; or `sparse`: the same for listed rows
/// only.
struct BlockColumn: Sendable {
  enum Form: UInt8 { case ints = 0, dates, doubles, decimals, bits, heap, mixed, sparse }

  /// Number of the field.
  let field: Int
  let stamps: StampColumn
  let form: Form
  /// The type of every cell, for all forms but mixed and sparse.
  let tag: UInt8
  /// Where the cells' numbers, ends or type bytes start.
  let start: Int
  let width: Int
  let minimum: UInt64
  let exponent: Int
  /// Where words (mixed, sparse) or heap bytes start.
  let second: Int
  /// Where the heap of mixed and sparse words starts.
  let heapStart: Int
  /// Rows of a sparse column.
  let count: Int

  init(
    _ reader: inout ByteReader, number: Int, rows: Int, stamps stampCount: Int
  ) throws(DecodeError) {
    field = number
    stamps = try StampColumn(&reader, rows: rows, stamps: stampCount)
    guard let form = Form(rawValue: try reader.u8()) else { throw .malformed("a column's form") }
    self.form = form
    var tag = CellTag.none
    var width = 0
    var minimum: UInt64 = 0
    var exponent = 0
    var second = 0
    var heapStart = 0
    var count = rows
    var range = 0..<0
    switch form {
    case .ints, .dates, .decimals:
      tag = form == .ints ? CellTag.int : form == .dates ? CellTag.date : CellTag.double
      exponent = form == .decimals ? Int(try reader.u8()) : 0
      width = Int(try reader.u8())
      minimum = try reader.u64()
      guard width <= 8, exponent <= Decimal10.exponentMax else { throw .malformed("a width") }
      range = try reader.skip(rows * width)
    case .doubles:
      tag = CellTag.double
      range = try reader.skip(rows * 8)
    case .bits: range = try reader.skip((rows + 7) / 8)
    case .heap:
      tag = try reader.u8()
      width = Int(try reader.u8())
      guard CellTag.isHeap(tag), tag <= CellTag.last, width == 2 || width == 4 else {
        throw .malformed("a heap column")
      }
      range = try reader.skip(rows * width)
      let heap = try reader.blob()
      second = heap.lowerBound
      try BlockColumn.checkHeap(reader.bytes, range.lowerBound, width, rows, heap, tag)
    case .mixed, .sparse:
      if form == .sparse {
        count = try reader.count(limit: rows)
        range = try reader.skip(count * 3)
      } else {
        range = try reader.skip(rows)
      }
      second = try reader.skip(count * 8).lowerBound
      let heap = try reader.blob()
      heapStart = heap.lowerBound
      let offset = form == .sparse ? count * 2 : 0
      try BlockColumn.checkMixed(reader.bytes, range.lowerBound + offset, second, count, heap)
      if form == .sparse { try BlockColumn.checkRows(reader.bytes, range.lowerBound, count, rows) }
    }
    self.tag = tag
    self.width = width
    self.minimum = minimum
    self.exponent = exponent
    start = range.lowerBound
    self.second = second
    self.heapStart = heapStart
    self.count = count
  }

  private static func checkHeap(
    _ bytes: [UInt8], _ start: Int, _ width: Int, _ rows: Int, _ heap: Range<Int>, _ tag: UInt8
  ) throws(DecodeError) {
    var previous = 0
    for row in 0..<rows {
      let end =
        width == 2 ? Int(bytes.u16(at: start + row * 2)) : Int(bytes.u32(at: start + row * 4))
      guard end >= previous, end <= heap.count, end - previous <= Cell.heapLengthMax else {
        throw .malformed("ends of a heap column")
      }
      let range = (heap.lowerBound + previous)..<(heap.lowerBound + end)
      if CellTag.isList(tag) { _ = try ListCoding.decode(bytes, range) }
      if tag == CellTag.string, end < heap.count, bytes[range.upperBound] & 0xC0 == 0x80 {
        throw .malformed("a text ends within a character")
      }
      previous = end
    }
    if tag == CellTag.string, !bytes.isUTF8(heap) { throw .malformed("text is not UTF-8") }
  }

  private static func checkMixed(
    _ bytes: [UInt8], _ tags: Int, _ words: Int, _ count: Int, _ heap: Range<Int>
  ) throws(DecodeError) {
    for index in 0..<count {
      let tag = bytes[tags + index]
      guard tag <= CellTag.last else { throw .malformed("unknown cell type") }
      guard CellTag.isHeap(tag) else { continue }
      // Words of a mixed column count from the heap's start.
      let range = Cell.heapRange(bytes.u64(at: words + index * 8))
      guard range.upperBound <= heap.count else { throw .malformed("a heap range") }
      let place = (heap.lowerBound + range.lowerBound)..<(heap.lowerBound + range.upperBound)
      if tag == CellTag.string, !bytes.isUTF8(place) { throw .malformed("text is not UTF-8") }
      if CellTag.isList(tag) { _ = try ListCoding.decode(bytes, place) }
    }
  }

  private static func checkRows(
    _ bytes: [UInt8], _ start: Int, _ count: Int, _ rows: Int
  ) throws(DecodeError) {
    var previous = -1
    for index in 0..<count {
      let row = Int(bytes.u16(at: start + index * 2))
      guard row > previous, row < rows else { throw .malformed("rows of a sparse column") }
      previous = row
    }
  }

  @inline(__always)
  func cell(_ row: Int, _ bytes: [UInt8]) -> Cell {
    switch form {
    case .ints, .dates: Cell(tag: tag, word: minimum &+ number(row, bytes))
    case .doubles: Cell(tag: tag, word: bytes.u64(at: start + row * 8))
    case .decimals: decimal(row, bytes)
    case .bits:
      Cell(tag: bytes[start + row >> 3] >> UInt8(row & 7) & 1 == 1 ? CellTag.yes : CellTag.no)
    case .heap: Cell(tag: tag, word: Cell.heapWord(heapRange(row, bytes)))
    case .mixed: mixedCell(row, bytes[start + row], bytes)
    case .sparse: sparseCell(row, bytes)
    }
  }

  /// The difference to the minimum.
  @inline(__always)
  func number(_ row: Int, _ bytes: [UInt8]) -> UInt64 {
    switch width {
    case 0: return 0
    case 1: return UInt64(bytes[start + row])
    case 2: return UInt64(bytes.u16(at: start + row * 2))
    case 4: return UInt64(bytes.u32(at: start + row * 4))
    case 8: return bytes.u64(at: start + row * 8)
    default:
      let offset = start + row * width
      // Eight bytes at once where there are so many; those above the number are another's.
      if offset &+ 8 <= bytes.count {
        return bytes.u64(at: offset) & (1 &<< UInt64(8 &* width) &- 1)
      }
      var value: UInt64 = 0
      for index in 0..<width { value |= UInt64(bytes[offset + index]) << UInt64(8 * index) }
      return value
    }
  }

  private func decimal(_ row: Int, _ bytes: [UInt8]) -> Cell {
    let digits = Int64(bitPattern: minimum &+ number(row, bytes))
    return Cell(tag: tag, word: Decimal10.double(digits, exponent).bitPattern)
  }

  @inline(__always)
  func heapRange(_ row: Int, _ bytes: [UInt8]) -> Range<Int> {
    if width == 2 {
      let from = row == 0 ? 0 : Int(bytes.u16(at: start + row * 2 - 2))
      return (second + from)..<(second + Int(bytes.u16(at: start + row * 2)))
    }
    let from = row == 0 ? 0 : Int(bytes.u32(at: start + row * 4 - 4))
    return (second + from)..<(second + Int(bytes.u32(at: start + row * 4)))
  }

  private func mixedCell(_ index: Int, _ tag: UInt8, _ bytes: [UInt8]) -> Cell {
    let word = bytes.u64(at: second + index * 8)
    if !CellTag.isHeap(tag) { return Cell(tag: tag, word: word) }
    let range = Cell.heapRange(word)
    return Cell(
      tag: tag,
      word: Cell.heapWord((heapStart + range.lowerBound)..<(heapStart + range.upperBound)))
  }

  private func sparseCell(_ row: Int, _ bytes: [UInt8]) -> Cell {
    let place = (0..<count).partitionPoint { Int(bytes.u16(at: start + $0 * 2)) >= row }
    guard place < count, Int(bytes.u16(at: start + place * 2)) == row else { return .none }
    return mixedCell(place, bytes[start + count * 2 + place], bytes)
  }
}
