/// Input that breaks a rule, and where: an offset in the bytes that were read.
struct SyntaxError: Error {
  var offset: Int
  var message: String
}

/// A place as an editor counts: both start at 1, and a column is a character (a Unicode scalar).
struct TextPosition {
  private(set) var line = 1
  private(set) var column = 1

  init(of offset: Int, in bytes: [UInt8]) {
    for byte in bytes.prefix(max(offset, 0)) {
      if byte == UInt8(ascii: "\n") {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80 {
        // Bytes that continue a character don't start a column.
        column += 1
      }
    }
  }
}
