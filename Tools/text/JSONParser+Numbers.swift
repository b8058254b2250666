extension JSONParser {
  /// The number at the position: an int if it has neither fraction nor exponent, else a double.
  mutating func number() throws(SyntaxError) -> JSON {
    let start = position
    guard let shape = NumberShape(bytes[start..<end]) else {
      throw error("this isn't a number", at: start)
    }
    position += shape.length
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if shape.isInteger {
      guard let value = Int64(text) else {
        throw error("an integer beyond 64 bits", at: start)
      }
      return .int(value)
    }
    guard let value = Double(text), value.isFinite else {
      throw error("a number beyond the range of a double", at: start)
    }
    return .double(value)
  }
}

/// How far a number reaches at the start of some bytes, by the grammar of JSON.
struct NumberShape {
  private(set) var length: Int
  private(set) var isInteger: Bool

  /// Nil if the bytes don't start with a number. A number that goes on with another digit (as in
  /// 007) is none either.
  init?(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
    let leadingZero = rest.first == UInt8(ascii: "0")
    let digits = Self.digits(&rest)
    guard digits == 1 || (digits > 1 && !leadingZero) else { return nil }
    isInteger = true
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      isInteger = false
      guard Self.digits(&rest) > 0 else { return nil }
    }
    if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
      rest.removeFirst()
      isInteger = false
      if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
      guard Self.digits(&rest) > 0 else { return nil }
    }
    length = bytes.count - rest.count
  }

  /// Takes the digits off the front and counts them.
  private static func digits(_ rest: inout ArraySlice<UInt8>) -> Int {
    let count = rest.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }.count
    rest.removeFirst(count)
    return count
  }
}
