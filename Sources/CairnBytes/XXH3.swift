import CXXHash

/// XXH3 of byte ranges. It detects accidents, not attackers.
package enum XXH3 {
  package static func hash64(_ bytes: [UInt8], _ range: Range<Int>, seed: UInt64 = 0) -> UInt64 {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    return unsafe bytes.withUnsafeBytes {
      unsafe XXH3_64bits_withSeed(
        $0.baseAddress.map { unsafe $0 + range.lowerBound }, range.count, seed)
    }
  }

  package static func hash64(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
    hash64(bytes, 0..<bytes.count, seed: seed)
  }

  /// Hash of a text's UTF-8 bytes.
  package static func hash64(_ text: String, seed: UInt64 = 0) -> UInt64 {
    var copy = text
    return copy.withUTF8 { unsafe XXH3_64bits_withSeed($0.baseAddress, $0.count, seed) }
  }

  package static func hash128(_ bytes: [UInt8], _ range: Range<Int>) -> UInt128 {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    let hash = unsafe bytes.withUnsafeBytes {
      unsafe XXH3_128bits($0.baseAddress.map { unsafe $0 + range.lowerBound }, range.count)
    }
    return UInt128(hash.high64) << 64 | UInt128(hash.low64)
  }

  package static func hash128(_ bytes: [UInt8]) -> UInt128 { hash128(bytes, 0..<bytes.count) }

  /// Hash of a text's UTF-8 bytes.
  package static func hash128(_ text: String) -> UInt128 {
    var copy = text
    let hash = copy.withUTF8 { unsafe XXH3_128bits($0.baseAddress, $0.count) }
    return UInt128(hash.high64) << 64 | UInt128(hash.low64)
  }
}

/// XXH3-128 of bytes that arrive in pieces; the same value as `XXH3.hash128` of the whole.
@safe package final class StreamingXXH3 {
  private let state: OpaquePointer

  package init?() {
    guard let state = unsafe XXH3_createState() else { return nil }
    unsafe self.state = state
    _ = unsafe XXH3_128bits_reset(state)
  }

  package func update(_ bytes: [UInt8], _ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    unsafe bytes.withUnsafeBytes {
      _ = unsafe XXH3_128bits_update(
        state, $0.baseAddress.map { unsafe $0 + range.lowerBound }, range.count)
    }
  }

  package func update(_ bytes: [UInt8]) { update(bytes, 0..<bytes.count) }

  package func digest() -> UInt128 {
    let hash = unsafe XXH3_128bits_digest(state)
    return UInt128(hash.high64) << 64 | UInt128(hash.low64)
  }

  deinit { _ = unsafe XXH3_freeState(state) }
}
