import Testing

/// The example of the article on constant databases, run and compared with what the page says.
@Suite struct GlossaryExampleTests {
  private let page: ExamplePage

  init() throws {
    page = try ExamplePage(
      "ConstantDatabases", sources: ["Entry", "GlossaryExample"].map { "Glossary/\($0).swift" })
  }

  @Test func `the page's code is the example's`() {
    let code = page.blocks.filter(\.isSwift)
    #expect(code.count > 5)
    for block in code {
      #expect(page.isInExample(block), "not in the example: \(block.lines.first ?? "")")
    }
  }

  @Test func `the example prints what the page says`() throws {
    let outcome = try Tool.run([], program: "GlossaryExample")
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.errors == "")
    let results = page.blocks.filter { !$0.isSwift }
    #expect(results.count == 1)
    for block in results {
      #expect(outcome.output.contains(block.lines.joined(separator: "\n")), "\(outcome.output)")
    }
    #expect(outcome.output.hasSuffix("green is #0f0\n"))
  }
}
