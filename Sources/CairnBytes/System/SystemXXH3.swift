#if canImport(CXXHash)
  import CXXHash

  /// What `XXH3` is where the system's libxxhash is linked.
  enum SystemXXH3 {
    static func hash64(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
      unsafe XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, seed)
    }

    static func hash128(_ bytes: UnsafeRawBufferPointer) -> UInt128 {
      let hash = unsafe XXH3_128bits(bytes.baseAddress, bytes.count)
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
#endif
