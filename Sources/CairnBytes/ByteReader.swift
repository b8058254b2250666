/// Reads values off the front of a range of bytes. Every read is checked against the range's end,
/// so no input can make it trap.
///
/// A span would be its own cursor, but can be neither stored nor returned (Swift 6.3); an array
/// with an offset costs the same once inlined.
@frozen @usableFromInline
package struct ByteReader: Sendable {
  @usableFromInline package let bytes: [UInt8]
  /// Where the next value starts, in `bytes`.
  @usableFromInline package var offset: Int
  /// Where the readable range ends, in `bytes`.
  @usableFromInline package let end: Int

  @inlinable @inline(always)
  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
    offset = 0
    end = bytes.count
  }

  /// Reads `range`, clamped to the bytes that are there.
  @inlinable @inline(always)
  package init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    let clamped = range.clamped(to: 0..<bytes.count)
    offset = clamped.lowerBound
    end = clamped.upperBound
  }

  @inlinable @inline(always) package var remaining: Int { end - offset }
  @inlinable @inline(always) package var isAtEnd: Bool { offset >= end }

  @inlinable @inline(always)
  package mutating func u8() throws(DecodeError) -> UInt8 {
    guard offset < end else { throw .truncated }
    let value = bytes[offset]
    offset += 1
    return value
  }

  @inlinable @inline(always)
  package mutating func u16() throws(DecodeError) -> UInt16 {
    guard remaining >= 2 else { throw .truncated }
    defer { offset += 2 }
    return bytes.u16(at: offset)
  }

  @inlinable @inline(always)
  package mutating func u32() throws(DecodeError) -> UInt32 {
    guard remaining >= 4 else { throw .truncated }
    defer { offset += 4 }
    return bytes.u32(at: offset)
  }

  @inlinable @inline(always)
  package mutating func u64() throws(DecodeError) -> UInt64 {
    guard remaining >= 8 else { throw .truncated }
    defer { offset += 8 }
    return bytes.u64(at: offset)
  }

  /// A hash or an identity of 16 bytes.
  package mutating func hash() throws(DecodeError) -> UInt128 {
    let low = try u64()
    return UInt128(try u64()) << 64 | UInt128(low)
  }

  /// An unsigned LEB128 varint of at most 10 bytes, in its shortest form.
  @inlinable @inline(always)
  package mutating func varint() throws(DecodeError) -> UInt64 {
    guard offset < end else { throw .truncated }
    let first = bytes[offset]
    offset += 1
    if first < 0x80 { return UInt64(first) }
    return try longVarint(first)
  }

  @inlinable
  package mutating func longVarint(_ first: UInt8) throws(DecodeError) -> UInt64 {
    var value = UInt64(first & 0x7F)
    var shift: UInt64 = 7
    while true {
      guard offset < end else { throw .truncated }
      let byte = bytes[offset]
      offset += 1
      if shift == 63, byte > 1 { throw .overlongVarint }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 {
        guard byte != 0 else { throw .overlongVarint }
        return value
      }
      shift += 7
      guard shift <= 63 else { throw .overlongVarint }
    }
  }

  /// The highest number of a delta, a file or a replacement that is believed. Nobody counts that
  /// far; whoever claims to would have the next step overflow.
  @inlinable @inline(always) package static var counterMax: UInt64 { 1 << 62 }

  /// A number that somebody counts on from: at most `counterMax`.
  @inlinable @inline(always)
  package mutating func counter() throws(DecodeError) -> UInt64 {
    let value = try varint()
    guard value <= ByteReader.counterMax else { throw .limit }
    return value
  }

  /// A signed integer in zigzag form.
  @inlinable @inline(always)
  package mutating func zigzag() throws(DecodeError) -> Int64 {
    let raw = try varint()
    return Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1)
  }

  /// A count of things that take at least `minimumSize` bytes each: never more than can be left.
  @inlinable @inline(always)
  package mutating func count(minimumSize: Int = 1) throws(DecodeError) -> Int {
    let value = try varint()
    guard value <= UInt64(remaining / minimumSize) else { throw .limit }
    return Int(value)
  }

  /// A count with its own limit, for things that may take no byte each.
  @inlinable @inline(always)
  package mutating func count(limit: Int) throws(DecodeError) -> Int {
    let value = try varint()
    guard value <= UInt64(limit) else { throw .limit }
    return Int(value)
  }

  /// The range of the next `count` bytes, which are skipped.
  @inlinable @inline(always)
  package mutating func skip(_ count: Int) throws(DecodeError) -> Range<Int> {
    guard count >= 0, remaining >= count else { throw .truncated }
    defer { offset += count }
    return offset..<(offset + count)
  }

  /// Passes over so many varints, whatever they say, eight bytes at a time. What `varint` would
  /// refuse is refused.
  package mutating func skipVarints(_ count: Int) throws(DecodeError) {
    let highs: UInt64 = 0x8080_8080_8080_8080
    var left = count
    // Bytes of the one that has not ended yet.
    var open = 0
    while left > 8, remaining >= 8 {
      let word = bytes.u64(at: offset)
      // A varint's last byte is the one without the highest bit; zero it is only if it is alone.
      let goesOn = word & highs
      let zeros = ~((word & ~highs) &+ ~highs | word) & highs
      let first = (~goesOn & highs).trailingZeroBitCount / 8
      guard zeros & (goesOn << 8 | (open > 0 ? 0x80 : 0)) == 0, open + first < 9 else { break }
      open = goesOn == highs ? open + 8 : (~goesOn & highs).leadingZeroBitCount / 8
      left -= 8 - goesOn.nonzeroBitCount
      offset += 8
    }
    // Nothing of the one that is open was wrong so far.
    offset -= open
    while left > 0 {
      _ = try varint()
      left -= 1
    }
  }

  /// A length as a varint, then that many bytes.
  @inlinable @inline(always)
  package mutating func blob() throws(DecodeError) -> Range<Int> {
    let length = try count()
    return try skip(length)
  }

  /// A length as a varint, then that many bytes of valid UTF-8.
  package mutating func string() throws(DecodeError) -> String {
    let range = try blob()
    guard let text = bytes.text(range) else { throw .malformed("text is not UTF-8") }
    return text
  }
}
