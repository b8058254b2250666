/// Strings between their quotes.
enum JSONString {
  /// What is meant by the bytes between two quotes; nil if that is no Unicode.
  static func unescaped(_ content: ArraySlice<UInt8>) -> String? {
    var out: [UInt8] = []
    out.reserveCapacity(content.count)
    var rest = content
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        out.append(byte)
        continue
      }
      switch rest.popFirst() {
      case UInt8(ascii: "b"): out.append(0x08)
      case UInt8(ascii: "f"): out.append(0x0C)
      case UInt8(ascii: "n"): out.append(0x0A)
      case UInt8(ascii: "r"): out.append(0x0D)
      case UInt8(ascii: "t"): out.append(0x09)
      case UInt8(ascii: "u"):
        guard let scalar = scalar(&rest) else { return nil }
        out += Array(String(Character(scalar)).utf8)
      case let other?: out.append(other)
      case nil: return nil
      }
    }
    return String(validating: out, as: UTF8.self)
  }

  /// Behind `\u`: four digits, or a pair of surrogates.
  private static func scalar(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar? {
    guard let first = digits(&rest) else { return nil }
    guard (0xD800..<0xDC00).contains(first) else { return Unicode.Scalar(first) }
    guard rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u"),
      let second = digits(&rest), (0xDC00..<0xE000).contains(second)
    else { return nil }
    return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
  }

  private static func digits(_ rest: inout ArraySlice<UInt8>) -> UInt32? {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = rest.popFirst().flatMap(JSONScanner.hexDigit) else { return nil }
      value = value << 4 | digit
    }
    return value
  }

  /// A text in quotes.
  static func append(_ text: String, to out: inout [UInt8]) {
    let digits = Array("0123456789abcdef".utf8)
    out.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
      case 0x0A: out += Array("\\n".utf8)
      case 0x0D: out += Array("\\r".utf8)
      case 0x09: out += Array("\\t".utf8)
      case 0..<0x20:
        out += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      default: out.append(byte)
      }
    }
    out.append(UInt8(ascii: "\""))
  }

  static func quoted(_ text: String) -> String {
    var out: [UInt8] = []
    append(text, to: &out)
    return String(decoding: out, as: UTF8.self)
  }
}
