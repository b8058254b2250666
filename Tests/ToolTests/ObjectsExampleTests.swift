import TestSupport
import Testing

/// The example of objects, run.
@Suite struct ObjectsExampleTests {
  @Test func `the example shows the queue, and both devices the same in the end`() throws {
    let outcome = try Tool.run([], program: "ObjectsExample")
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.errors == "")
    let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false)
    let queue = try #require(lines.firstIndex(of: "To be uploaded by the laptop:"))
    #expect(
      Array(lines[(queue + 1)...(queue + 2)]) == [
        "  home: insert dishes: hours, isAtWork, name",
        "  work: insert report: hours, isAtWork, name",
      ])
    // A part of an hour comes as the minutes that it was.
    #expect(lines.contains("Fetched, on the phone:"))
    #expect(lines.count { $0 == "  Report, 123 minutes, work" } == 2)
    for device in ["laptop", "phone"] {
      let merged = try #require(lines.firstIndex(of: "Merged, on the \(device):"))
      #expect(
        Array(lines[(merged + 1)...(merged + 2)]) == [
          "  Dishes and pans / Dry the dishes, 45 minutes, home",
          "  Report, 123 minutes, home",
        ])
    }
    #expect(lines.contains("The phone has 0 of the laptop's drafts."))
  }
}
