extension JSON {
  /// This value on one line. A double always keeps a point or an exponent, so that it comes back
  /// as a double.
  package var text: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  package func append(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes.append(contentsOf: "null".utf8)
    case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
    case .int(let value): bytes.append(contentsOf: String(value).utf8)
    // JSON has no way to write these; nothing here makes one (see Value+JSON).
    case .double(let value) where !value.isFinite: bytes.append(contentsOf: "null".utf8)
    case .double(let value): bytes.append(contentsOf: value.description.utf8)
    case .string(let value): Self.append(value, to: &bytes)
    case .array(let items):
      bytes.append(UInt8(ascii: "["))
      for (index, item) in items.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        item.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.append(member.name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// A string in quotes. Control characters are escaped, also those that JSON would let through
  /// (DEL and U+0080 to U+009F), so that no value can drive a terminal.
  private static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\":
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(UInt8(truncatingIfNeeded: scalar.value))
      case "\n": bytes.append(contentsOf: "\\n".utf8)
      case "\r": bytes.append(contentsOf: "\\r".utf8)
      case "\t": bytes.append(contentsOf: "\\t".utf8)
      case "\u{0}"..<"\u{20}", "\u{7F}"..."\u{9F}":
        let digits = String(scalar.value, radix: 16)
        bytes.append(contentsOf: "\\u".utf8)
        bytes.append(contentsOf: String(repeating: "0", count: 4 - digits.count).utf8)
        bytes.append(contentsOf: digits.utf8)
      default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
