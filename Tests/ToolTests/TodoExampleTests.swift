import Foundation
import TestSupport
import Testing

/// The example of the tutorial, run and compared with what the page says.
@Suite struct TodoExampleTests {
  private static let page = "Sources/Cairn/Cairn.docc/Tutorial.md"
  private static let sources = ["Todo", "Device", "TodoExample"]
    .map { "Tools/Examples/Todo/\($0).swift" }

  private struct Block {
    var isSwift: Bool
    var lines: [Substring]
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try ProjectFile.bytes(path), as: UTF8.self)
  }

  private func blocks() throws -> [Block] {
    var blocks: [Block] = []
    var open: Block?
    for line in try text(Self.page).split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        if let block = open { blocks.append(block) }
        open = open == nil ? Block(isSwift: line == "```swift", lines: []) : nil
      } else {
        open?.lines.append(line)
      }
    }
    return blocks
  }

  /// Whether a block's lines follow one another in the source, however far they are indented there.
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

  @Test func `the page's code is the example's`() throws {
    let sources = try Self.sources.map {
      try text($0).split(separator: "\n", omittingEmptySubsequences: false)
    }
    let code = try blocks().filter(\.isSwift)
    #expect(code.count > 5)
    for block in code {
      #expect(
        sources.contains { isPart(block.lines, of: $0) },
        "not in the example: \(block.lines.first ?? "")")
    }
  }

  @Test func `the example prints what the page says`() throws {
    let outcome = try Tool.run([], program: "TodoExample")
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.errors == "")
    let results = try blocks().filter { !$0.isSwift }
    #expect(results.count == 3)
    for block in results {
      #expect(outcome.output.contains(block.lines.joined(separator: "\n")), "\(outcome.output)")
    }
    let devices = outcome.output.components(separatedBy: "Merged, on the ")
    #expect(devices.count == 3)
    let merged = devices[1].replacing("laptop:", with: "phone:").trimmingCharacters(in: .newlines)
    #expect(devices[2].hasPrefix(merged))
  }
}
