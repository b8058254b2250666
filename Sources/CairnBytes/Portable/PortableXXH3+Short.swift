/// XXH3 of 0 to 16 bytes (xxHash specification 0.2.0, "XXH3 Algorithm Description (for small
/// inputs)"). `secret` has 192 bytes, `input` `count`.
extension PortableXXH3 {
  static func empty64(_ seed: UInt64) -> UInt64 {
    unsafe XXH3Secret.withDefault { secret in
      unsafe XXH3Primes.avalancheXXH64(seed ^ secret.u64(56) ^ secret.u64(64))
    }
  }

  static func empty128() -> UInt128 {
    unsafe XXH3Secret.withDefault { secret in
      unsafe XXH3Primes.joined(
        low: XXH3Primes.avalancheXXH64(secret.u64(64) ^ secret.u64(72)),
        high: XXH3Primes.avalancheXXH64(secret.u64(80) ^ secret.u64(88)))
    }
  }

  /// The bytes and their number in one word.
  @inline(__always)
  private static func combined(_ input: UnsafeRawPointer, _ count: Int) -> UInt32 {
    let (first, last) = unsafe (UInt32(input.u8(0)), UInt32(input.u8(count &- 1)))
    let middle = unsafe UInt32(input.u8(count &>> 1))
    return last | UInt32(truncatingIfNeeded: count) &<< 8 | first &<< 16 | middle &<< 24
  }

  static func from1To3(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
  ) -> UInt64 {
    let key = unsafe UInt64(secret.u32(0) ^ secret.u32(4)) &+ seed
    return unsafe XXH3Primes.avalancheXXH64(key ^ UInt64(combined(input, count)))
  }

  static func wideFrom1To3(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer
  ) -> UInt128 {
    let swapped = unsafe combined(input, count).byteSwapped
    let turned = swapped &<< 13 | swapped &>> 19
    let high = unsafe UInt64(secret.u32(8) ^ secret.u32(12)) ^ UInt64(turned)
    return unsafe XXH3Primes.joined(
      low: from1To3(input, count, secret, 0), high: XXH3Primes.avalancheXXH64(high))
  }

  static func from4To8(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
  ) -> UInt64 {
    let (first, last) = unsafe (UInt64(input.u32(0)), UInt64(input.u32(count &- 4)))
    let modified = seed ^ UInt64(UInt32(truncatingIfNeeded: seed).byteSwapped) &<< 32
    let key = unsafe (secret.u64(8) ^ secret.u64(16)) &- modified
    var value = key ^ (last | first &<< 32)
    value ^= (value &<< 49 | value &>> 15) ^ (value &<< 24 | value &>> 40)
    value = value &* XXH3Primes.mix2
    value ^= (value &>> 35) &+ UInt64(truncatingIfNeeded: count)
    value = value &* XXH3Primes.mix2
    return value ^ (value &>> 28)
  }

  static func wideFrom4To8(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer
  ) -> UInt128 {
    let (first, last) = unsafe (UInt64(input.u32(0)), UInt64(input.u32(count &- 4)))
    let value = unsafe (secret.u64(16) ^ secret.u64(24)) ^ (first | last &<< 32)
    let product = value.multipliedFullWidth(
      by: XXH3Primes.prime64x1 &+ UInt64(truncatingIfNeeded: count) &<< 2)
    let high = product.high &+ product.low &<< 1
    var low = product.low ^ (high &>> 3)
    low ^= low &>> 35
    low = low &* XXH3Primes.mix2
    low ^= low &>> 28
    return XXH3Primes.joined(low: low, high: XXH3Primes.avalanche(high))
  }

  static func from9To16(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
  ) -> UInt64 {
    let low = unsafe ((secret.u64(24) ^ secret.u64(32)) &+ seed) ^ input.u64(0)
    let high = unsafe ((secret.u64(40) ^ secret.u64(48)) &- seed) ^ input.u64(count &- 8)
    let sum = UInt64(truncatingIfNeeded: count) &+ low.byteSwapped &+ high
    return XXH3Primes.avalanche(sum &+ XXH3Primes.folded(low, high))
  }

  static func wideFrom9To16(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer
  ) -> UInt128 {
    let (first, last) = unsafe (input.u64(0), input.u64(count &- 8))
    let a = unsafe (secret.u64(32) ^ secret.u64(40)) ^ first ^ last
    let b = unsafe (secret.u64(48) ^ secret.u64(56)) ^ last
    let product = a.multipliedFullWidth(by: XXH3Primes.prime64x1)
    var low = product.low &+ UInt64(truncatingIfNeeded: count &- 1) &<< 54
    // The simplified line of the specification.
    let high = product.high &+ b &+ (b & 0xFFFF_FFFF) &* (XXH3Primes.prime32x2 &- 1)
    low ^= high.byteSwapped
    let second = low.multipliedFullWidth(by: XXH3Primes.prime64x2)
    return XXH3Primes.joined(
      low: XXH3Primes.avalanche(second.low),
      high: XXH3Primes.avalanche(second.high &+ high &* XXH3Primes.prime64x2))
  }
}
