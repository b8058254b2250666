extension [UInt8] {
  /// Whether a range is valid UTF-8 (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF).
  /// Text is checked once, where it comes in, so that later reads need not.
  package func isUTF8(_ range: Range<Int>) -> Bool {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    var i = range.lowerBound
    let end = range.upperBound
    let highs: UInt64 = 0x8080_8080_8080_8080
    while i < end {
      if i &+ 8 <= end, u64(at: i) & highs == 0 {
        i &+= 8
        // Most text that begins so has nothing but ASCII for a while.
        while i &+ 32 <= end {
          let words = u64(at: i) | u64(at: i &+ 8) | u64(at: i &+ 16) | u64(at: i &+ 24)
          if words & highs != 0 { break }
          i &+= 32
        }
        continue
      }
      let length = scalarLength(at: i, end: end)
      guard length > 0 else { return false }
      i &+= length
    }
    return true
  }

  /// Bytes of the scalar that starts at `i`, or 0 if there is no valid one.
  private func scalarLength(at i: Int, end: Int) -> Int {
    let first = self[i]
    if first < 0x80 { return 1 }
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
    guard first >= 0xC2, first <= 0xF4, i + length <= end else { return 0 }
    for k in 1..<length where self[i + k] & 0xC0 != 0x80 { return 0 }
    let second = self[i + 1]
    switch first {
    case 0xE0: return second >= 0xA0 ? length : 0
    case 0xED: return second <= 0x9F ? length : 0
    case 0xF0: return second >= 0x90 ? length : 0
    case 0xF4: return second <= 0x8F ? length : 0
    default: return length
    }
  }
}
