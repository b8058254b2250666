/// Swift text without its comments: enough of a lexer for rules about code.
enum SourceText {
  private enum Mode: Equatable {
    /// Code, and how many parentheses are open in it.
    case code(Int)
    case string
    case longString
  }

  /// The text with comments blanked out, and with string literals blanked out unless `strings`.
  /// Code inside of interpolations stays. Lines stay where they are.
  static func code(_ text: String, strings: Bool) -> String {
    let source = Array(text)
    var out = ""
    var modes = [Mode.code(0)]
    var index = 0
    func has(_ mark: String, at place: Int) -> Bool {
      mark.count <= source.count - place && source[place..<(place + mark.count)].elementsEqual(mark)
    }
    func skip(_ count: Int, keep: Bool) {
      for character in source[index..<min(index + count, source.count)] {
        out.append(keep || character == "\n" ? character : " ")
      }
      index += count
    }
    while index < source.count {
      let mode = modes[modes.count - 1]
      switch mode {
      case .code(let depth):
        if has("//", at: index) {
          while index < source.count, source[index] != "\n" { skip(1, keep: false) }
        } else if has("/*", at: index) {
          while index < source.count, !has("*/", at: index) { skip(1, keep: false) }
          skip(2, keep: false)
        } else if has("\"\"\"", at: index) {
          modes.append(.longString)
          skip(3, keep: strings)
        } else if source[index] == "\"" {
          modes.append(.string)
          skip(1, keep: strings)
        } else {
          let step = source[index] == "(" ? 1 : source[index] == ")" ? -1 : 0
          if depth + step < 0, modes.count > 1 {
            modes.removeLast()
          } else {
            modes[modes.count - 1] = .code(depth + step)
          }
          skip(1, keep: true)
        }
      case .string, .longString:
        let end = mode == .string ? "\"" : "\"\"\""
        if has("\\(", at: index) {
          modes.append(.code(0))
          skip(2, keep: strings)
        } else if has("\\", at: index) {
          skip(2, keep: strings)
        } else if has(end, at: index) {
          modes.removeLast()
          skip(end.count, keep: strings)
        } else {
          skip(1, keep: strings)
        }
      }
    }
    return out
  }
}
