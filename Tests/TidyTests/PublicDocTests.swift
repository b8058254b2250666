import TestSupport
import Testing

/// What apps see is explained.
@Suite struct PublicDocTests {
  /// Declarations that are explained by the protocol that asks for them.
  private static let inherited = [
    "static func ==", "static func <", "func hash(", "var description:", "init(stringLiteral",
    "init(booleanLiteral", "init(integerLiteral", "init(floatLiteral", "init(arrayLiteral",
    // No declaration.
    "public import ",
  ]

  @Test func `every public declaration has a doc comment`() throws {
    var problems: [String] = []
    for file in try SourceFile.sources() {
      let lines = file.lines
      for (index, line) in file.code().enumerated() {
        let text = line.drop { $0 == " " }
        guard text.hasPrefix("public "), !text.hasPrefix("public import "),
          !isExplained(lines, index)
        else { continue }
        if PublicDocTests.inherited.contains(where: text.contains) { continue }
        problems.append("\(file.place(index)): \(text)")
      }
    }
    expectNone(problems)
  }

  /// Modules whose symbols the documentation does not cover: an article names their types.
  private static let articles = [
    "Sources/CairnCDB/": "ConstantDatabases", "Sources/CairnCouchDB/": "CouchDB",
  ]

  @Test func `every public type is on the first page of the documentation`() throws {
    let page = try SourceFile("Sources/Cairn/Cairn.docc/Cairn.md").lines
    let articles = try PublicDocTests.articles.mapValues {
      try SourceFile("Sources/Cairn/Cairn.docc/\($0).md").text
    }
    var problems: [String] = []
    var count = 0
    for file in try SourceFile.sources() {
      for (index, line) in file.code().enumerated() {
        let declaration = /^public (final )?(struct|class|enum|protocol|typealias|actor) (\w+)/
        guard let match = line.prefixMatch(of: declaration) else { continue }
        count += 1
        let name = match.3
        if let article = articles.first(where: { file.path.hasPrefix($0.key) }) {
          if article.value.contains("`\(name)`") { continue }
        } else if page.contains("- ``\(name)``") {
          continue
        }
        problems.append("\(file.place(index)): \(name)")
      }
    }
    #expect(count > 40)
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
