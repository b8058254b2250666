import TestSupport
import Testing

/// Tests/RELIABILITY.md cites tests and commands that are there.
@Suite struct ReliabilityTests {
  private static let page = "Tests/RELIABILITY.md"

  private func lines() throws -> [String] { try SourceFile(Self.page).lines }

  /// A test is cited as `Suite/name of the test`: there has to be a file with both.
  @Test func `every test that is cited exists`() throws {
    let files = try SourceFile.all(in: ["Tests"], [".swift"]).map { file in
      (text: file.text, suites: suites(in: file.text))
    }
    var problems: [String] = []
    var count = 0
    for (index, line) in try lines().enumerated() {
      for match in line.matches(of: /`([A-Za-z0-9]+Tests)\/([^`]+)`/) {
        count += 1
        let (suite, test) = (String(match.1), match.2)
        let isThere = files.contains {
          $0.suites.contains(suite) && $0.text.contains("func `\(test)`(")
        }
        if !isThere {
          problems.append("\(Self.page):\(index + 1): there is no test \(suite)/\(test)")
        }
      }
    }
    #expect(count > 100)
    expectNone(problems)
  }

  @Test func `every suite that is cited exists`() throws {
    let all = Set(try SourceFile.all(in: ["Tests"], [".swift"]).flatMap { suites(in: $0.text) })
    var problems: [String] = []
    for (index, line) in try lines().enumerated() {
      for match in line.matches(of: /`([A-Za-z0-9]+Tests)`/) where !all.contains(String(match.1)) {
        problems.append("\(Self.page):\(index + 1): there is no suite \(match.1)")
      }
    }
    expectNone(problems)
  }

  /// A programme is cited as `CairnTorture name`.
  @Test func `every programme that is cited exists`() throws {
    let sources = try SourceFile.all(in: ["Tests/Torture"], [".swift"]).map(\.text)
    var problems: [String] = []
    var count = 0
    for (index, line) in try lines().enumerated() {
      for match in line.matches(of: /`CairnTorture ([a-z]+)[^`]*`/) {
        count += 1
        if !sources.contains(where: { $0.contains("commandName: \"\(match.1)\"") }) {
          problems.append("\(Self.page):\(index + 1): there is no programme \(match.1)")
        }
      }
    }
    #expect(count > 10)
    expectNone(problems)
  }

  /// What holds has to be proved by something, or be a decision that is written down somewhere.
  @Test func `every fault has a proof`() throws {
    let heading = "## Every fault, and what holds"
    let section = try lines().drop { $0 != heading }.dropFirst().prefix { !$0.hasPrefix("## ") }
    var problems: [String] = []
    var count = 0
    for line in section where line.hasPrefix("| ") && !line.hasPrefix("| fault |") {
      count += 1
      let cells = line.split(separator: "|").map { $0.trimmingPrefix { $0 == " " } }
      let proof = cells.last.map(String.init) ?? ""
      let isProved =
        proof.contains("Tests/") || proof.contains("`CairnTorture ") || proof.contains("](")
        || proof.contains("Known limits") || proof.contains("Not tested")
      if cells.count != 3 || !isProved { problems.append("nothing proves: \(line.prefix(80))") }
    }
    #expect(count > 70)
    expectNone(problems)
  }

  private func suites(in text: String) -> Set<String> {
    Set(
      text.matches(of: /(?:struct|class|enum|extension) ([A-Za-z0-9]+Tests)\b/)
        .map { String($0.1) })
  }
}
