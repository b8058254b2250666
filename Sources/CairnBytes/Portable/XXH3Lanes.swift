/// The eight accumulators of XXH3 for more than 240 bytes (xxHash specification 0.2.0, "XXH3
/// Algorithm Description (for large inputs)").
///
/// In pairs, as two that are neighbours swap their input with every step: a vector of two is what
/// all processors have, and it is usable without optimisation, too.
struct XXH3Lanes: Sendable {
  static let stripeSize = 64
  /// (192 - 64) / 8: each stripe of a block takes the secret from 8 bytes further on.
  static let stripesPerBlock = 16
  static let blockSize = 1_024

  private var a, b, c, d: SIMD2<UInt64>

  /// Step 1: the initial values.
  init() {
    a = SIMD2(XXH3Primes.prime32x3, XXH3Primes.prime64x1)
    b = SIMD2(XXH3Primes.prime64x2, XXH3Primes.prime64x3)
    c = SIMD2(XXH3Primes.prime64x4, XXH3Primes.prime32x2)
    d = SIMD2(XXH3Primes.prime64x5, XXH3Primes.prime32x1)
  }

  /// Step 2: so many blocks of 1024 bytes, after which more bytes follow.
  mutating func addBlocks(_ input: UnsafeRawPointer, _ blocks: Int, _ secret: UnsafeRawPointer) {
    // Worked on in a copy, which stays in registers.
    var lanes = self
    var block = 0
    while block < blocks {
      unsafe lanes.addStripes(
        input + block &* XXH3Lanes.blockSize, XXH3Lanes.stripesPerBlock, secret)
      unsafe lanes.scramble(secret + (XXH3Secret.count &- 64))
      block &+= 1
    }
    self = lanes
  }

  /// Step 3: the last block, of 1 to 1024 bytes, of which the last stripe is the last 64 bytes of
  /// the whole input, wherever they lie.
  mutating func addLast(
    _ input: UnsafeRawPointer, _ count: Int, lastStripe: UnsafeRawPointer,
    _ secret: UnsafeRawPointer
  ) {
    var lanes = self
    unsafe lanes.addStripes(input, (count &- 1) / XXH3Lanes.stripeSize, secret)
    unsafe lanes.accumulate(lastStripe, secret + (XXH3Secret.count &- 71))
    self = lanes
  }

  /// Step 4 for 64 bits, or the lower half of 128.
  func low(_ total: Int, _ secret: UnsafeRawPointer) -> UInt64 {
    unsafe merged(UInt64(truncatingIfNeeded: total) &* XXH3Primes.prime64x1, secret + 11)
  }

  /// Step 4 for the upper half of 128 bits.
  func high(_ total: Int, _ secret: UnsafeRawPointer) -> UInt64 {
    unsafe merged(
      ~(UInt64(truncatingIfNeeded: total) &* XXH3Primes.prime64x2),
      secret + (XXH3Secret.count &- 75))
  }

  @inline(__always)
  private mutating func addStripes(
    _ input: UnsafeRawPointer, _ stripes: Int, _ secret: UnsafeRawPointer
  ) {
    var stripe = 0
    while stripe < stripes {
      unsafe accumulate(input + stripe &* XXH3Lanes.stripeSize, secret + stripe &* 8)
      stripe &+= 1
    }
  }

  /// `accumulate` of the specification.
  @inline(__always)
  private mutating func accumulate(_ stripe: UnsafeRawPointer, _ secret: UnsafeRawPointer) {
    unsafe XXH3Lanes.add(&a, stripe, secret)
    unsafe XXH3Lanes.add(&b, stripe + 16, secret + 16)
    unsafe XXH3Lanes.add(&c, stripe + 32, secret + 32)
    unsafe XXH3Lanes.add(&d, stripe + 48, secret + 48)
  }

  @inline(__always)
  private static func add(
    _ lane: inout SIMD2<UInt64>, _ stripe: UnsafeRawPointer, _ secret: UnsafeRawPointer
  ) {
    let (x, y) = unsafe (stripe.u64(0), stripe.u64(8))
    let mixed = unsafe SIMD2(x, y) ^ SIMD2(secret.u64(0), secret.u64(8))
    let low = mixed & SIMD2(0xFFFF_FFFF, 0xFFFF_FFFF)
    lane = lane &+ SIMD2(y, x) &+ low &* (mixed &>> SIMD2(32, 32))
  }

  /// `round_scramble` of the specification.
  @inline(__always)
  private mutating func scramble(_ secret: UnsafeRawPointer) {
    unsafe XXH3Lanes.scramble(&a, secret)
    unsafe XXH3Lanes.scramble(&b, secret + 16)
    unsafe XXH3Lanes.scramble(&c, secret + 32)
    unsafe XXH3Lanes.scramble(&d, secret + 48)
  }

  @inline(__always)
  private static func scramble(_ lane: inout SIMD2<UInt64>, _ secret: UnsafeRawPointer) {
    let mixed = unsafe lane ^ (lane &>> SIMD2(47, 47)) ^ SIMD2(secret.u64(0), secret.u64(8))
    lane = mixed &* SIMD2(XXH3Primes.prime32x1, XXH3Primes.prime32x1)
  }

  /// `finalMerge` of the specification.
  private func merged(_ start: UInt64, _ secret: UnsafeRawPointer) -> UInt64 {
    var result = start
    result = unsafe result &+ XXH3Primes.folded(a.x ^ secret.u64(0), a.y ^ secret.u64(8))
    result = unsafe result &+ XXH3Primes.folded(b.x ^ secret.u64(16), b.y ^ secret.u64(24))
    result = unsafe result &+ XXH3Primes.folded(c.x ^ secret.u64(32), c.y ^ secret.u64(40))
    result = unsafe result &+ XXH3Primes.folded(d.x ^ secret.u64(48), d.y ^ secret.u64(56))
    return XXH3Primes.avalanche(result)
  }
}
