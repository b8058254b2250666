extension PortableLZ4 {
  /// Unpacks `end` bytes of `input` into exactly `limit` bytes of `output`, and says whether it
  /// could. Nothing is read or written but these.
  ///
  /// What a block may look like at its end is what liblz4 takes: a match begins 12 bytes before the
  /// end or sooner, and the last 5 bytes are literals. Only the match of a short sequence, which is
  /// copied without looking, with room for 32 bytes where it begins, may reach further: no writer
  /// makes such a block, but two devices should not disagree about one.
  static func unpack(
    _ input: UnsafeRawPointer, _ end: Int, _ output: UnsafeMutableRawPointer, _ limit: Int
  ) -> Bool {
    var at = 0
    var to = 0
    while at < end {
      let token = unsafe Int(input.u8(at))
      at &+= 1
      var literals = token &>> 4
      let offset: Int
      // 14 literals at most, an offset and the next token; 14 literals and a match of 18.
      if literals < 15, end &- at > 16, limit &- to >= 32 {
        unsafe copy16(output + to, input + at)
        at &+= literals
        to &+= literals
        offset = unsafe Int(input.u16(at))
        at &+= 2
        let match = (token & 15) &+ leastMatch
        if match < 19, offset >= 8, offset <= to {
          unsafe copy18(output + to, output + (to &- offset))
          to &+= match
          continue
        }
      } else {
        guard unsafe addLength(&literals, input, &at, end, most: min(end &- at, limit &- to)),
          literals <= end &- at
        else { return false }
        unsafe copyLiterals(output + to, limit &- to, input + at, end &- at, literals)
        at &+= literals
        to &+= literals
        // The last sequence has no match.
        if at == end { return to == limit }
        guard end &- at >= 2, to <= limit &- lastStart else { return false }
        offset = unsafe Int(input.u16(at))
        at &+= 2
      }
      var match = token & 15
      guard offset > 0, offset <= to,
        unsafe addLength(
          &match, input, &at, end, most: limit &- to &- lastLiterals &- leastMatch)
      else { return false }
      match &+= leastMatch
      unsafe copyMatch(output + to, limit &- to, offset, match)
      to &+= match
    }
    return false
  }

  /// Adds the bytes that follow a length of 15: each adds what it is, and the last is not 255.
  /// False if they end before that, or if the length is more than `most`.
  @inline(__always)
  private static func addLength(
    _ length: inout Int, _ input: UnsafeRawPointer, _ at: inout Int, _ end: Int, most: Int
  ) -> Bool {
    if length == 15 {
      var byte = 255
      while byte == 255 {
        guard at < end, length <= most else { return false }
        byte = unsafe Int(input.u8(at))
        at &+= 1
        length &+= byte
      }
    }
    return length <= most
  }

  /// `count` bytes, which both `room` and `there` have at least.
  @inline(__always)
  private static func copyLiterals(
    _ to: UnsafeMutableRawPointer, _ room: Int, _ from: UnsafeRawPointer, _ there: Int,
    _ count: Int
  ) {
    guard count <= 256, room &- count >= 16, there &- count >= 16 else {
      return unsafe to.copyMemory(from: from, byteCount: count)
    }
    var done = 0
    while done < count {
      unsafe copy16(to + done, from + done)
      done &+= 16
    }
  }

  /// `count` bytes that lie `offset` bytes before `to`, some of which may come into being by that.
  /// There are at least `offset` bytes before `to`, and `count` + 5 bytes of room.
  @inline(__always)
  private static func copyMatch(
    _ to: UnsafeMutableRawPointer, _ room: Int, _ offset: Int, _ count: Int
  ) {
    var distance = offset
    var done = 0
    if offset < 8 {
      // A match has 4 bytes, so there is room for 9.
      while done < 8 {
        unsafe to.put(UnsafeRawPointer(to).u8(done &- offset), done)
        done &+= 1
      }
      // From there on, back by the least multiple of the offset that is a word or more: the bytes
      // are the same again and again, and begin `offset` bytes before `to`.
      distance = offset &* ((7 &+ offset) / offset)
    }
    if distance >= 16 {
      while done < count, room &- done >= 16 {
        unsafe copy16(to + done, to + (done &- distance))
        done &+= 16
      }
    }
    while done < count, room &- done >= 8 {
      unsafe to.put(UnsafeRawPointer(to).u64(done &- distance), done)
      done &+= 8
    }
    while done < count {
      unsafe to.put(UnsafeRawPointer(to).u8(done &- distance), done)
      done &+= 1
    }
  }

  /// 16 bytes that don't overlap, or of which `from` lies 16 bytes or more before `to`.
  @inline(__always)
  private static func copy16(_ to: UnsafeMutableRawPointer, _ from: UnsafeRawPointer) {
    let (low, high) = unsafe (from.u64(0), from.u64(8))
    unsafe to.put(low, 0)
    unsafe to.put(high, 8)
  }

  /// 18 bytes from at least 8 bytes before: each word is read when the one before it is written.
  @inline(__always)
  private static func copy18(_ to: UnsafeMutableRawPointer, _ from: UnsafeRawPointer) {
    unsafe to.put(from.u64(0), 0)
    unsafe to.put(from.u64(8), 8)
    unsafe to.put(from.u16(16), 16)
  }
}
