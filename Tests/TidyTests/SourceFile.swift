import Foundation
import TestSupport
import Testing

/// A text file of the project, for rules that read it as text.
struct SourceFile: Sendable {
  /// From the project's root: `Sources/Cairn/Table.swift`.
  let path: String
  let text: String

  init(_ path: String) throws {
    self.path = path
    text = String(decoding: try ProjectFile.bytes(path), as: UTF8.self)
  }

  var lines: [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// The lines without comments and, if asked for, without what is in string literals.
  func code(strings: Bool = false) -> [String] {
    SourceText.code(text, strings: strings)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// `path:line`, as editors like it.
  func place(_ index: Int) -> String { "\(path):\(index + 1)" }

  /// All files below some directories (or single files) whose names end in one of `suffixes`.
  static func all(in parts: [String], _ suffixes: [String]) throws -> [SourceFile] {
    var paths: [String] = []
    for part in parts {
      guard let found = FileManager.default.enumerator(atPath: ProjectFile.path(part)) else {
        continue
      }
      for case let name as String in found where !isBuilt(name) {
        if suffixes.contains(where: name.hasSuffix) { paths.append(part + "/" + name) }
      }
    }
    return try paths.sorted().map(SourceFile.init)
  }

  private static func isBuilt(_ name: String) -> Bool {
    name.hasPrefix(".build") || name.contains("/.build") || name.hasPrefix("results/")
  }

  /// What apps get.
  static func sources() throws -> [SourceFile] { try all(in: ["Sources"], [".swift"]) }

  /// All Swift code but the benchmarks'.
  static func swift() throws -> [SourceFile] {
    try all(in: ["Sources", "Tests", "Tools"], [".swift"]) + [SourceFile("Package.swift")]
  }
}

/// Fails with all that is wrong at once, a line each.
func expectNone(_ problems: [String], sourceLocation: SourceLocation = #_sourceLocation) {
  if problems.isEmpty { return }
  let list = problems.map { "\n    " + $0 }.joined()
  Issue.record("\(problems.count) to mend:\(list)", sourceLocation: sourceLocation)
}
