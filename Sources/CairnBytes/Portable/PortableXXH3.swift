/// XXH3 in Swift, written from the xxHash specification 0.2.0 (doc/xxhash_spec of
/// Cyan4973/xxHash): what `XXH3` is where the system has no libxxhash to link.
package enum PortableXXH3 {
  package static func hash64(_ bytes: [UInt8], _ range: Range<Int>, seed: UInt64 = 0) -> UInt64 {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    return unsafe bytes.withUnsafeBytes {
      unsafe hash64(UnsafeRawBufferPointer(rebasing: $0[range]), seed: seed)
    }
  }

  package static func hash128(_ bytes: [UInt8], _ range: Range<Int>) -> UInt128 {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    return unsafe bytes.withUnsafeBytes {
      unsafe hash128(UnsafeRawBufferPointer(rebasing: $0[range]))
    }
  }

  static func hash64(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    let count = bytes.count
    // No bytes may have no address; the algorithm for none reads none.
    guard count > 0, let input = bytes.baseAddress else { return empty64(seed) }
    if count > 240 { return unsafe long64(input, count, seed) }
    return unsafe XXH3Secret.withDefault { secret in
      if count <= 3 { return unsafe from1To3(input, count, secret, seed) }
      if count <= 8 { return unsafe from4To8(input, count, secret, seed) }
      if count <= 16 { return unsafe from9To16(input, count, secret, seed) }
      if count <= 128 { return unsafe from17To128(input, count, secret, seed) }
      return unsafe from129To240(input, count, secret, seed)
    }
  }

  /// With the seed 0, which is all that anybody here uses.
  static func hash128(_ bytes: UnsafeRawBufferPointer) -> UInt128 {
    let count = bytes.count
    guard count > 0, let input = bytes.baseAddress else { return empty128() }
    if count > 240 { return unsafe long128(input, count) }
    return unsafe XXH3Secret.withDefault { secret in
      if count <= 3 { return unsafe wideFrom1To3(input, count, secret) }
      if count <= 8 { return unsafe wideFrom4To8(input, count, secret) }
      if count <= 16 { return unsafe wideFrom9To16(input, count, secret) }
      if count <= 128 { return unsafe wideFrom17To128(input, count, secret) }
      return unsafe wideFrom129To240(input, count, secret)
    }
  }

  private static func long64(_ input: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    unsafe XXH3Secret.with(seed: seed) { secret in
      unsafe lanes(input, count, secret).low(count, secret)
    }
  }

  private static func long128(_ input: UnsafeRawPointer, _ count: Int) -> UInt128 {
    unsafe XXH3Secret.withDefault { secret in
      let lanes = unsafe lanes(input, count, secret)
      return unsafe XXH3Primes.joined(
        low: lanes.low(count, secret), high: lanes.high(count, secret))
    }
  }

  /// Steps 1 to 3 of the algorithm for large inputs. The last block stays for step 3 even where it
  /// is a whole one.
  private static func lanes(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer
  ) -> XXH3Lanes {
    var lanes = XXH3Lanes()
    let blocks = (count &- 1) / XXH3Lanes.blockSize
    let done = blocks &* XXH3Lanes.blockSize
    unsafe lanes.addBlocks(input, blocks, secret)
    unsafe lanes.addLast(
      input + done, count &- done, lastStripe: input + (count &- XXH3Lanes.stripeSize), secret)
    return lanes
  }
}
