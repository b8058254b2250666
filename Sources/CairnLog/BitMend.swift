import CairnBytes

/// Puts one rotten bit right: whoever knows the checksum that some bytes should have can try which
/// single bit, turned round, gives it. By accident one of n bits does so once in 2^64 / n, so what
/// is found is what was written.
///
/// Every bit that is tried costs the length of what the checksum covers. So the bits of long parts
/// are not tried, and there is a budget.
package struct BitMend {
  /// Bits of parts of more bytes are not tried.
  package static let bytesMax = 64 << 10
  /// Bytes that may still be hashed.
  package private(set) var budget: UInt64

  package init(budget: UInt64 = 40 << 30) { self.budget = budget }

  /// Turns the one bit of `range` round after which `isRight` holds; false, and the bytes as they
  /// were, if there is none. `length` is how much `isRight` reads.
  package mutating func mend(
    _ bytes: inout [UInt8], _ range: Range<Int>, length: Int, _ isRight: ([UInt8]) -> Bool
  ) -> Bool {
    let cost = UInt64(range.count) * 8 * UInt64(max(1, length))
    guard range.count <= BitMend.bytesMax, cost <= budget else { return false }
    budget -= cost
    for index in range {
      for bit in 0..<8 {
        bytes[index] ^= 1 << UInt8(bit)
        if isRight(bytes) { return true }
        bytes[index] ^= 1 << UInt8(bit)
      }
    }
    return false
  }
}
