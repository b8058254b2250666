/// SHA-256 (FIPS 180-4), fed in pieces: the one hash here that also stands against people who would
/// like two contents to have one name.
///
/// An own one, since swift-crypto brings BoringSSL along: minutes of building for sixty lines. The
/// loops count by hand and walk over pointers, so that it stays usable without optimisation, too.
package struct SHA256: Sendable {
  private var state: Words8 = Words8(
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a,
    0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19)
  /// What does not fill a block yet.
  private var rest: [UInt8] = []
  /// Bytes so far.
  package private(set) var count: UInt64 = 0

  package init() {}

  private struct Words8 {
    var a, b, c, d, e, f, g, h: UInt32

    init(
      _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32,
      _ e: UInt32, _ f: UInt32, _ g: UInt32, _ h: UInt32
    ) {
      (self.a, self.b, self.c, self.d) = (a, b, c, d)
      (self.e, self.f, self.g, self.h) = (e, f, g, h)
    }
  }

  package mutating func update(_ bytes: [UInt8]) { update(bytes, 0..<bytes.count) }

  package mutating func update(_ bytes: [UInt8], _ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    count &+= UInt64(range.count)
    var start = range.lowerBound
    if !rest.isEmpty {
      let taken = min(64 - rest.count, range.count)
      rest.append(contentsOf: bytes[start..<(start + taken)])
      start += taken
      if rest.count < 64 { return }
      compress(rest, 0, blocks: 1)
      rest.removeAll(keepingCapacity: true)
    }
    let blocks = (range.upperBound - start) / 64
    if blocks > 0 { compress(bytes, start, blocks: blocks) }
    start += blocks * 64
    if start < range.upperBound { rest.append(contentsOf: bytes[start..<range.upperBound]) }
  }

  /// The hash of everything so far. More may follow.
  package func digest() -> ContentHash {
    var copy = self
    let bits = count &* 8
    var tail: [UInt8] = [0x80]
    while (copy.rest.count + tail.count) % 64 != 56 { tail.append(0) }
    for shift in stride(from: 56, through: 0, by: -8) {
      tail.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
    }
    copy.update(tail)
    let s = copy.state
    func pair(_ high: UInt32, _ low: UInt32) -> UInt64 { UInt64(high) << 32 | UInt64(low) }
    return ContentHash(pair(s.a, s.b), pair(s.c, s.d), pair(s.e, s.f), pair(s.g, s.h))
  }

  package static func hash(_ bytes: [UInt8]) -> ContentHash {
    var hash = SHA256()
    hash.update(bytes)
    return hash.digest()
  }

  private mutating func compress(_ bytes: [UInt8], _ start: Int, blocks: Int) {
    var sum = state
    unsafe bytes.withUnsafeBufferPointer { source in
      unsafe SHA256.constants.withUnsafeBufferPointer { constants in
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
          guard let input = source.baseAddress, let k = constants.baseAddress,
            let w = schedule.baseAddress
          else { return }
          var block = 0
          while block < blocks {
            unsafe SHA256.expand(input + (start &+ block &* 64), w)
            unsafe SHA256.rounds(&sum, w, k)
            block &+= 1
          }
        }
      }
    }
    state = sum
  }

  @inline(__always)
  private static func expand(_ input: UnsafePointer<UInt8>, _ w: UnsafeMutablePointer<UInt32>) {
    var i = 0
    while i < 16 {
      let place = i &* 4
      unsafe w[i] =
        UInt32(input[place]) &<< 24 | UInt32(input[place &+ 1]) &<< 16
        | UInt32(input[place &+ 2]) &<< 8 | UInt32(input[place &+ 3])
      i &+= 1
    }
    while i < 64 {
      let (x, y) = unsafe (w[i &- 15], w[i &- 2])
      let s0 = (x &>> 7 | x &<< 25) ^ (x &>> 18 | x &<< 14) ^ (x &>> 3)
      let s1 = (y &>> 17 | y &<< 15) ^ (y &>> 19 | y &<< 13) ^ (y &>> 10)
      unsafe w[i] = w[i &- 16] &+ s0 &+ w[i &- 7] &+ s1
      i &+= 1
    }
  }

  @inline(__always)
  private static func rounds(
    _ sum: inout Words8, _ w: UnsafeMutablePointer<UInt32>, _ k: UnsafePointer<UInt32>
  ) {
    var (a, b, c, d) = (sum.a, sum.b, sum.c, sum.d)
    var (e, f, g, h) = (sum.e, sum.f, sum.g, sum.h)
    var i = 0
    while i < 64 {
      let s1 = (e &>> 6 | e &<< 26) ^ (e &>> 11 | e &<< 21) ^ (e &>> 25 | e &<< 7)
      let choice = (e & f) ^ (~e & g)
      let first = unsafe h &+ s1 &+ choice &+ k[i] &+ w[i]
      let s0 = (a &>> 2 | a &<< 30) ^ (a &>> 13 | a &<< 19) ^ (a &>> 22 | a &<< 10)
      let majority = (a & b) ^ (a & c) ^ (b & c)
      h = g
      g = f
      f = e
      e = d &+ first
      d = c
      c = b
      b = a
      a = first &+ s0 &+ majority
      i &+= 1
    }
    sum.a = sum.a &+ a
    sum.b = sum.b &+ b
    sum.c = sum.c &+ c
    sum.d = sum.d &+ d
    sum.e = sum.e &+ e
    sum.f = sum.f &+ f
    sum.g = sum.g &+ g
    sum.h = sum.h &+ h
  }

  /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4,
    0xab1c_5ed5, 0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe,
    0x9bdc_06a7, 0xc19b_f174, 0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f,
    0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da, 0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
    0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967, 0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc,
    0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85, 0xa2bf_e8a1, 0xa81a_664b,
    0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070, 0x19a4_c116,
    0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7,
    0xc671_78f2,
  ]
}
