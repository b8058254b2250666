#if canImport(CLZ4)
  import CLZ4

  /// What `LZ4` is where the system's liblz4 is linked.
  enum SystemLZ4 {
    /// See `LZ4.pack`.
    static func pack(_ bytes: [UInt8], _ range: Range<Int>, into output: inout [UInt8]) -> Bool {
      guard let limit = LZ4.packedLimit(bytes, range) else { return false }
      let start = output.count
      output.append(addingCapacity: limit) { room in
        unsafe bytes.withUnsafeBytes { source in
          unsafe room.withUnsafeMutableBufferPointer { target, count in
            guard let from = source.baseAddress, let to = target.baseAddress else { return }
            let written = unsafe LZ4_compress_default(
              (from + range.lowerBound).assumingMemoryBound(to: CChar.self),
              UnsafeMutableRawPointer(to).assumingMemoryBound(to: CChar.self),
              Int32(range.count), Int32(limit))
            count = Int(written)
          }
        }
      }
      return output.count > start
    }

    /// See `LZ4.unpack`.
    static func unpack(
      _ bytes: [UInt8], _ range: Range<Int>, count: Int, isOwn: Bool
    ) throws(DecodeError) -> [UInt8] {
      try LZ4.check(bytes, range, count: count)
      let result = [UInt8](capacity: count) { room in
        unsafe bytes.withUnsafeBytes { source in
          unsafe room.withUnsafeMutableBufferPointer { target, filled in
            guard let from = source.baseAddress, let to = target.baseAddress else { return }
            let written = unsafe LZ4_decompress_safe(
              (from + range.lowerBound).assumingMemoryBound(to: CChar.self),
              UnsafeMutableRawPointer(to).assumingMemoryBound(to: CChar.self),
              Int32(range.count), Int32(count))
            filled = max(0, Int(written))
          }
        }
      }
      guard result.count == count else {
        throw .malformed("LZ4 block does not unpack to its length")
      }
      guard isOwn || !hasOffsetZero(bytes, range) else {
        throw .malformed("LZ4 block has an offset of 0")
      }
      return result
    }

    /// Whether a match of a block, which the library could unpack, is no bytes back. The format
    /// has no such match; the library makes zeros of it, other readers refuse it.
    private static func hasOffsetZero(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
      var at = range.lowerBound
      let end = range.upperBound
      while at < end {
        let token = bytes[at]
        at += 1
        var literals = Int(token >> 4)
        if literals == 15 { literals += moreLength(bytes, &at, end) }
        at += literals
        // The last sequence has no match.
        guard end - at >= 2 else { return false }
        if bytes[at] == 0, bytes[at + 1] == 0 { return true }
        at += 2
        if token & 15 == 15 { _ = moreLength(bytes, &at, end) }
      }
      return false
    }

    /// The bytes that follow a length of 15: each adds what it is, and the last is not 255.
    private static func moreLength(_ bytes: [UInt8], _ at: inout Int, _ end: Int) -> Int {
      var more = 0
      while at < end {
        let byte = bytes[at]
        at += 1
        more += Int(byte)
        if byte < 255 { break }
      }
      return more
    }
  }
#endif
