import CairnBytes
import CairnMerge

/// A cell's place in the order of values, and whose cell it is, in three words.
///
/// Numbers and dates are in the words as a whole. Of a text or a bytes value the first eight bytes
/// are; if it is longer, its first 128 bytes are in a heap that the entry refers to. Two values
/// that differ only behind those, and all lists, have equal entries: whoever needs to know more
/// looks at the cells.
struct IndexEntry {
  private(set) var word: UInt64
  /// Numbers: what the word lacks. Texts and bytes: the heap word.
  private(set) var detail: UInt64
  /// The rank in the highest four bits; a row of the base or a slot in the others.
  private var packed: UInt64

  /// Kinds of values in their order; `absent` is what has no value.
  enum Rank {
    static let absent: UInt64 = 0
    static let bool: UInt64 = 1
    static let number: UInt64 = 2
    static let date: UInt64 = 3
    static let string: UInt64 = 4
    static let bytes: UInt64 = 5
    static let list: UInt64 = 6
    static let end: UInt64 = 7
  }

  static let textLengthMax = 128

  init(rank: UInt64, word: UInt64 = 0, detail: UInt64 = 0, reference: UInt64 = 0) {
    self.word = word
    self.detail = detail
    packed = rank << 60 | reference
  }

  /// The entry of a cell; a long text stays in the cell's heap.
  init(_ cell: Cell, _ heap: [UInt8], reference: UInt64) {
    switch cell.tag {
    case CellTag.no: self.init(rank: Rank.bool, reference: reference)
    case CellTag.yes: self.init(rank: Rank.bool, word: 1, reference: reference)
    case CellTag.int:
      let number = NumberWord.of(Int64(bitPattern: cell.word))
      self.init(
        rank: Rank.number, word: number.word, detail: IndexEntry.biased(number.rest),
        reference: reference)
    case CellTag.double:
      self.init(
        rank: Rank.number, word: NumberWord.of(Double(bitPattern: cell.word)),
        detail: IndexEntry.biased(0), reference: reference)
    case CellTag.date:
      self.init(
        rank: Rank.date, word: IndexEntry.biased(Int64(bitPattern: cell.word)),
        reference: reference)
    case CellTag.string, CellTag.bytes:
      var range = Cell.heapRange(cell.word)
      range = range.prefix(IndexEntry.textLengthMax)
      self.init(
        rank: cell.tag == CellTag.string ? Rank.string : Rank.bytes,
        word: IndexEntry.prefix(heap, range), detail: Cell.heapWord(range), reference: reference)
    case CellTag.list, CellTag.createdList, CellTag.editedList:
      self.init(rank: Rank.list, reference: reference)
    default: self.init(rank: Rank.absent, reference: reference)
    }
  }

  /// Numbers with a sign as words that sort like them.
  private static func biased(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ 1 << 63 }

  private static func prefix(_ heap: [UInt8], _ range: Range<Int>) -> UInt64 {
    if range.count >= 8 { return heap.u64(at: range.lowerBound).byteSwapped }
    var word: UInt64 = 0
    for (index, place) in range.enumerated() {
      word |= UInt64(heap[place]) << UInt64(56 - 8 * index)
    }
    return word
  }

  var rank: UInt64 { packed >> 60 }
  var reference: UInt64 { packed & (1 << 60 - 1) }
  private var isText: Bool { rank == Rank.string || rank == Rank.bytes }
  private var textLength: Int { Int(detail & 0xFF_FFFF) }

  /// Whether only equal values have an equal entry.
  var isExact: Bool {
    rank != Rank.list && !(isText && textLength >= IndexEntry.textLengthMax)
  }

  /// The same with the bytes of a long text moved into a heap of its owner's.
  func moved(into own: inout [UInt8], from heap: [UInt8]) -> IndexEntry {
    guard isText, textLength > 8 else { return self }
    let start = own.count
    own.put(heap, Cell.heapRange(detail))
    var entry = self
    entry.detail = Cell.heapWord(start..<own.count)
    return entry
  }

  /// -1, 0 or 1 by value alone.
  @inline(__always)
  func order(_ heap: [UInt8], _ other: IndexEntry, _ otherHeap: [UInt8]) -> Int {
    if rank != other.rank { return rank < other.rank ? -1 : 1 }
    if word != other.word { return word < other.word ? -1 : 1 }
    if isText { return textOrder(heap, other, otherHeap) }
    return detail == other.detail ? 0 : detail < other.detail ? -1 : 1
  }

  private func textOrder(_ heap: [UInt8], _ other: IndexEntry, _ otherHeap: [UInt8]) -> Int {
    let (mine, theirs) = (textLength, other.textLength)
    // With equal words and one that ends within them, the other can only be longer.
    if mine <= 8 || theirs <= 8 { return mine == theirs ? 0 : mine < theirs ? -1 : 1 }
    return heap.order(Cell.heapRange(detail), otherHeap, Cell.heapRange(other.detail))
  }

  /// By value, and by what they refer to where values tie.
  @inline(__always)
  static func precedes(_ a: IndexEntry, _ b: IndexEntry, _ heap: [UInt8]) -> Bool {
    let order = a.order(heap, b, heap)
    return order != 0 ? order < 0 : a.reference < b.reference
  }
}

extension Range<Int> {
  fileprivate func prefix(_ length: Int) -> Range<Int> {
    count <= length ? self : lowerBound..<(lowerBound + length)
  }
}
