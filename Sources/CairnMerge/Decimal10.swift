/// Doubles that are short decimals (prices, coordinates) as integers: `digits / 10^exponent`, used
/// only where the division gives back the same 64 bits. After "ALP: Adaptive Lossless
/// floating-Point Compression" (Afroozeh, Kuffó, Boncz, SIGMOD 2023), section 3, with one exponent
/// a column and no exceptions.
@usableFromInline
package enum Decimal10 {
  /// The exponent byte that says: 8 bytes each, as they are.
  package static let raw: UInt8 = 0xFF
  package static let exponentMax = 9
  private static let digitsMax = 9_007_199_254_740_992.0

  /// The smallest exponent from `atLeast` up that holds `value` exactly, or nil.
  package static func exponent(_ value: Double, atLeast: Int) -> Int? {
    var exponent = atLeast
    while exponent <= exponentMax {
      guard (value * power(exponent)).magnitude < digitsMax else { return nil }
      if double(digits(value, exponent), exponent).bitPattern == value.bitPattern {
        return exponent
      }
      // −0.0 comes back as 0.0 at every exponent.
      if value == 0 { return nil }
      exponent += 1
    }
    return nil
  }

  /// The smallest exponent that holds all of these doubles exactly, or nil.
  ///
  /// Other modules call this one: a generic function would run unspecialised there.
  package static func exponent(_ words: [UInt64]) -> Int? { exponent(of: words) }

  /// The same for cells that lie among others.
  ///
  /// A number of many digits that a small exponent holds may be lost at a larger one, so all are
  /// looked at again if the exponent has risen on the way.
  static func exponent(of words: some Collection<UInt64>) -> Int? {
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
    if !hasRisen { return exponent }
    return words.allSatisfy { holds(Double(bitPattern: $0), exponent) } ? exponent : nil
  }

  private static func holds(_ value: Double, _ exponent: Int) -> Bool {
    Decimal10.exponent(value, atLeast: exponent) == exponent
  }

  /// The nearest integer, halves away from zero, without a call into the math library; only for
  /// values that are known to fit.
  @inlinable @inline(always)
  package static func digits(_ value: Double, _ exponent: Int) -> Int64 {
    let scaled = value * power(exponent)
    return Int64(scaled + (scaled < 0 ? -0.5 : 0.5))
  }

  @inlinable @inline(always)
  package static func double(_ digits: Int64, _ exponent: Int) -> Double {
    Double(digits) / power(exponent)
  }

  @inlinable @inline(always)
  package static func power(_ exponent: Int) -> Double {
    switch exponent {
    case 0: 1
    case 1: 1e1
    case 2: 1e2
    case 3: 1e3
    case 4: 1e4
    case 5: 1e5
    case 6: 1e6
    case 7: 1e7
    case 8: 1e8
    default: 1e9
    }
  }
}
