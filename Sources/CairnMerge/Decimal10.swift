/// Doubles that are short decimals (prices, coordinates) as integers: `digits / 10^exponent`, used
/// only where the division gives back the same 64 bits. After "ALP: Adaptive Lossless
/// floating-Point Compression" (Afroozeh, Kuffó, Boncz, SIGMOD 2023), section 3, with one exponent
/// a column and no exceptions.
package enum Decimal10 {
  /// The exponent byte that says: 8 bytes each, as they are.
  package static let raw: UInt8 = 0xFF
  package static let exponentMax = 9
  private static let powers: [Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
  private static let digitsMax = 9_007_199_254_740_992.0

  /// The smallest exponent from `atLeast` up that holds `value` exactly, or nil.
  package static func exponent(_ value: Double, atLeast: Int) -> Int? {
    var exponent = atLeast
    while exponent <= exponentMax {
      let scaled = (value * powers[exponent]).rounded()
      guard scaled.magnitude < digitsMax else { return nil }
      if (scaled / powers[exponent]).bitPattern == value.bitPattern {
        // −0.0 scales to −0.0, which an integer can't hold.
        return value == 0 && value.sign == .minus ? nil : exponent
      }
      exponent += 1
    }
    return nil
  }

  /// The smallest exponent that holds all of these doubles exactly, or nil.
  ///
  /// A number of many digits that a small exponent holds may be lost at a larger one, so all are
  /// looked at again if the exponent has risen on the way.
  package static func exponent(_ words: some Collection<UInt64>) -> Int? {
    var exponent = 0
    var first = true
    var hasRisen = false
    for word in words {
      guard let next = Decimal10.exponent(Double(bitPattern: word), atLeast: exponent) else {
        return nil
      }
      if next > exponent, !first { hasRisen = true }
      exponent = next
      first = false
    }
    let isExact = !hasRisen || words.allSatisfy { Decimal10.holds(Double(bitPattern: $0), exponent) }
    return isExact ? exponent : nil
  }

  private static func holds(_ value: Double, _ exponent: Int) -> Bool {
    Decimal10.exponent(value, atLeast: exponent) == exponent
  }

  @inlinable @inline(always)
  package static func digits(_ value: Double, _ exponent: Int) -> Int64 {
    Int64((value * power(exponent)).rounded())
  }

  @inlinable @inline(always)
  package static func double(_ digits: Int64, _ exponent: Int) -> Double {
    Double(digits) / power(exponent)
  }

  @inlinable
  package static func power(_ exponent: Int) -> Double { table(exponent) }

  @usableFromInline
  static func table(_ exponent: Int) -> Double { powers[exponent] }
}
