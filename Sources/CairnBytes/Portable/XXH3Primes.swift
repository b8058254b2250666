/// The constants that XXH3 multiplies by (xxHash specification 0.2.0, "XXH3 Algorithm Overview"),
/// and what its three algorithms share.
enum XXH3Primes {
  static let prime32x1: UInt64 = 0x9E37_79B1
  static let prime32x2: UInt64 = 0x85EB_CA77
  static let prime32x3: UInt64 = 0xC2B2_AE3D
  static let prime64x1: UInt64 = 0x9E37_79B1_85EB_CA87
  static let prime64x2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
  static let prime64x3: UInt64 = 0x1656_67B1_9E37_79F9
  static let prime64x4: UInt64 = 0x85EB_CA77_C2B2_AE63
  static let prime64x5: UInt64 = 0x27D4_EB2F_1656_67C5
  static let mix1: UInt64 = 0x1656_6791_9E37_79F9
  static let mix2: UInt64 = 0x9FB2_1C65_1E98_DF25

  /// `avalanche` of the specification.
  @inline(__always)
  static func avalanche(_ value: UInt64) -> UInt64 {
    var x = value
    x ^= x &>> 37
    x = x &* mix1
    return x ^ (x &>> 32)
  }

  /// `avalanche_XXH64` of the specification.
  @inline(__always)
  static func avalancheXXH64(_ value: UInt64) -> UInt64 {
    var x = value
    x ^= x &>> 33
    x = x &* prime64x2
    x ^= x &>> 29
    x = x &* prime64x3
    return x ^ (x &>> 32)
  }

  /// Both halves of a product of 128 bits, one over the other.
  @inline(__always)
  static func folded(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.low ^ product.high
  }

  /// A hash of 128 bits from its halves.
  @inline(__always)
  static func joined(low: UInt64, high: UInt64) -> UInt128 { UInt128(high) << 64 | UInt128(low) }
}
