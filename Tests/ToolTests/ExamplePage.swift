import TestSupport
import Testing

/// A page of the documentation whose code is that of an example: blocks of code, and blocks of what
/// it prints.
struct ExamplePage {
  struct Block {
    var isSwift: Bool
    var lines: [Substring]
  }

  let blocks: [Block]
  private let sources: [[Substring]]

  /// The article of a name, and the files of its example, by path below Tools/Examples.
  init(_ article: String, sources: [String]) throws {
    blocks = try Self.blocks(Self.text("Sources/Cairn/Cairn.docc/\(article).md"))
    self.sources = try sources.map {
      try Self.text("Tools/Examples/\($0)").split(separator: "\n", omittingEmptySubsequences: false)
    }
  }

  private static func text(_ path: String) throws -> String {
    String(decoding: try ProjectFile.bytes(path), as: UTF8.self)
  }

  private static func blocks(_ page: String) -> [Block] {
    var blocks: [Block] = []
    var open: Block?
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        if let block = open { blocks.append(block) }
        open = open == nil ? Block(isSwift: line == "```swift", lines: []) : nil
      } else {
        open?.lines.append(line)
      }
    }
    return blocks
  }

  /// Whether the lines of a block follow one another in the example, however far they are indented
  /// there.
  func isInExample(_ block: Block) -> Bool {
    sources.contains { isPart(block.lines, of: $0) }
  }

  /// All of the page's code is in the example: more than five blocks.
  func expectCode() {
    let code = blocks.filter(\.isSwift)
    #expect(code.count > 5)
    for block in code {
      #expect(isInExample(block), "not in the example: \(block.lines.first ?? "")")
    }
  }

  /// Runs the example, which prints what so many blocks of the page say; all that it prints.
  func run(_ program: String, results count: Int) throws -> String {
    let outcome = try Tool.run([], program: program)
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.errors == "")
    let results = blocks.filter { !$0.isSwift }
    #expect(results.count == count)
    for block in results {
      #expect(outcome.output.contains(block.lines.joined(separator: "\n")), "\(outcome.output)")
    }
    return outcome.output
  }

  private func isPart(_ block: [Substring], of source: [Substring]) -> Bool {
    source.indices.contains { start in
      guard start + block.count <= source.count, let first = block.first,
        source[start].hasSuffix(first)
      else { return false }
      let indentation = source[start].dropLast(first.count)
      guard indentation.allSatisfy({ $0 == " " }) else { return false }
      return zip(block, source[start...]).allSatisfy { line, there in
        line.isEmpty ? there.isEmpty : there == indentation + line
      }
    }
  }
}
