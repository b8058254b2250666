internal import Cairn

/// Finds where values of a JSON text end, strictly by RFC 8259. It builds nothing, so that numbers
/// and strings that no value here can hold are none of its business; and it counts brackets in an
/// array and not on the stack, so that no depth of nesting is too much.
struct JSONScanner {
  let bytes: [UInt8]
  let end: Int
  var position: Int

  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    (position, end) = (range.lowerBound, range.upperBound)
  }

  /// The byte at the position, nil at the end.
  var current: UInt8? { position < end ? bytes[position] : nil }

  func fault(_ what: String) -> CairnError {
    CairnError(
      .response, "the server's answer is no JSON: \(what) at byte \(position)",
      offset: UInt64(position))
  }

  mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
      position += 1
    }
  }

  /// Takes one byte, if it is that one.
  mutating func take(_ byte: Character) -> Bool {
    guard current == byte.asciiValue else { return false }
    position += 1
    return true
  }

  mutating func expect(_ byte: Character) throws(CairnError) {
    if !take(byte) { throw fault("\(byte) is missing") }
  }

  /// Over one value, whatever it is.
  mutating func skipValue() throws(CairnError) {
    // A byte for each: there may be as many as the text has bytes.
    var closers: [UInt8] = []
    while true {
      skipSpace()
      if take("{") {
        skipSpace()
        if !take("}") {
          closers.append(UInt8(ascii: "}"))
          try skipName()
          continue
        }
      } else if take("[") {
        skipSpace()
        if !take("]") {
          closers.append(UInt8(ascii: "]"))
          continue
        }
      } else {
        try skipScalar()
      }
      if try closeAll(&closers) { return }
    }
  }

  /// Behind a value: over all brackets that close; true if there are none left, false if another
  /// value follows.
  private mutating func closeAll(_ closers: inout [UInt8]) throws(CairnError) -> Bool {
    while let closer = closers.last {
      skipSpace()
      if take(",") {
        skipSpace()
        if closer == UInt8(ascii: "}") { try skipName() }
        return false
      }
      try expect(Character(Unicode.Scalar(closer)))
      closers.removeLast()
    }
    return true
  }

  /// Over the name of a member and its colon.
  mutating func skipName() throws(CairnError) {
    try skipString()
    skipSpace()
    try expect(":")
  }

  private mutating func skipScalar() throws(CairnError) {
    switch current {
    case UInt8(ascii: "\""): try skipString()
    case UInt8(ascii: "t"): try skipWord("true")
    case UInt8(ascii: "f"): try skipWord("false")
    case UInt8(ascii: "n"): try skipWord("null")
    default: try skipNumber()
    }
  }

  private mutating func skipWord(_ word: StaticString) throws(CairnError) {
    for byte in word.description.utf8 {
      guard current == byte else { throw fault("neither true nor false nor null") }
      position += 1
    }
  }

  mutating func skipString() throws(CairnError) {
    try expect("\"")
    while let byte = current {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return
      case UInt8(ascii: "\\"): try skipEscape()
      case 0..<0x20: throw fault("a control character in a string")
      default: break
      }
    }
    throw fault("a string without an end")
  }

  private mutating func skipEscape() throws(CairnError) {
    guard let letter = current else { throw fault("a string without an end") }
    position += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return
    case UInt8(ascii: "u"):
      for _ in 0..<4 {
        guard let digit = current, JSONScanner.hexDigit(digit) != nil else {
          throw fault("an escape without its digits")
        }
        position += 1
      }
    default: throw fault("an unknown escape")
    }
  }

  static func hexDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case 0x30...0x39: UInt32(byte - 0x30)
    case 0x41...0x46: UInt32(byte - 0x37)
    case 0x61...0x66: UInt32(byte - 0x57)
    default: nil
    }
  }

  private mutating func skipNumber() throws(CairnError) {
    _ = take("-")
    if !take("0"), skipDigits() == 0 { throw fault("a value is missing") }
    if take("."), skipDigits() == 0 { throw fault("a fraction without digits") }
    if take("e") || take("E") {
      if !take("-") { _ = take("+") }
      if skipDigits() == 0 { throw fault("an exponent without digits") }
    }
  }

  private mutating func skipDigits() -> Int {
    let start = position
    while let byte = current, (0x30...0x39).contains(byte) { position += 1 }
    return position - start
  }
}
