/// Input that breaks a rule, and where: an offset in the bytes that were read.
package struct SyntaxError: Error {
  package var offset: Int
  package var message: String

  package init(offset: Int, message: String) {
    self.offset = offset
    self.message = message
  }
}

/// A place as an editor counts: both start at 1, and a column is a character (a Unicode scalar).
package struct TextPosition {
  package private(set) var line = 1
  package private(set) var column = 1

  package init(of offset: Int, in bytes: [UInt8]) {
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
