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
    let folder = place.path("folder")
    // Sample of MigrationFromDatastoreAPI.md:
    let accounts = try AccountManager(directory: directory)
    let account = try accounts.linkedAccount
      ?? accounts.link(Account(user: "ana", folder: .directory(folder)))
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

  @Test func `the sample of the page about attachments`() async throws {
    var options = Options()
    options.attachments = AttachmentPolicy { use in
      use.field == "thumbnail" ? .always(priority: 1) : .onDemand
    }
    let folder = place.path("folder")
    func open(_ device: String) throws -> Datastore {
      try DatastoreManager(
        root: place.path(device), account: Account(user: "ana", folder: .directory(folder)),
        options: options
      ).openDefaultDatastore()
    }
    let (datastore, phone) = (try open("laptop"), try open("phone"))
    let photos = try datastore.table("photos")
    let (jpeg, small) = ([UInt8](repeating: 1, count: 100_000), [UInt8](repeating: 2, count: 100))
    var shown: [Int] = []
    // Sample of Attachments.md:
    let photo = try photos.insert(["title": "The shed"], id: "shed")
    try photo.attach("thumbnail", small)  // the content is durable at once, the field with `sync()`
    try photo.set("picture", try datastore.attach(jpeg))
    try datastore.sync()
    try await datastore.exchange()  // contents first, then the delta that names them

    try await phone.exchange()
    try phone.sync()  // the record is here
    try await phone.exchange()  // and so is the thumbnail: this phone wants those at once
    if let picture = try phone.table("photos")["shed"].attachment("picture") {
      for try await piece in picture.chunks { shown.append(piece.count) }  // fetches it first
    }
    // End of the sample.
    #expect(shown == [100_000])
    #expect(try phone.table("photos")["shed"].attachment("thumbnail")?.bytes() == small)
    try datastore.close()
    try phone.close()
  }

  @Test(arguments: ["Lists", "MigrationFromDatastoreAPI", "Attachments"])
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
