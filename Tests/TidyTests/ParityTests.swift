import TestSupport
import Testing

/// Tests/PARITY.md is complete, and cites tests that are there.
@Suite struct ParityTests {
  private struct Row {
    var id: String
    var cells: [String]
  }

  private static func ids() -> [String] {
    func some(_ letter: String, _ count: Int) -> [String] {
      (1...count).map { number in
        let digits = String(number)
        return letter + String(repeating: "0", count: 3 - digits.count) + digits
      }
    }
    return some("D", 67) + some("C", 10) + some("P", 10) + some("Y", 11)
  }

  private func rows(of page: String = "Tests/PARITY.md") throws -> [Row] {
    try SourceFile(page).lines.compactMap { line in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
        .map { $0.trimmingPrefix { $0 == " " } }
      guard cells.count > 2, cells[1].firstMatch(of: /^[DCPY][0-9]+ *$/) != nil else { return nil }
      return Row(
        id: String(cells[1].prefix { $0 != " " }), cells: cells.dropFirst(2).map(String.init))
    }
  }

  @Test func `every id is there once`() throws {
    #expect(try rows().map(\.id).sorted() == ParityTests.ids().sorted())
  }

  @Test func `every row has a symbol, an answer and a proof`() throws {
    var problems: [String] = []
    for row in try rows() {
      #expect(row.cells.count == 4, "\(row.id)")
      for cell in row.cells.prefix(3) where cell.allSatisfy({ $0 == " " }) {
        problems.append("\(row.id) has an empty cell")
      }
    }
    expectNone(problems)
  }

  /// A test is cited as `File/name of the test`.
  @Test func `every test that is cited exists`() throws {
    var problems: [String] = []
    let files = try SourceFile.all(in: ["Tests"], ["Tests.swift"])
    var count = 0
    for row in try rows() {
      for match in row.cells[2].matches(of: /`([A-Za-z0-9]+Tests)\/([^`]+)`/) {
        count += 1
        let (file, test) = (match.1, match.2)
        let found = files.contains {
          $0.path.hasSuffix("/\(file).swift") && $0.text.contains("func `\(test)`(")
        }
        if !found { problems.append("\(row.id): there is no test \(file)/\(test)") }
      }
    }
    #expect(count > 0)
    expectNone(problems)
  }

  // MARK: the guide for those who come from the Datastore API

  private static let guide = "Sources/Cairn/Cairn.docc/MigrationFromDatastoreAPI.md"

  /// What is set as code in a cell, as `Type.member`: links are written with a slash, and say which
  /// types are meant where several have a name.
  private func code(_ cell: String) -> [String] {
    cell.matches(of: /`+([^`]+)`+/).map {
      String($0.1).replacing("/", with: ".").replacing(/-\([^()]*\)$/, with: "")
    }
  }

  @Test func `the guide has a row for each call, with the symbol and the API of the list`() throws {
    var rows = try rows(of: ParityTests.guide)
    var problems: [String] = []
    for row in try self.rows() where row.id.hasPrefix("D") {
      guard let index = rows.firstIndex(where: { $0.id == row.id }) else {
        problems.append("\(row.id) is not in the guide")
        continue
      }
      let there = rows.remove(at: index)
      #expect(there.cells.count == 4, "\(row.id)")
      if there.cells[0] != row.cells[0] { problems.append("\(row.id): another symbol") }
      // A list of names; what follows it are notes.
      let names = row.cells[1].prefixMatch(of: /(`[^`]+`(, )?)+/).map { code(String($0.0)) } ?? []
      if names.isEmpty { problems.append("\(row.id) names no API") }
      let ours = code(there.cells[1])
      for name in names where !ours.contains(name) {
        problems.append("\(row.id): the guide's row lacks \(name)")
      }
    }
    problems += rows.map { "\($0.id) is in the guide and not in the list, or twice" }
    expectNone(problems)
  }
}
