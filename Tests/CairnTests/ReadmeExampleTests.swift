import Cairn
import TestSupport
import Testing

/// The example that the pages show: the same lines, compiled and run.
@Suite struct ReadmeExampleTests {
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
    let tasks = try datastore.table("tasks").query()
    #expect(try tasks.map { try $0.int("votes") } == [2])
    try datastore.close()
  }

  private func example(
    root: String, folder: String, print: (String) -> Void
  ) async throws {
    // The page's lines begin here.
    let account = Account(user: "ana", folder: .directory(folder))
    let manager = try DatastoreManager(root: root, account: account)
    let datastore = try manager.openDefaultDatastore()
    let tasks = try datastore.table("tasks")
    try tasks.setRule(.sum, field: "votes")  // concurrent votes add up, on all devices

    let task = try tasks.insert(["title": "Find a flat stone", "done": false, "votes": 1])
    try task.set("votes", 2)  // visible at once, on every thread
    try datastore.sync()  // durable from here on

    try await datastore.exchange()  // publishes it, and fetches what other devices did
    let result = try datastore.sync()  // makes that visible, atomically
    for conflict in result.conflicts {
      print("\(conflict.id): \(conflict.field) was changed on two devices at once")
    }
    for open in try tasks.query(["done": false]) {
      print(try open.string("title") ?? "untitled")
    }
    try datastore.close()
    // The page's lines end here.
  }

  @Test(arguments: ["README.md", "Sources/Cairn/Cairn.docc/Cairn.md"])
  func `the page shows this very code`(_ page: String) throws {
    let here = try lines("Tests/CairnTests/ReadmeExampleTests.swift")
    let first = try #require(here.firstIndex { $0.hasSuffix("lines begin here.") })
    let last = try #require(here.firstIndex { $0.hasSuffix("lines end here.") })
    let code = here[(first + 1)..<last].map { $0.isEmpty ? "" : String($0.dropFirst(4)) }
    let there = try lines(page)
    let start = try #require(there.firstIndex(of: "```swift"))
    let end = try #require(there[start...].firstIndex(of: "```"))
    #expect(code == Array(there[(start + 1)..<end]))
  }

  private func lines(_ file: String) throws -> [String] {
    String(decoding: try ProjectFile.bytes(file), as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }
}
