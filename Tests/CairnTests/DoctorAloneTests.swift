import Cairn
import TestSupport
import Testing

/// What a doctor says who was told nothing but where to look.
@Suite struct DoctorAloneTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  @Test func `of an account's root the app's list says where its folder is`() async throws {
    let accounts = try AccountManager(directory: bench.bench.place.path + "/app")
    let linked = try accounts.link(
      Account(user: "ann", folder: .directory(bench.bench.folder)))
    let datastore = try DatastoreManager.manager(for: linked).openOrCreateDatastore("notes")
    try datastore.add("x")
    try await datastore.exchange()
    let head = bench.bench.shared + "/" + bench.bench.head(datastore)
    try datastore.close()
    let report = await Doctor(root: linked.root).examine()
    #expect(report.findings == [])
    #expect(report.datastores == ["notes"] && report.roots == [linked.root])
    try bench.bench.remove(head)
    let found = await Doctor(root: linked.root).examine().findings
    #expect(found.contains { $0.message.contains("lost this device's head") }, "\(found)")
  }

  @Test(arguments: [1, 2])
  func `a content that a local datastore has lost is found`(count: Int) async throws {
    let datastore = try bench.local().openOrCreateDatastore("notes")
    for number in 0..<count { try datastore.addPhoto("r\(number)", sample(UInt64(number))) }
    try datastore.close()
    #expect(await Doctor(root: bench.localRoot).examine().findings == [])
    let contents = bench.directory(bench.localRoot) + "/blobs"
    for path in try bench.files(contents) { try bench.bench.remove(path) }
    let found = await Doctor(root: bench.localRoot).examine().findings
    #expect(found.map(\.check) == ["attachments"], "\(found)")
    #expect(found.first?.severity == .note && found.first?.datastore == "notes")
    let message = try #require(found.first?.message)
    #expect(message.hasPrefix(count == 1 ? "an attachment that" : "2 attachments that"))
    #expect(message.contains(count == 1 ? "is not here. " : "are not here. "), "\(message)")
  }
}
