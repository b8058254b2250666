import Cairn
import TestSupport
import Testing

/// The example that the pages show: the same lines, compiled and run.
@Suite struct ReadmeExampleTests {
  // The page's model begins here.
  struct Task: TableModel {
    static let table = "tasks"
    static let rules: [String: ResolutionRule] = ["votes": .sum]  // concurrent votes add up

    var title: String
    var done = false
    var votes = 0
    var tags: [String] = []
  }
  // The page's model ends here.

  @Test func `the example does what it says`() async throws {
    let place = try TemporaryDirectory()
    var printed: [String] = []
    try await example(root: place.path("ana"), folder: place.path("shared")) { printed.append($0) }
    #expect(printed == ["Find a flat stone"])
    let account = Account(user: "ana", folder: .directory(place.path("shared")))
    let other = try DatastoreManager(root: place.path("phone"), account: account)
    let datastore = try other.openDefaultDatastore()
    try await datastore.exchange()
    try datastore.sync()
    let tasks = try datastore.table(of: Task.self).records().map(\.value)
    #expect(tasks.map(\.votes) == [1] && tasks.map(\.tags) == [["outside"]])
    try datastore.close()
  }

  private func example(
    root: String, folder: String, print: (String) -> Void
  ) async throws {
    // The page's lines begin here.
    let account = Account(user: "ana", folder: .directory(folder))
    let manager = try DatastoreManager(root: root, account: account)
    let datastore = try manager.openDefaultDatastore()
    let tasks = try datastore.table(of: Task.self)  // sets the model's rules where there are none

    let stone = try tasks.insert(Task(title: "Find a flat stone"))
    try tasks.update(stone.id) { $0.votes += 1 }  // writes one field, visible at once
    try stone.record.list("tags").append("outside")  // lists merge item by item
    try datastore.sync()  // durable from here on

    try await datastore.exchange()  // publishes it, and fetches what other devices did
    let result = try datastore.sync()  // makes that visible, atomically
    for conflict in result.conflicts {
      print("\(conflict.id): \(conflict.field) was changed on two devices at once")
    }

    let open = Query().where("done", .equals(false)).sorted(by: "votes", .descending)
    for try await update in try tasks.table.live(open) {  // again whenever the result changes
      for record in update.records { print(try record.string("title") ?? "untitled") }
      break
    }
    try datastore.close()
    // The page's lines end here.
  }

  @Test(arguments: ["README.md", "Sources/Cairn/Cairn.docc/Cairn.md"])
  func `the page shows this very code`(_ page: String) throws {
    let here = try lines("Tests/CairnTests/ReadmeExampleTests.swift")
    let there = try lines(page)
    var start = 0
    for (part, indentation) in [("model", 2), ("lines", 4)] {
      let first = try #require(here.firstIndex { $0.contains("page's \(part) begin") })
      let last = try #require(here.firstIndex { $0.contains("page's \(part) end") })
      let code = here[(first + 1)..<last].map {
        $0.isEmpty ? "" : String($0.dropFirst(indentation))
      }
      let begin = try #require(there[start...].firstIndex(of: "```swift"))
      let end = try #require(there[begin...].firstIndex(of: "```"))
      #expect(code == Array(there[(begin + 1)..<end]))
      start = end + 1
    }
  }

  private func lines(_ file: String) throws -> [String] {
    String(decoding: try ProjectFile.bytes(file), as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }
}
