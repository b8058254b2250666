/// Numbers as words that sort as they do, integers and doubles together: first by the word, then,
/// for integers that no double stands for, by what rounding took away.
package enum NumberWord {
  /// NaN is 0 and below all others; -0.0 is 0.0.
  @inline(__always)
  package static func of(_ value: Double) -> UInt64 {
    if value.isNaN { return 0 }
    let bits = value == 0 ? 0 : value.bitPattern
    return bits >> 63 == 1 ? ~bits : bits | 1 << 63
  }

  /// The word of the nearest double, and the difference to it. Rounding keeps the order: where two
  /// integers have one word, the differences decide, and a double has none.
  @inline(__always)
  package static func of(_ value: Int64) -> (word: UInt64, rest: Int64) {
    let near = Double(value)
    // 2^63 is the only one that has no integer of this size.
    let rest = near >= 0x1p63 ? value &- .max &- 1 : value &- Int64(near)
    return (of(near), rest)
  }
}
