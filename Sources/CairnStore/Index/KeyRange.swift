import CairnMerge

/// Entries between two places of an index that a condition asks for.
struct KeyRange {
  /// A value to look for, with the bytes that its entry refers to.
  struct Bound {
    var entry: IndexEntry
    var heap: [UInt8] = []

    init(rank: UInt64) { entry = IndexEntry(rank: rank) }

    init(_ value: FieldValue) {
      switch value {
      case .string(let text): self.init(CellTag.string, text.utf8)
      case .bytes(let bytes): self.init(CellTag.bytes, bytes)
      default: self.init(CellView(value, isCreated: false))
      }
    }

    private init(_ view: CellView) {
      entry = IndexEntry(view.cell, view.heap, reference: 0)
      heap = view.heap
    }

    /// A text or bytes value, which may be longer than any that a cell could hold: an entry looks
    /// at its beginning only.
    init(_ tag: UInt8, _ bytes: some Collection<UInt8>) {
      heap = [UInt8](bytes.prefix(IndexEntry.textLengthMax))
      let cell = Cell(tag: tag, word: Cell.heapWord(0..<heap.count))
      entry = IndexEntry(cell, heap, reference: 0)
    }
  }

  var lower: Bound
  var upper: Bound
  var includesLower = true
  var includesUpper = true

  /// Whether all entries in the range, and no others, are of values that match.
  var isExact = true

  /// All entries of some kinds.
  init(ranks: Range<UInt64>) {
    lower = Bound(rank: ranks.lowerBound)
    upper = Bound(rank: ranks.upperBound)
    includesUpper = false
    isExact = ranks != IndexEntry.Rank.list..<IndexEntry.Rank.end
  }

  /// The entries of one value.
  init(_ value: FieldValue) {
    lower = Bound(value)
    upper = lower
    isExact = lower.entry.isExact
  }
}

extension ValueTest {
  /// Where an index has all values that match, in ascending order and apart; nil where an index is
  /// no help.
  var keyRanges: [KeyRange]? {
    switch self {
    case .equals(let value): return [KeyRange(value)]
    case .oneOf(let values): return ValueTest.points(values)
    case .notEquals: return nil
    case .exists: return [KeyRange(ranks: IndexEntry.Rank.bool..<IndexEntry.Rank.end)]
    case .isAbsent: return [KeyRange(ranks: IndexEntry.Rank.absent..<IndexEntry.Rank.bool)]
    case .hasPrefix(let text): return [ValueTest.prefix(text)]
    case .range(let range): return ValueTest.keyRange(range).map { [$0] } ?? []
    }
  }

  private static func points(_ values: [FieldValue]) -> [KeyRange] {
    let sorted = values.sorted { FieldValue.ordered($0, $1) < 0 }.map(KeyRange.init)
    var result: [KeyRange] = []
    for range in sorted {
      if let last = result.last,
        last.lower.entry.order(last.lower.heap, range.lower.entry, range.lower.heap) == 0
      {
        continue
      }
      result.append(range)
    }
    return result
  }

  private static func prefix(_ text: String) -> KeyRange {
    let rank = IndexEntry.Rank.string
    var range = KeyRange(ranks: rank..<(rank + 1))
    var bytes = [UInt8](text.utf8.prefix(IndexEntry.textLengthMax))
    guard let last = bytes.last else { return range }
    range.lower = KeyRange.Bound(.string(text))
    // No byte of UTF-8 is 0xFF: the next byte exists, and what begins with the text lies below.
    // Of a longer text the entries have this beginning, and no more.
    if bytes.count == text.utf8.count { bytes[bytes.count - 1] = last + 1 }
    range.upper = KeyRange.Bound(CellTag.string, bytes)
    range.isExact = range.lower.entry.isExact && range.upper.entry.isExact
    // Cut texts may be equal to the bound and yet begin with the text.
    if !range.isExact { range.includesUpper = true }
    return range
  }

  private static func keyRange(_ range: ValueRange) -> KeyRange? {
    guard let kind = range.lower ?? range.upper else {
      return KeyRange(ranks: IndexEntry.Rank.bool..<IndexEntry.Rank.end)
    }
    if let lower = range.lower, let upper = range.upper {
      guard FieldValue.isSameKind(lower, upper) else { return nil }
      let order = FieldValue.ordered(lower, upper)
      if order > 0 || order == 0 && !(range.includesLower && range.includesUpper) { return nil }
    }
    let rank = KeyRange.Bound(kind).entry.rank
    var result = KeyRange(ranks: rank..<(rank + 1))
    if let lower = range.lower {
      result.lower = KeyRange.Bound(lower)
      result.includesLower = range.includesLower
    }
    if let upper = range.upper {
      result.upper = KeyRange.Bound(upper)
      result.includesUpper = range.includesUpper
    }
    let isExact = result.isExact && result.lower.entry.isExact && result.upper.entry.isExact
    result.isExact = isExact && rank != IndexEntry.Rank.list
    if !result.isExact {
      // Entries that equal a bound may be of values beyond it, and the other way round.
      result.includesLower = true
      if range.upper != nil { result.includesUpper = true }
    }
    return result
  }
}
