import TestSupport
import Testing

/// What apps see is explained.
@Suite struct PublicDocTests {
  /// Declarations that say all there is to say about them.
  private func speaksForItself(_ line: String) -> Bool {
    // Conformances, whose requirements are explained where they come from.
    let inherited = [
      "static func ==", "static func <", "func hash(", "var description:", "init(stringLiteral",
      "init(booleanLiteral", "init(integerLiteral", "init(floatLiteral", "init(arrayLiteral",
    ]
    return inherited.contains { line.contains($0) } || line.hasPrefix("public extension")
  }

  @Test func `every public declaration has a doc comment`() throws {
    for file in try SourceFile.sources() {
      let lines = file.lines
      for (index, line) in file.code().enumerated() {
        let text = line.drop { $0 == " " }
        guard text.hasPrefix("public "), !speaksForItself(String(text)) else { continue }
        if !isExplained(lines, index) { Issue.record("\(file.place(index)): \(text)") }
      }
    }
  }

  @Test func `a public enum may grow`() throws {
    for file in try SourceFile.sources() {
      let code = file.code()
      for (index, line) in code.enumerated() where line.contains("public enum ") {
        let above = index > 0 ? code[index - 1] : ""
        if !above.contains("@nonexhaustive") { Issue.record("\(file.place(index)): can't grow") }
      }
    }
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
