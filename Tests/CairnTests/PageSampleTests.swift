import Cairn
import TestSupport
import Testing

/// Samples of the documentation's pages: the same lines, compiled and run.
@Suite struct PageSampleTests {
  private let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  @Test func `the sample of the page about lists`() throws {
    let datastore = try DatastoreManager(root: place.path("root")).openDefaultDatastore()
    let task = try datastore.table("tasks").insert(["tags": ["wall"]], id: "t")
    var printed: [Value] = []
    func print(_ tag: Value) { printed.append(tag) }
    // Sample of Lists.md:
    let tags = try task.list("tags")
    try tags.append("outside")
    try tags.insert("stones", at: 0)
    try tags.move(from: 1, to: 0)
    try tags.replace(at: 0, with: "open air")
    for tag in tags { print(tag) }
    try datastore.sync()
    // End of the sample.
    #expect(printed == ["open air", "stones", "outside"])
    #expect(try task.listValues("tags") == printed)
    try datastore.close()
  }

  @Test func `the sample of the guide`() throws {
    let directory = place.path("accounts")
    let folder = FolderLocation.directory(place.path("folder"))
    // Sample of MigrationFromDatastoreAPI.md:
    let accounts = try AccountManager(directory: directory)
    let account = try accounts.linkedAccount ?? accounts.link(Account(user: "ana", folder: folder))
    let datastore = try accounts.openDefaultDatastore(for: account)
    let tasks = try datastore.table("tasks")
    try tasks.setRule(.sum, field: "votes")
    let task = try tasks.insert(["title": "Find a flat stone", "votes": 1])
    try task.list("tags").append("outside")
    try datastore.sync()
    try datastore.startExchanging()
    // End of the sample.
    #expect(try task.fields == ["title": "Find a flat stone", "votes": 1, "tags": ["outside"]])
    try datastore.close()
  }

  @Test(arguments: ["Lists", "MigrationFromDatastoreAPI"])
  func `the pages show this very code`(_ page: String) throws {
    func lines(_ file: String) throws -> [String] {
      String(decoding: try ProjectFile.bytes(file), as: UTF8.self)
        .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
    let here = try lines("Tests/CairnTests/PageSampleTests.swift")
    let first = try #require(here.firstIndex { $0.hasSuffix("// Sample of \(page).md:") })
    let last = try #require(here[first...].firstIndex { $0.hasSuffix("// End of the sample.") })
    let there = try lines("Sources/Cairn/Cairn.docc/\(page).md")
    let start = try #require(there.firstIndex(of: "```swift"))
    let end = try #require(there[start...].firstIndex(of: "```"))
    #expect(
      here[(first + 1)..<last].map { String($0.dropFirst(4)) } == Array(there[(start + 1)..<end]))
  }
}
