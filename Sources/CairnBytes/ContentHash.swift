/// The SHA-256 of a content, by which it is named.
package struct ContentHash: Hashable, Sendable {
  /// The 32 bytes as four big-endian words.
  private let a, b, c, d: UInt64

  init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64) {
    (self.a, self.b, self.c, self.d) = (a, b, c, d)
  }

  /// From 32 bytes of an array.
  package init(_ bytes: [UInt8], at offset: Int) {
    precondition(offset >= 0 && offset + 32 <= bytes.count)
    func word(_ index: Int) -> UInt64 { bytes.u64(at: offset + index * 8).byteSwapped }
    self.init(word(0), word(1), word(2), word(3))
  }

  /// From 64 lower-case hexadecimal digits; nil for anything else.
  package init?(hex: String) {
    let digits = Array(hex.utf8)
    guard digits.count == 64 else { return nil }
    var words: [UInt64] = []
    for start in stride(from: 0, to: 64, by: 16) {
      var word: UInt64 = 0
      for digit in digits[start..<(start + 16)] {
        switch digit {
        case 48...57: word = word << 4 | UInt64(digit - 48)
        case 97...102: word = word << 4 | UInt64(digit - 87)
        default: return nil
        }
      }
      words.append(word)
    }
    self.init(words[0], words[1], words[2], words[3])
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for word in [a, b, c, d] { bytes.put(word.byteSwapped) }
    return bytes
  }

  /// 64 lower-case hexadecimal digits.
  package var hex: String {
    [a, b, c, d].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}

extension ContentHash: Comparable {
  package static func < (a: ContentHash, b: ContentHash) -> Bool {
    (a.a, a.b, a.c, a.d) < (b.a, b.b, b.c, b.d)
  }
}
