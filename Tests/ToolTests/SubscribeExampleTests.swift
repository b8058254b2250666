import TestSupport
import Testing

/// The example of the article about following, run.
@Suite struct SubscribeExampleTests {
  private let page: ExamplePage

  init() throws {
    page = try ExamplePage("Following", sources: ["Subscribe/SubscribeExample.swift"])
  }

  @Test func `all code of the article is in the example`() { page.expectCode() }

  @Test func `the example prints what the article says`() throws {
    _ = try page.run("SubscribeExample", results: 1)
  }
}
