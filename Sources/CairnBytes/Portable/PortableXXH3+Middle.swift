/// XXH3 of 17 to 240 bytes (xxHash specification 0.2.0, "XXH3 Algorithm Description (for medium
/// inputs)"). `secret` has 192 bytes, `input` `count`.
extension PortableXXH3 {
  /// `mixStep` of the specification.
  @inline(__always)
  private static func mixed(
    _ data: UnsafeRawPointer, _ secret: UnsafeRawPointer, _ seed: UInt64
  ) -> UInt64 {
    unsafe XXH3Primes.folded(
      data.u64(0) ^ (secret.u64(0) &+ seed), data.u64(8) ^ (secret.u64(8) &- seed))
  }

  static func from17To128(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
  ) -> UInt64 {
    var sum = UInt64(truncatingIfNeeded: count) &* XXH3Primes.prime64x1
    // From the outside in, where the specification goes from the inside out: it is a sum.
    var place = 0
    while place &* 2 < count {
      unsafe sum = sum &+ mixed(input + place, secret + place &* 2, seed)
      let end = count &- place &- 16
      unsafe sum = sum &+ mixed(input + end, secret + (place &* 2 &+ 16), seed)
      place &+= 16
    }
    return XXH3Primes.avalanche(sum)
  }

  static func from129To240(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
  ) -> UInt64 {
    var sum = UInt64(truncatingIfNeeded: count) &* XXH3Primes.prime64x1
    var place = 0
    while place < 128 {
      unsafe sum = sum &+ mixed(input + place, secret + place, seed)
      place &+= 16
    }
    sum = XXH3Primes.avalanche(sum)
    while place &+ 16 <= count {
      unsafe sum = sum &+ mixed(input + place, secret + (place &- 128 &+ 3), seed)
      place &+= 16
    }
    unsafe sum = sum &+ mixed(input + (count &- 16), secret + 119, seed)
    return XXH3Primes.avalanche(sum)
  }

  /// `mixTwoChunks` of the specification, with the seed 0.
  @inline(__always)
  private static func mixTwo(
    _ sums: inout (UInt64, UInt64), _ first: UnsafeRawPointer, _ second: UnsafeRawPointer,
    _ secret: UnsafeRawPointer
  ) {
    unsafe sums.0 = sums.0 &+ mixed(first, secret, 0)
    unsafe sums.1 = sums.1 &+ mixed(second, secret + 16, 0)
    unsafe sums.0 ^= second.u64(0) &+ second.u64(8)
    unsafe sums.1 ^= first.u64(0) &+ first.u64(8)
  }

  static func wideFrom17To128(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer
  ) -> UInt128 {
    var sums = (UInt64(truncatingIfNeeded: count) &* XXH3Primes.prime64x1, 0 as UInt64)
    // From the inside out: here the order counts.
    var place = (count &- 1) / 32 &* 16
    while place >= 0 {
      unsafe mixTwo(
        &sums, input + place, input + (count &- place &- 16), secret + place &* 2)
      place &-= 16
    }
    return wide(sums, count)
  }

  static func wideFrom129To240(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer
  ) -> UInt128 {
    var sums = (UInt64(truncatingIfNeeded: count) &* XXH3Primes.prime64x1, 0 as UInt64)
    var place = 0
    while place < 128 {
      unsafe mixTwo(&sums, input + place, input + (place &+ 16), secret + place)
      place &+= 32
    }
    sums = (XXH3Primes.avalanche(sums.0), XXH3Primes.avalanche(sums.1))
    while place &+ 32 <= count {
      unsafe mixTwo(
        &sums, input + place, input + (place &+ 16), secret + (place &- 128 &+ 3))
      place &+= 32
    }
    // The last 32 bytes, their halves in the other order.
    unsafe mixTwo(&sums, input + (count &- 16), input + (count &- 32), secret + 103)
    return wide(sums, count)
  }

  /// Step 3 for 128 bits, with the seed 0.
  private static func wide(_ sums: (UInt64, UInt64), _ count: Int) -> UInt128 {
    let low = sums.0 &+ sums.1
    let high =
      sums.0 &* XXH3Primes.prime64x1 &+ sums.1 &* XXH3Primes.prime64x4
      &+ UInt64(truncatingIfNeeded: count) &* XXH3Primes.prime64x2
    return XXH3Primes.joined(
      low: XXH3Primes.avalanche(low), high: 0 &- XXH3Primes.avalanche(high))
  }
}
