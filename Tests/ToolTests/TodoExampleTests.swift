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

  @Test func `the page's code is the example's`() { page.expectCode() }

  @Test func `the example prints what the page says`() throws {
    let output = try page.run("TodoExample", results: 3)
    let devices = output.components(separatedBy: "Merged, on the ")
    #expect(devices.count == 3)
    let merged = devices[1].replacing("laptop:", with: "phone:").trimmingCharacters(in: .newlines)
    #expect(devices[2].hasPrefix(merged))
  }
}
