import CairnBytes
import CairnMerge

/// The cells of one field of a block that is being built.
struct ColumnBuilder: Sendable {
  private var tags: [UInt8] = []
  private var words: [UInt64] = []
  private var stamps: [Int] = []
  private var rows: [Int] = []
  private var heap: [UInt8] = []

  var isEmpty: Bool { rows.isEmpty }

  /// An empty builder with room for as much as this one took.
  func emptied() -> ColumnBuilder {
    var next = ColumnBuilder()
    next.tags.reserveCapacity(rows.count)
    next.words.reserveCapacity(rows.count)
    next.stamps.reserveCapacity(rows.count)
    next.rows.reserveCapacity(rows.count)
    next.heap.reserveCapacity(heap.count)
    return next
  }

  mutating func add(_ cell: Cell, from source: [UInt8], row: Int, stamp: Int) {
    rows.append(row)
    tags.append(cell.tag)
    stamps.append(stamp)
    if CellTag.isHeap(cell.tag) {
      let start = heap.count
      heap.put(source, Cell.heapRange(cell.word))
      words.append(Cell.heapWord(start..<heap.count))
    } else {
      words.append(cell.word)
    }
  }

  /// Gives each stamp its new number.
  mutating func renumber(_ numbers: [Int]) {
    for index in stamps.indices { stamps[index] = numbers[stamps[index]] }
  }

  /// Writes the column in the smallest form that fits it; empty after that.
  mutating func finish(rows rowCount: Int, presences: [Int], into out: inout [UInt8]) {
    putStamps(rowCount, presences, into: &out)
    if rows.count == rowCount {
      putFull(into: &out)
    } else if rows.count * 4 < rowCount {
      putSparse(into: &out)
    } else {
      putMixed(rowCount, into: &out)
    }
    tags.removeAll(keepingCapacity: true)
    words.removeAll(keepingCapacity: true)
    stamps.removeAll(keepingCapacity: true)
    rows.removeAll(keepingCapacity: true)
    heap.removeAll(keepingCapacity: true)
  }

  private func putStamps(_ rowCount: Int, _ presences: [Int], into out: inout [UInt8]) {
    if stamps.allSatisfy({ $0 == 0 }) {
      out.put(UInt8(0))
      return
    }
    // Rows without the field carry their presence's number, so that "the same" is found oftener.
    var numbers = presences
    for (index, row) in rows.enumerated() { numbers[row] = stamps[index] }
    StampColumn.put(numbers, likePresence: presences, into: &out)
  }

  private func putFull(into out: inout [UInt8]) {
    let tag = tags[0]
    let uniform = tags.allSatisfy { $0 == tag }
    switch tag {
    case CellTag.int where uniform: putNumbers(.ints, words.map(Int64.init(bitPattern:)), &out)
    case CellTag.date where uniform: putNumbers(.dates, words.map(Int64.init(bitPattern:)), &out)
    case CellTag.double where uniform: putDoubles(&out)
    case CellTag.string...CellTag.last where uniform:
      putHeap(tag, &out)
    default:
      if tags.allSatisfy({ $0 == CellTag.no || $0 == CellTag.yes }) {
        putBits(&out)
      } else {
        putMixed(tags.count, into: &out)
      }
    }
  }

  private func putNumbers(
    _ form: BlockColumn.Form, _ numbers: [Int64], exponent: UInt8? = nil, _ out: inout [UInt8]
  ) {
    var low = numbers[0]
    var high = numbers[0]
    for number in numbers {
      low = min(low, number)
      high = max(high, number)
    }
    let span = UInt64(bitPattern: high &- low)
    let width = (64 - span.leadingZeroBitCount + 7) / 8
    out.put(form.rawValue)
    if let exponent { out.put(exponent) }
    out.put(UInt8(width))
    out.put(UInt64(bitPattern: low))
    for number in numbers { out.put(UInt64(bitPattern: number &- low), width: width) }
  }

  private func putDoubles(_ out: inout [UInt8]) {
    if let exponent = Decimal10.exponent(words) {
      let digits = words.map { Decimal10.digits(Double(bitPattern: $0), exponent) }
      putNumbers(.decimals, digits, exponent: UInt8(exponent), &out)
    } else {
      out.put(BlockColumn.Form.doubles.rawValue)
      for word in words { out.put(word) }
    }
  }

  private func putBits(_ out: inout [UInt8]) {
    out.put(BlockColumn.Form.bits.rawValue)
    var byte: UInt8 = 0
    for (index, tag) in tags.enumerated() {
      if tag == CellTag.yes { byte |= 1 << UInt8(index & 7) }
      if index & 7 == 7 || index == tags.count - 1 {
        out.put(byte)
        byte = 0
      }
    }
  }

  private func putHeap(_ tag: UInt8, _ out: inout [UInt8]) {
    let width = heap.count <= Int(UInt16.max) ? 2 : 4
    out.put(BlockColumn.Form.heap.rawValue)
    out.put(tag)
    out.put(UInt8(width))
    for word in words { out.put(UInt64(Cell.heapRange(word).upperBound), width: width) }
    out.putBlob(heap)
  }

  private func putMixed(_ rowCount: Int, into out: inout [UInt8]) {
    out.put(BlockColumn.Form.mixed.rawValue)
    var allTags = [UInt8](repeating: CellTag.none, count: rowCount)
    var allWords = [UInt64](repeating: 0, count: rowCount)
    for (index, row) in rows.enumerated() {
      allTags[row] = tags[index]
      allWords[row] = words[index]
    }
    out.append(contentsOf: allTags)
    for word in allWords { out.put(word) }
    out.putBlob(heap)
  }

  private func putSparse(into out: inout [UInt8]) {
    out.put(BlockColumn.Form.sparse.rawValue)
    out.putVarint(rows.count)
    for row in rows { out.put(UInt16(row)) }
    out.append(contentsOf: tags)
    for word in words { out.put(word) }
    out.putBlob(heap)
  }
}
