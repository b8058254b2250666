/// XXH3 of byte ranges. It detects accidents, not attackers.
package enum XXH3 {
  #if canImport(CXXHash)
    private typealias Hash = SystemXXH3
  #else
    private typealias Hash = PortableXXH3
  #endif

  package static func hash64(_ bytes: [UInt8], _ range: Range<Int>, seed: UInt64 = 0) -> UInt64 {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    return unsafe bytes.withUnsafeBytes {
      unsafe Hash.hash64(UnsafeRawBufferPointer(rebasing: $0[range]), seed: seed)
    }
  }

  package static func hash64(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
    hash64(bytes, 0..<bytes.count, seed: seed)
  }

  /// Hash of a text's UTF-8 bytes.
  package static func hash64(_ text: String, seed: UInt64 = 0) -> UInt64 {
    var copy = text
    return copy.withUTF8 { unsafe Hash.hash64(UnsafeRawBufferPointer($0), seed: seed) }
  }

  package static func hash128(_ bytes: [UInt8], _ range: Range<Int>) -> UInt128 {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    return unsafe bytes.withUnsafeBytes {
      unsafe Hash.hash128(UnsafeRawBufferPointer(rebasing: $0[range]))
    }
  }

  package static func hash128(_ bytes: [UInt8]) -> UInt128 { hash128(bytes, 0..<bytes.count) }

  /// Hash of a text's UTF-8 bytes.
  package static func hash128(_ text: String) -> UInt128 {
    var copy = text
    return copy.withUTF8 { unsafe Hash.hash128(UnsafeRawBufferPointer($0)) }
  }
}

#if !canImport(CXXHash)
  /// XXH3-128 of bytes that arrive in pieces; the same value as `XXH3.hash128` of the whole.
  package final class StreamingXXH3 {
    private var state = PortableStreamingXXH3()

    /// Never nil; where the system's libxxhash is linked, it is when there is no memory left.
    package init?() {}

    package func update(_ bytes: [UInt8], _ range: Range<Int>) { state.update(bytes, range) }

    package func update(_ bytes: [UInt8]) { update(bytes, 0..<bytes.count) }

    package func digest() -> UInt128 { state.digest() }
  }
#endif
