/// Reads rows of CSV as RFC 4180 has it: commas, quotes doubled inside quotes, lines that end in LF
/// or CRLF. A byte order mark at the start and blank lines are skipped. Any bytes at all are either
/// rows or a `SyntaxError`.
struct CSVParser {
  struct Row {
    /// Where the row begins.
    var offset: Int
    var cells: [Cell]
  }

  struct Cell {
    var offset: Int
    var text: String
    /// Between quotes: then it is text even if it looks like a number.
    var isQuoted: Bool
  }

  private let bytes: [UInt8]
  private var position: Int

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    let hasMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
    self.position = hasMark ? 3 : 0
  }

  /// The next row, nil after the last.
  mutating func next() throws(SyntaxError) -> Row? {
    while try takeLineEnd() {}
    guard position < bytes.count else { return nil }
    var row = Row(offset: position, cells: [])
    while true {
      row.cells.append(try cell())
      if position == bytes.count { return row }
      if try takeLineEnd() { return row }
      guard bytes[position] == UInt8(ascii: ",") else {
        throw error("text after the closing quote")
      }
      position += 1
    }
  }

  private func error(_ message: String, at offset: Int? = nil) -> SyntaxError {
    SyntaxError(offset: offset ?? position, message: message)
  }

  /// Takes a line end, if there is one here.
  private mutating func takeLineEnd() throws(SyntaxError) -> Bool {
    guard position < bytes.count else { return false }
    if bytes[position] == UInt8(ascii: "\r") {
      guard position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "\n") else {
        throw error("a carriage return without a line feed")
      }
      position += 1
    }
    guard bytes[position] == UInt8(ascii: "\n") else { return false }
    position += 1
    return true
  }

  private mutating func cell() throws(SyntaxError) -> Cell {
    let isQuoted = position < bytes.count && bytes[position] == UInt8(ascii: "\"")
    return isQuoted ? try quotedCell() : try bareCell()
  }

  private mutating func bareCell() throws(SyntaxError) -> Cell {
    let start = position
    scan: while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: ","), UInt8(ascii: "\n"), UInt8(ascii: "\r"): break scan
      case UInt8(ascii: "\""): throw error("a quote inside a cell that doesn't begin with one")
      case 0: throw error("a NUL byte")
      default: position += 1
      }
    }
    return Cell(offset: start, text: try text(bytes[start..<position], start), isQuoted: false)
  }

  private mutating func quotedCell() throws(SyntaxError) -> Cell {
    let start = position
    position += 1
    var unquoted: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      if byte == UInt8(ascii: "\"") {
        guard position < bytes.count, bytes[position] == byte else {
          return Cell(offset: start, text: try text(unquoted[...], start), isQuoted: true)
        }
        position += 1
      }
      unquoted.append(byte)
    }
    throw error("a quote is opened here and never closed", at: start)
  }

  private func text(_ content: ArraySlice<UInt8>, _ start: Int) throws(SyntaxError) -> String {
    guard let text = String(validating: content, as: UTF8.self) else {
      throw error("the text isn't valid UTF-8", at: start)
    }
    return text
  }
}
