/// Where the functions of a file are, found by their braces.
enum FunctionLengths {
  struct Function {
    /// Index of the line that it begins on.
    var line: Int
    var lineCount: Int
  }

  private static let keywords: Set<String> = ["func", "init", "deinit", "subscript"]

  static func functions(_ code: [String]) -> [Function] {
    let text = Array(code.joined(separator: "\n"))
    var result: [Function] = []
    var line = 0
    var index = 0
    while index < text.count {
      let character = text[index]
      if character == "\n" { line += 1 }
      guard character.isLetter, index == 0 || !isWord(text[index - 1]) else {
        index += 1
        continue
      }
      let start = index
      while index < text.count, isWord(text[index]) { index += 1 }
      let isCall = start > 0 && text[start - 1] == "."
      if keywords.contains(String(text[start..<index])), !isCall,
        let count = lineCount(text, from: index)
      {
        result.append(Function(line: line, lineCount: count))
      }
    }
    return result
  }

  private static func isWord(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  /// Lines from here to the end of the body; nil for a declaration without one.
  private static func lineCount(_ text: [Character], from start: Int) -> Int? {
    var brackets = 0
    var braces = 0
    var lines = 1
    for index in start..<text.count {
      switch text[index] {
      case "(", "[": brackets += 1
      case ")", "]": brackets -= 1
      case "{" where brackets == 0 || braces > 0: braces += 1
      case "}" where brackets == 0 || braces > 0:
        braces -= 1
        if braces == 0 { return lines }
        if braces < 0 { return nil }
      case "\n":
        if braces == 0, brackets == 0, !goesOn(text, from: index + 1) { return nil }
        lines += 1
      default: break
      }
    }
    return nil
  }

  /// Whether the next line belongs to the same declaration.
  private static func goesOn(_ text: [Character], from start: Int) -> Bool {
    let rest = String(text[start..<min(start + 200, text.count)].drop { $0.isWhitespace })
    return ["{", "->", "where", "throws", "async", "("].contains { rest.hasPrefix($0) }
  }
}
