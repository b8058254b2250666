import CairnBytes

/// Checksums that are made right, so that what they would have caught gets behind them.
package enum Checksums {
  /// Puts the hash of the first `end` bytes behind them.
  package static func sum(_ bytes: inout [UInt8], to end: Int) {
    guard end >= 0, end + 8 <= bytes.count else { return }
    bytes.set(XXH3.hash64(bytes, 0..<end), at: end)
  }

  /// Puts the hash of all before the last 16 bytes there.
  package static func sum128(_ bytes: inout [UInt8]) {
    guard bytes.count >= 16 else { return }
    let end = bytes.count - 16
    let hash = XXH3.hash128(bytes, 0..<end)
    bytes.set(UInt64(truncatingIfNeeded: hash), at: end)
    bytes.set(UInt64(truncatingIfNeeded: hash >> 64), at: end + 8)
  }
}
