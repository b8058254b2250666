/// A canonical prefix code, as RFC 1951 makes it from the lengths of its words.
struct HuffmanCode {
  private static let lengthMax = 15
  /// How many words there are of each length.
  private var counts = [Int](repeating: 0, count: HuffmanCode.lengthMax + 1)
  /// By word.
  private var symbols: [Int] = []

  /// Nil if there are more words than such lengths can tell apart, or too few (but for a single
  /// one).
  init?(_ lengths: ArraySlice<Int>) {
    for length in lengths { counts[length] += 1 }
    counts[0] = 0
    var free = 1
    for length in 1...HuffmanCode.lengthMax {
      free = free * 2 - counts[length]
      if free < 0 { return nil }
    }
    let used = counts.reduce(0, +)
    if free > 0, used > 1 { return nil }
    var offsets = [Int](repeating: 0, count: HuffmanCode.lengthMax + 2)
    for length in 1...HuffmanCode.lengthMax {
      offsets[length + 1] = offsets[length] + counts[length]
    }
    symbols = [Int](repeating: 0, count: used)
    for (symbol, length) in lengths.enumerated() where length > 0 {
      symbols[offsets[length]] = symbol
      offsets[length] += 1
    }
  }

  enum Found {
    case symbol(Int)
    case needsMore
    case invalid
  }

  func next(_ input: inout BitInput) -> Found {
    var (code, first, index) = (0, 0, 0)
    for length in 1...HuffmanCode.lengthMax {
      guard let bit = input.bits(1) else { return .needsMore }
      code |= bit
      let count = counts[length]
      if code - count < first { return .symbol(symbols[index + (code - first)]) }
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    return .invalid
  }
}
