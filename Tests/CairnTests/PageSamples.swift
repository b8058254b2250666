import TestSupport

/// The samples of a page: in the page its blocks of Swift, in a test what is between two comments.
enum PageSamples {
  static func inTest(_ file: String) throws -> [[String]] {
    var samples: [[String]] = []
    var start: Int?
    let lines = try lines("Tests/CairnTests/\(file)")
    for (index, line) in lines.enumerated() {
      if line.hasSuffix("// A sample of the page begins here.") { start = index + 1 }
      if line.hasSuffix("// It ends here."), let first = start {
        samples.append(outdented(lines[first..<index]))
        start = nil
      }
    }
    return samples
  }

  static func inPage(_ article: String) throws -> [[String]] {
    let page = try lines("Sources/Cairn/Cairn.docc/\(article).md")
    return page.split(separator: "```swift").dropFirst().map { part in
      Array(part.prefix { $0 != "```" })
    }
  }

  private static func outdented(_ lines: ArraySlice<String>) -> [String] {
    let depth = lines.first?.prefix { $0 == " " }.count ?? 0
    return lines.map { String($0.dropFirst(depth)) }
  }

  private static func lines(_ file: String) throws -> [String] {
    String(decoding: try ProjectFile.bytes(file), as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }
}
