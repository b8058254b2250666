extension PortableLZ4 {
  /// How far `pack` may write beyond its limit: less than a word.
  static let slack = 8

  /// Packs `count` bytes of `input`, 64 or more, into `output`, where there is room for `limit` +
  /// `slack` bytes, and returns how many there are: 0 if there would be more than `limit`.
  static func pack(
    _ input: UnsafeRawPointer, _ count: Int, _ output: UnsafeMutableRawPointer, _ limit: Int
  ) -> Int {
    // What is short is packed often, and wants no large table cleared before.
    let bits = count <= 1 << 10 ? 10 : count <= 1 << 12 ? 12 : 13
    return unsafe withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 1 << bits) { table in
      guard let start = table.baseAddress else { return 0 }
      unsafe table.initialize(repeating: 0)
      return unsafe pack(input, count, output, limit, start, bits)
    }
  }

  /// Greedy: for a hash of the next bytes a table keeps where they were last, and what it leads to
  /// is taken if it is a match.
  ///
  /// `table` has 2^`bits` places, all 0. It keeps the lower half of a place: as a match is no
  /// further back than 65535 bytes, that tells where it would be, and the bytes tell whether it is.
  private static func pack(
    _ input: UnsafeRawPointer, _ count: Int, _ output: UnsafeMutableRawPointer, _ limit: Int,
    _ table: UnsafeMutablePointer<UInt16>, _ bits: Int
  ) -> Int {
    // Where a match may still begin: 12 bytes can be read there.
    let last = count &- lastStart
    let shift = UInt64(truncatingIfNeeded: 64 &- bits)
    var done = 0
    var to = 0
    var at = 1
    while true {
      // The longer nothing is found, the larger are the steps.
      var tries = 64
      var offset = 0
      while true {
        guard at <= last else {
          return unsafe putLast(output, to, limit, input + done, count &- done)
        }
        let word = unsafe input.u64(at)
        let slot = slot(word, shift)
        offset = unsafe (at &- Int(table[slot])) & reach
        unsafe table[slot] = UInt16(truncatingIfNeeded: at)
        // What is kept lies before `at`, so an offset never goes beyond the start. None is none.
        if offset > 0, unsafe input.u32(at &- offset) == UInt32(truncatingIfNeeded: word) { break }
        at &+= tries &>> 6
        tries &+= 1
      }
      while at > done, at > offset,
        unsafe input.u8(at &- 1) == input.u8(at &- offset &- 1)
      {
        at &-= 1
      }
      let length = unsafe sameBytes(input, at, offset, end: count &- lastLiterals)
      guard
        let next = unsafe put(
          output, to, limit, input + done, at &- done, offset: offset, match: length)
      else { return 0 }
      to = next
      at &+= length
      done = at
      // So that what comes again is found where it goes on after a match, too.
      if at <= last {
        unsafe table[slot(input.u64(at &- 2), shift)] = UInt16(truncatingIfNeeded: at &- 2)
      }
    }
  }

  /// Where the table keeps what begins with this word: a hash of its first five bytes.
  @inline(__always)
  private static func slot(_ word: UInt64, _ shift: UInt64) -> Int {
    Int(truncatingIfNeeded: ((word &<< 24) &* 0x9E37_79B9_7F4A_7C15) &>> shift)
  }

  /// How many bytes at `at` and `offset` before it are the same, 4 of which are known to be, up to
  /// the place `end`.
  @inline(__always)
  private static func sameBytes(
    _ input: UnsafeRawPointer, _ at: Int, _ offset: Int, end: Int
  ) -> Int {
    var place = at &+ leastMatch
    while place &+ 8 <= end {
      let different = unsafe input.u64(place) ^ input.u64(place &- offset)
      if different != 0 { return place &+ different.trailingZeroBitCount &>> 3 &- at }
      place &+= 8
    }
    while place < end, unsafe input.u8(place) == input.u8(place &- offset) { place &+= 1 }
    return place &- at
  }

  /// How many bytes follow a token for a length.
  @inline(__always)
  private static func moreCount(_ length: Int) -> Int {
    length < 15 ? 0 : (length &- 15) / 255 &+ 1
  }

  /// Writes what of a length does not fit into its half of a token.
  @inline(__always)
  private static func putMore(
    _ output: UnsafeMutableRawPointer, _ to: inout Int, _ length: Int
  ) {
    guard length >= 15 else { return }
    var rest = length &- 15
    while rest >= 255 {
      unsafe output.put(255 as UInt8, to)
      to &+= 1
      rest &-= 255
    }
    unsafe output.put(UInt8(truncatingIfNeeded: rest), to)
    to &+= 1
  }

  /// Writes a sequence and returns where the next begins, or nil if it does not fit. Behind the
  /// literals there are at least 12 more bytes in the input.
  @inline(__always)
  private static func put(
    _ output: UnsafeMutableRawPointer, _ start: Int, _ limit: Int, _ input: UnsafeRawPointer,
    _ literals: Int, offset: Int, match: Int
  ) -> Int? {
    var to = start
    let more = match &- leastMatch
    let size = 3 &+ moreCount(literals) &+ literals &+ moreCount(more)
    guard size <= limit &- to else { return nil }
    unsafe output.put(UInt8(truncatingIfNeeded: min(literals, 15) &<< 4 | min(more, 15)), to)
    to &+= 1
    unsafe putMore(output, &to, literals)
    // By words: less than one too many is read, and written where the offset, or the slack, is.
    var copied = 0
    while copied < literals {
      unsafe output.put(input.u64(copied), to &+ copied)
      copied &+= 8
    }
    to &+= literals
    unsafe output.put(UInt16(truncatingIfNeeded: offset), to)
    to &+= 2
    unsafe putMore(output, &to, more)
    return to
  }

  /// Writes the last sequence, which has no match, and returns how many bytes there are now, or 0
  /// if it does not fit.
  private static func putLast(
    _ output: UnsafeMutableRawPointer, _ start: Int, _ limit: Int, _ input: UnsafeRawPointer,
    _ literals: Int
  ) -> Int {
    var to = start
    guard 1 &+ moreCount(literals) &+ literals <= limit &- to else { return 0 }
    unsafe output.put(UInt8(truncatingIfNeeded: min(literals, 15) &<< 4), to)
    to &+= 1
    unsafe putMore(output, &to, literals)
    unsafe (output + to).copyMemory(from: input, byteCount: literals)
    return to &+ literals
  }
}
