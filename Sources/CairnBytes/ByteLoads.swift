/// Unaligned little-endian loads from an array of bytes, bounds-checked.
/// With `@inline(always)` two reads compile to a compare and two loads.
extension [UInt8] {
  @inlinable @inline(always)
  package func u16(at offset: Int) -> UInt16 {
    precondition(offset >= 0 && offset &+ 2 <= count)
    return unsafe withUnsafeBytes {
      unsafe UInt16(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }
  }

  @inlinable @inline(always)
  package func u32(at offset: Int) -> UInt32 {
    precondition(offset >= 0 && offset &+ 4 <= count)
    return unsafe withUnsafeBytes {
      unsafe UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
  }

  @inlinable @inline(always)
  package func u64(at offset: Int) -> UInt64 {
    precondition(offset >= 0 && offset &+ 8 <= count)
    return unsafe withUnsafeBytes {
      unsafe UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
  }

  /// Where the first eight bytes that are this little-endian word begin, from a place on.
  package func firstIndex(ofWord word: UInt64, from start: Int) -> Int? {
    precondition(start >= 0)
    let first = UInt8(truncatingIfNeeded: word)
    return unsafe withUnsafeBytes { buffer in
      var place = start
      while place &+ 8 <= buffer.count {
        if unsafe buffer[place] == first,
          unsafe UInt64(
            littleEndian: buffer.loadUnaligned(fromByteOffset: place, as: UInt64.self)) == word
        {
          return place
        }
        place &+= 1
      }
      return nil
    }
  }

  /// The text of a range, or nil if it is not valid UTF-8.
  package func text(_ range: Range<Int>) -> String? {
    // `String(validating:)` looks for metadata with every call, which takes ten times as long.
    isUTF8(range) ? checkedText(range) : nil
  }

  /// The text of a range that is known to be valid UTF-8 (it was checked when it came in).
  @inlinable
  package func checkedText(_ range: Range<Int>) -> String {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    return unsafe withUnsafeBufferPointer {
      unsafe String(decoding: UnsafeBufferPointer(rebasing: $0[range]), as: UTF8.self)
    }
  }

  /// Whether the bytes of a range equal those of another array's range.
  @inlinable @inline(always)
  package func equal(_ range: Range<Int>, _ other: [UInt8], _ otherRange: Range<Int>) -> Bool {
    guard range.count == otherRange.count else { return false }
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    precondition(otherRange.lowerBound >= 0 && otherRange.upperBound <= other.count)
    return unsafe withUnsafeBytes { a in
      unsafe other.withUnsafeBytes { b in
        let left = unsafe UnsafeRawBufferPointer(rebasing: a[range])
        let right = unsafe UnsafeRawBufferPointer(rebasing: b[otherRange])
        return unsafe left.elementsEqualBytes(right)
      }
    }
  }
}

extension [UInt8] {
  /// -1, 0 or 1: the order of a range's bytes and those of another array's range, unsigned, a
  /// shorter prefix first.
  @inlinable
  package func order(_ range: Range<Int>, _ other: [UInt8], _ otherRange: Range<Int>) -> Int {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    precondition(otherRange.lowerBound >= 0 && otherRange.upperBound <= other.count)
    let common = Swift.min(range.count, otherRange.count)
    var index = 0
    while index &+ 8 <= common {
      let a = u64(at: range.lowerBound &+ index).byteSwapped
      let b = other.u64(at: otherRange.lowerBound &+ index).byteSwapped
      if a != b { return a < b ? -1 : 1 }
      index &+= 8
    }
    while index < common {
      let a = self[range.lowerBound &+ index]
      let b = other[otherRange.lowerBound &+ index]
      if a != b { return a < b ? -1 : 1 }
      index &+= 1
    }
    return range.count == otherRange.count ? 0 : range.count < otherRange.count ? -1 : 1
  }
}

extension UnsafeRawBufferPointer {
  /// Eight bytes at a time; the lengths are known to be equal.
  @inlinable @inline(always)
  func elementsEqualBytes(_ other: UnsafeRawBufferPointer) -> Bool {
    var i = 0
    while i &+ 8 <= count {
      let a = unsafe loadUnaligned(fromByteOffset: i, as: UInt64.self)
      let b = unsafe other.loadUnaligned(fromByteOffset: i, as: UInt64.self)
      if a != b { return false }
      i &+= 8
    }
    while i < count {
      if unsafe self[i] != other[i] { return false }
      i &+= 1
    }
    return true
  }
}
