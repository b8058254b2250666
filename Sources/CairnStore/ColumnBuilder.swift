import CairnBytes
import CairnMerge

/// The cells of one field of a block that is being built.
struct ColumnBuilder: Sendable {
  /// One array of these grows in a fifth of the time that one for each part takes.
  private struct Entry: Sendable {
    var word: UInt64
    var row: UInt32
    var stamp: UInt32
    var tag: UInt8
  }

  private var entries: [Entry] = []
  private var heap: [UInt8] = []
  /// The type of the first cell, and whether all others have it.
  private var tag = CellTag.none
  private var isUniform = true
  /// Whether all cells are settled.
  private var isSettled = true

  var isEmpty: Bool { entries.isEmpty }

  /// An empty builder with room for as much as this one took.
  func emptied() -> ColumnBuilder {
    var next = ColumnBuilder()
    next.entries.reserveCapacity(entries.count)
    next.heap.reserveCapacity(heap.count)
    return next
  }

  /// A cell whose word is all of it.
  @inline(__always)
  mutating func add(_ cell: Cell, row: Int, stamp: Int) {
    if entries.isEmpty {
      tag = cell.tag
    } else if cell.tag != tag {
      isUniform = false
    }
    if stamp != 0 { isSettled = false }
    entries.append(
      Entry(
        word: cell.word, row: UInt32(truncatingIfNeeded: row),
        stamp: UInt32(truncatingIfNeeded: stamp), tag: cell.tag))
  }

  /// A cell whose word refers to bytes in `source`.
  mutating func add(_ cell: Cell, from source: [UInt8], row: Int, stamp: Int) {
    let start = heap.count
    heap.put(source, Cell.heapRange(cell.word))
    let range = start..<heap.count
    // What is the same is to be the same bytes, whichever version it comes from.
    if CellTag.isList(cell.tag) { ListCoding.makeCanonical(&heap, range) }
    add(Cell(tag: cell.tag, word: Cell.heapWord(range)), row: row, stamp: stamp)
  }

  /// Gives each stamp its new number.
  mutating func renumber(_ numbers: [Int]) {
    if isSettled { return }
    for index in entries.indices {
      entries[index].stamp = UInt32(truncatingIfNeeded: numbers[Int(entries[index].stamp)])
    }
  }

  /// Writes the column in the smallest form that fits it; empty after that.
  mutating func finish(rows rowCount: Int, presences: [Int], into out: inout [UInt8]) {
    putStamps(rowCount, presences, into: &out)
    if entries.count == rowCount {
      putFull(into: &out)
    } else if entries.count * 4 < rowCount {
      putSparse(into: &out)
    } else {
      putMixed(rowCount, into: &out)
    }
    entries.removeAll(keepingCapacity: true)
    heap.removeAll(keepingCapacity: true)
    (isUniform, isSettled) = (true, true)
  }

  private func putStamps(_ rowCount: Int, _ presences: [Int], into out: inout [UInt8]) {
    if isSettled {
      out.put(UInt8(0))
      return
    }
    // Rows without the field carry their presence's number, so that "the same" is found oftener.
    var numbers = presences
    for entry in entries { numbers[Int(entry.row)] = Int(entry.stamp) }
    StampColumn.put(numbers, likePresence: presences, into: &out)
  }

  private func putFull(into out: inout [UInt8]) {
    switch tag {
    case CellTag.int where isUniform: putNumbers(.ints, entries.map(\.word), &out)
    case CellTag.date where isUniform: putNumbers(.dates, entries.map(\.word), &out)
    case CellTag.double where isUniform: putDoubles(&out)
    case CellTag.string...CellTag.last where isUniform: putHeap(&out)
    default:
      if entries.allSatisfy({ $0.tag == CellTag.no || $0.tag == CellTag.yes }) {
        putBits(&out)
      } else {
        putMixed(entries.count, into: &out)
      }
    }
  }

  /// `numbers` are signed, by their bits.
  private func putNumbers(
    _ form: BlockColumn.Form, _ numbers: [UInt64], exponent: UInt8? = nil, _ out: inout [UInt8]
  ) {
    var low = Int64(bitPattern: numbers[0])
    var high = low
    for number in numbers {
      low = min(low, Int64(bitPattern: number))
      high = max(high, Int64(bitPattern: number))
    }
    let start = UInt64(bitPattern: low)
    let span = UInt64(bitPattern: high) &- start
    let width = (64 - span.leadingZeroBitCount + 7) / 8
    out.put(form.rawValue)
    if let exponent { out.put(exponent) }
    out.put(UInt8(width))
    out.put(start)
    out.put(numbers, less: start, width: width)
  }

  private func putDoubles(_ out: inout [UInt8]) {
    let words = entries.map(\.word)
    if let exponent = Decimal10.exponent(words) {
      let digits = words.map {
        UInt64(bitPattern: Decimal10.digits(Double(bitPattern: $0), exponent))
      }
      putNumbers(.decimals, digits, exponent: UInt8(exponent), &out)
    } else {
      out.put(BlockColumn.Form.doubles.rawValue)
      out.put(words, less: 0, width: 8)
    }
  }

  private func putBits(_ out: inout [UInt8]) {
    out.put(BlockColumn.Form.bits.rawValue)
    var byte: UInt8 = 0
    for index in entries.indices {
      if entries[index].tag == CellTag.yes { byte |= 1 << UInt8(index & 7) }
      if index & 7 == 7 || index == entries.count - 1 {
        out.put(byte)
        byte = 0
      }
    }
  }

  private func putHeap(_ out: inout [UInt8]) {
    let width = heap.count <= Int(UInt16.max) ? 2 : 4
    out.put(BlockColumn.Form.heap.rawValue)
    out.put(tag)
    out.put(UInt8(width))
    let ends = entries.map { UInt64(Cell.heapRange($0.word).upperBound) }
    out.put(ends, less: 0, width: width)
    out.putBlob(heap)
  }

  private func putMixed(_ rowCount: Int, into out: inout [UInt8]) {
    out.put(BlockColumn.Form.mixed.rawValue)
    var tags = [UInt8](repeating: CellTag.none, count: rowCount)
    var words = [UInt64](repeating: 0, count: rowCount)
    for entry in entries {
      tags[Int(entry.row)] = entry.tag
      words[Int(entry.row)] = entry.word
    }
    out.append(contentsOf: tags)
    out.put(words, less: 0, width: 8)
    out.putBlob(heap)
  }

  private func putSparse(into out: inout [UInt8]) {
    out.put(BlockColumn.Form.sparse.rawValue)
    out.putVarint(entries.count)
    for entry in entries { out.put(UInt16(entry.row)) }
    for entry in entries { out.put(entry.tag) }
    for entry in entries { out.put(entry.word) }
    out.putBlob(heap)
  }
}
