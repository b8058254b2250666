extension JSONParser {
  /// The string whose opening quote is at the position.
  mutating func string() throws(SyntaxError) -> String {
    let start = position
    position += 1
    var unescaped: [UInt8] = []
    var plainStart = position
    while let byte = current {
      switch byte {
      case UInt8(ascii: "\""):
        unescaped.append(contentsOf: bytes[plainStart..<position])
        position += 1
        guard let text = String(validating: unescaped, as: UTF8.self) else {
          throw error("a string isn't valid UTF-8", at: start)
        }
        return text
      case UInt8(ascii: "\\"):
        unescaped.append(contentsOf: bytes[plainStart..<position])
        unescaped.append(contentsOf: String(try escape()).utf8)
        plainStart = position
      case 0..<0x20:
        throw error("a control character in a string must be escaped")
      default:
        position += 1
      }
    }
    throw error("a string isn't closed", at: start)
  }

  /// The character that the backslash at the position begins.
  private mutating func escape() throws(SyntaxError) -> Unicode.Scalar {
    let start = position
    position += 1
    guard let letter = current else { throw error("a string isn't closed", at: start) }
    position += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try scalar(from: start)
    default: throw error("no such escape", at: start)
    }
  }

  /// The character after `\u`: four digits, or two times four for one beyond U+FFFF.
  private mutating func scalar(from start: Int) throws(SyntaxError) -> Unicode.Scalar {
    let first = try fourDigits(from: start)
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, current == UInt8(ascii: "\\"), position + 1 < end,
      bytes[position + 1] == UInt8(ascii: "u")
    else { throw error("half of a surrogate pair", at: start) }
    position += 2
    let second = try fourDigits(from: start)
    guard (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw error("half of a surrogate pair", at: start) }
    return scalar
  }

  private mutating func fourDigits(from start: Int) throws(SyntaxError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = current, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw error("four hexadecimal digits are missing", at: start)
      }
      value = value << 4 | UInt32(digit)
      position += 1
    }
    return value
  }
}
