import TestSupport
import Testing

/// The example of the article on constant databases, run and compared with what the page says.
@Suite struct GlossaryExampleTests {
  private let page: ExamplePage

  init() throws {
    page = try ExamplePage(
      "ConstantDatabases", sources: ["Entry", "GlossaryExample"].map { "Glossary/\($0).swift" })
  }

  @Test func `the page's code is the example's`() { page.expectCode() }

  @Test func `the example prints what the page says`() throws {
    let output = try page.run("GlossaryExample", results: 1)
    #expect(output.hasSuffix("green is #0f0\n"))
  }
}
