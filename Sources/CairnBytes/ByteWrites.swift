/// Little-endian appends to an array of bytes: how every format here is written.
extension [UInt8] {
  @inlinable @inline(always)
  package mutating func put(_ value: UInt8) { append(value) }

  @inlinable @inline(always)
  package mutating func put(_ value: UInt16) {
    append(addingCapacity: 2) { room in
      room.append(UInt8(truncatingIfNeeded: value))
      room.append(UInt8(truncatingIfNeeded: value >> 8))
    }
  }

  @inlinable @inline(always)
  package mutating func put(_ value: UInt32) {
    append(addingCapacity: 4) { room in
      for i in 0..<4 { room.append(UInt8(truncatingIfNeeded: value >> UInt32(8 * i))) }
    }
  }

  @inlinable @inline(always)
  package mutating func put(_ value: UInt64) {
    append(addingCapacity: 8) { room in
      for i in 0..<8 { room.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * i))) }
    }
  }

  /// Unsigned LEB128.
  @inlinable @inline(always)
  package mutating func putVarint(_ value: UInt64) {
    if value < 0x80 { return append(UInt8(truncatingIfNeeded: value)) }
    append(addingCapacity: 10) { room in
      var rest = value
      while rest >= 0x80 {
        room.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      room.append(UInt8(truncatingIfNeeded: rest))
    }
  }

  @inlinable @inline(always)
  package mutating func putVarint(_ value: Int) { putVarint(UInt64(value)) }

  @inlinable @inline(always)
  package mutating func putZigzag(_ value: Int64) {
    putVarint(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
  }

  /// Length as a varint, then the UTF-8 bytes.
  @inlinable
  package mutating func putString(_ text: String) {
    putVarint(text.utf8.count)
    putUTF8(text)
  }

  /// The UTF-8 bytes of a text, without a length.
  @inlinable @inline(always)
  package mutating func putUTF8(_ text: String) {
    // A letter that was typed: the way for many bytes costs ten times as much.
    if text.utf8.count == 1 { return append(text.utf8[text.startIndex]) }
    var copy = text
    copy.withUTF8 { unsafe append(contentsOf: $0) }
  }

  /// Length as a varint, then the bytes.
  package mutating func putBlob(_ bytes: [UInt8]) {
    putVarint(bytes.count)
    append(contentsOf: bytes)
  }

  /// The low `width` bytes of a value, little-endian.
  @inlinable @inline(always)
  package mutating func put(_ value: UInt64, width: Int) {
    append(addingCapacity: width) { room in
      var rest = value
      for _ in 0..<width {
        room.append(UInt8(truncatingIfNeeded: rest))
        rest >>= 8
      }
    }
  }

  /// Appends what numbers have above `least`, in so many bytes each.
  package mutating func put(_ numbers: [UInt64], less least: UInt64, width: Int) {
    if width == 0 { return }
    append(addingCapacity: numbers.count * width) { room in
      for number in numbers {
        var rest = number &- least
        for _ in 0..<width {
          room.append(UInt8(truncatingIfNeeded: rest))
          rest >>= 8
        }
      }
    }
  }

  /// Copies a range of another array: one memory move, no intermediate array.
  @inlinable @inline(always)
  package mutating func put(_ other: [UInt8], _ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= other.count)
    unsafe other.withUnsafeBufferPointer {
      unsafe append(contentsOf: UnsafeBufferPointer(rebasing: $0[range]))
    }
  }

  /// Copies what a span shows.
  @inlinable @inline(always)
  package mutating func put(_ span: Span<UInt8>) {
    unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
  }

  /// The bytes that a span shows.
  @inlinable @inline(always)
  package init(copying span: Span<UInt8>) {
    self = unsafe span.withUnsafeBufferPointer { unsafe [UInt8]($0) }
  }

  /// Overwrites bytes that are already there.
  @inlinable @inline(always)
  package mutating func set(_ value: UInt32, at offset: Int) {
    precondition(offset >= 0 && offset &+ 4 <= count)
    unsafe withUnsafeMutableBytes {
      unsafe $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt32.self)
    }
  }

  @inlinable @inline(always)
  package mutating func set(_ value: UInt64, at offset: Int) {
    precondition(offset >= 0 && offset &+ 8 <= count)
    unsafe withUnsafeMutableBytes {
      unsafe $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt64.self)
    }
  }

  /// Four words behind one another.
  @inlinable @inline(always)
  package mutating func set(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64, at offset: Int) {
    precondition(offset >= 0 && offset &+ 32 <= count)
    unsafe withUnsafeMutableBytes {
      unsafe $0.storeBytes(of: a.littleEndian, toByteOffset: offset, as: UInt64.self)
      unsafe $0.storeBytes(of: b.littleEndian, toByteOffset: offset &+ 8, as: UInt64.self)
      unsafe $0.storeBytes(of: c.littleEndian, toByteOffset: offset &+ 16, as: UInt64.self)
      unsafe $0.storeBytes(of: d.littleEndian, toByteOffset: offset &+ 24, as: UInt64.self)
    }
  }
}

/// The same into room that was made at once: for what is short and written again and again, where
/// each growth of an array would cost more than what it is for.
extension OutputSpan<UInt8> {
  @inlinable @inline(always)
  package mutating func put(_ value: UInt8) { append(value) }

  @inlinable @inline(always)
  package mutating func putVarint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  @inlinable @inline(always)
  package mutating func putVarint(_ value: Int) { putVarint(UInt64(value)) }

  @inlinable @inline(always)
  package mutating func putZigzag(_ value: Int64) {
    putVarint(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
  }
}
