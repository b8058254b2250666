import TestSupport
import Testing

/// What apps see is explained.
@Suite struct PublicDocTests {
  /// Declarations that are explained elsewhere: by the protocol that asks for them …
  private static let inherited = [
    "static func ==", "static func <", "func hash(", "var description:", "init(stringLiteral",
    "init(booleanLiteral", "init(integerLiteral", "init(floatLiteral", "init(arrayLiteral",
    "func list(_ directory: String) async", "func read(_ file: String, limit: Int) async",
    "func write(_ file: String, _ bytes: [UInt8]) async", "func remove(_ file: String) async",
  ]

  /// … or by their type: properties of plain data, and the initialisers that only set them.
  private func isPlainData(_ line: String) -> Bool {
    let found = line.firstMatch(of: /^ *public (let|var|private\(set\) var)\b/)
    return found != nil && !line.contains("{") || line.contains("public init(")
  }

  @Test func `every public declaration has a doc comment`() throws {
    var problems: [String] = []
    for file in try SourceFile.sources() {
      let lines = file.lines
      for (index, line) in file.code().enumerated() {
        let text = line.drop { $0 == " " }
        guard text.hasPrefix("public "), !isPlainData(line),
          !PublicDocTests.inherited.contains(where: text.contains)
        else { continue }
        let isDone = isExplained(lines, index) || isExplained(lines, opening(index, lines))
        if !isDone { problems.append("\(file.place(index)): \(text)") }
      }
    }
    expectNone(problems)
  }

  @Test func `a public enum may grow`() throws {
    var problems: [String] = []
    for file in try SourceFile.sources() {
      let code = file.code()
      for (index, line) in code.enumerated() where line.contains("public enum ") {
        let above = index > 0 ? code[index - 1] : ""
        if !above.contains("@nonexhaustive") { problems.append("\(file.place(index)): can't grow") }
      }
    }
    expectNone(problems)
  }

  /// The line that opens the extension around a line, the line itself if that is none's: what an
  /// extension is for may be said once for all that is in it.
  private func opening(_ index: Int, _ lines: [String]) -> Int {
    let above = lines[..<index].lastIndex { !$0.hasPrefix(" ") && $0.hasSuffix("{") }
    guard let above, lines[above].hasPrefix("extension ") else { return index }
    return above
  }

  /// Attributes may stand between.
  private func isExplained(_ lines: [String], _ index: Int) -> Bool {
    var above = index - 1
    while above >= 0 {
      let text = lines[above].drop { $0 == " " }
      if text.hasPrefix("@") {
        above -= 1
        continue
      }
      return text.hasPrefix("///")
    }
    return false
  }
}
