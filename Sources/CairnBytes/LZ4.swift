/// LZ4 blocks (the raw block format: no frame, no checksum; lengths and checksums are the
/// caller's).
package enum LZ4 {
  #if canImport(CLZ4)
    private typealias Codec = SystemLZ4
  #else
    private typealias Codec = PortableLZ4
  #endif

  /// A packed block can unpack to at most this many times its size.
  package static let expansionLimit = 255

  /// Appends `range` of `bytes` in packed form and returns true, or appends nothing and returns
  /// false if packing would not save at least 1/16 of it.
  package static func pack(
    _ bytes: [UInt8], _ range: Range<Int>, into output: inout [UInt8]
  ) -> Bool {
    Codec.pack(bytes, range, into: &output)
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
    #if canImport(CLZ4)
      try Codec.unpack(bytes, range, count: count, isOwn: isOwn)
    #else
      // It finds such a match on its way.
      try Codec.unpack(bytes, range, count: count)
    #endif
  }

  /// How many bytes a range may have when it is packed, or nil if it is not worth the try, or too
  /// long.
  static func packedLimit(_ bytes: [UInt8], _ range: Range<Int>) -> Int? {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    guard range.count >= 64, range.count <= 1 << 30 else { return nil }
    return range.count - range.count / 16
  }

  /// Refuses what no block can be, before there is memory for what it unpacks to.
  static func check(
    _ bytes: [UInt8], _ range: Range<Int>, count: Int
  ) throws(DecodeError) {
    guard range.lowerBound >= 0, range.upperBound <= bytes.count, !range.isEmpty else {
      throw .truncated
    }
    guard count > 0, count <= range.count * expansionLimit + 64, count <= 1 << 30 else {
      throw .limit
    }
    guard range.count <= 1 << 30 else { throw .limit }
  }
}
