import CLZ4

/// LZ4 blocks (the raw block format: no frame, no checksum; lengths and checksums are the
/// caller's).
package enum LZ4 {
  /// A packed block can unpack to at most this many times its size.
  package static let expansionLimit = 255

  /// Appends `range` of `bytes` in packed form and returns true, or appends nothing and returns
  /// false if packing would not save at least 1/16 of it.
  package static func pack(
    _ bytes: [UInt8], _ range: Range<Int>, into output: inout [UInt8]
  ) -> Bool {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    guard range.count >= 64, range.count <= 1 << 30 else { return false }
    let limit = range.count - range.count / 16
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

  /// Unpacks `range` of `bytes` into exactly `count` bytes.
  ///
  /// The caller has checked `count` against its own limit; here it is checked against what the
  /// packed bytes can hold, before anything is allocated.
  ///
  /// `isOwn`: the bytes are of a store's own file. They are not gone through a second time, which
  /// costs half as much as unpacking, for a match that is no bytes back.
  package static func unpack(
    _ bytes: [UInt8], _ range: Range<Int>, count: Int, isOwn: Bool = false
  ) throws(DecodeError) -> [UInt8] {
    guard range.lowerBound >= 0, range.upperBound <= bytes.count, !range.isEmpty else {
      throw .truncated
    }
    guard count > 0, count <= range.count * expansionLimit + 64, count <= 1 << 30 else {
      throw .limit
    }
    guard range.count <= 1 << 30 else { throw .limit }
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
    guard result.count == count else { throw .malformed("LZ4 block does not unpack to its length") }
    guard isOwn || !hasOffsetZero(bytes, range) else {
      throw .malformed("LZ4 block has an offset of 0")
    }
    return result
  }

  /// Whether a match of a block, which the library could unpack, is no bytes back. The format has
  /// no such match; the library makes zeros of it, other readers refuse it.
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
