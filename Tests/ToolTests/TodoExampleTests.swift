import Foundation
import TestSupport
import Testing

/// The example of the tutorial, run and compared with what the page says.
@Suite struct TodoExampleTests {
  private let page: ExamplePage

  init() throws {
    page = try ExamplePage(
      "Tutorial", sources: ["Todo", "Device", "TodoExample"].map { "Todo/\($0).swift" })
  }

  @Test func `the page's code is the example's`() {
    let code = page.blocks.filter(\.isSwift)
    #expect(code.count > 5)
    for block in code {
      #expect(page.isInExample(block), "not in the example: \(block.lines.first ?? "")")
    }
  }

  @Test func `the example prints what the page says`() throws {
    let outcome = try Tool.run([], program: "TodoExample")
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.errors == "")
    let results = page.blocks.filter { !$0.isSwift }
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
