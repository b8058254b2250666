/// Reads JSON as RFC 8259 has it and nothing more lenient: no comments, no trailing commas, no
/// duplicate names. Any bytes at all are either a value or a `SyntaxError`.
package struct JSONParser {
  /// Deeper nesting than this is refused, so that hostile input can't exhaust the stack.
  static let maximumDepth = 64

  let bytes: [UInt8]
  let end: Int
  var position: Int
  private var depth = 0

  /// The value in these bytes, with nothing but white space around it.
  package static func parse(
    _ bytes: [UInt8], in range: Range<Int>? = nil
  ) throws(SyntaxError) -> JSON {
    var parser = JSONParser(bytes, in: range ?? 0..<bytes.count)
    let value = try parser.value()
    parser.skipSpace()
    guard parser.position == parser.end else { throw parser.error("more text after the value") }
    return value
  }

  private init(_ bytes: [UInt8], in range: Range<Int>) {
    self.bytes = bytes
    self.position = range.lowerBound
    self.end = range.upperBound
  }

  /// The byte at the position, nil at the end.
  var current: UInt8? { position < end ? bytes[position] : nil }

  func error(_ message: String, at offset: Int? = nil) -> SyntaxError {
    SyntaxError(offset: offset ?? position, message: message)
  }

  private mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
      position += 1
    }
  }

  private mutating func value() throws(SyntaxError) -> JSON {
    skipSpace()
    guard let byte = current else { throw error("a value is missing at the end") }
    switch byte {
    case UInt8(ascii: "{"): return try nested { (p) throws(SyntaxError) in try p.object() }
    case UInt8(ascii: "["): return try nested { (p) throws(SyntaxError) in try p.array() }
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: throw error("a value can't start here")
    }
  }

  private mutating func word(_ word: String, _ value: JSON) throws(SyntaxError) -> JSON {
    guard bytes[position..<end].starts(with: word.utf8) else {
      throw error("neither true nor false nor null")
    }
    position += word.utf8.count
    return value
  }

  private mutating func nested(
    _ body: (inout JSONParser) throws(SyntaxError) -> JSON
  ) throws(SyntaxError) -> JSON {
    guard depth < Self.maximumDepth else {
      throw error("nested more than \(Self.maximumDepth) deep")
    }
    depth += 1
    position += 1
    let value = try body(&self)
    depth -= 1
    return value
  }

  private mutating func array() throws(SyntaxError) -> JSON {
    var items: [JSON] = []
    if close(UInt8(ascii: "]")) { return .array(items) }
    while true {
      items.append(try value())
      if close(UInt8(ascii: "]")) { return .array(items) }
      try comma("the array isn't closed")
    }
  }

  private mutating func object() throws(SyntaxError) -> JSON {
    var members: [JSON.Member] = []
    var names: Set<String> = []
    if close(UInt8(ascii: "}")) { return .object(members) }
    while true {
      skipSpace()
      let start = position
      guard current == UInt8(ascii: "\"") else { throw error("a name in quotes is missing") }
      let name = try string()
      guard names.insert(name).inserted else { throw error("a name comes twice", at: start) }
      skipSpace()
      guard current == UInt8(ascii: ":") else { throw error("a colon is missing") }
      position += 1
      skipSpace()
      let offset = position
      members.append(JSON.Member(name: name, value: try value(), offset: offset))
      if close(UInt8(ascii: "}")) { return .object(members) }
      try comma("the object isn't closed")
    }
  }

  private mutating func close(_ bracket: UInt8) -> Bool {
    skipSpace()
    guard current == bracket else { return false }
    position += 1
    return true
  }

  private mutating func comma(_ atEnd: String) throws(SyntaxError) {
    guard let byte = current else { throw error(atEnd) }
    guard byte == UInt8(ascii: ",") else { throw error("a comma is missing") }
    position += 1
  }
}
