import Cairn
import TestSupport
import Testing

/// What an account's devices know of its datastores without opening them.
@Suite struct CatalogueTests {
  private let bench = CatalogueBench()

  @Test func `a datastore shows on other devices with its title, and is fetched when opened`()
    async throws
  {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("notes") {
      try $0.setTitle("Notes")
      try $0.add("r")
    }
    try await a.refresh()
    #expect(try b.listDatastores() == [])
    #expect(code { _ = try b.openDatastore("notes") } == .notFound)
    try await b.refresh()
    let info = try #require(try b.datastoreInfos()["notes"])
    #expect(info.title == "Notes" && !info.isOnDevice && info.recordCount == 2)
    #expect(info.mtime != nil && info.size ?? 0 > 1000 && !info.isShareable)
    let datastore = try b.openDatastore("notes")
    #expect(try datastore.ids() == [])
    try await datastore.pull()
    #expect(try datastore.ids() == ["r"] && datastore.title == "Notes")
    #expect(try b.datastoreInfos()["notes"]?.isOnDevice == true)
  }

  @Test func `what was committed last is in the list after a shut-down, too`() throws {
    let a = bench.manager("a")
    let notes = try a.openOrCreateDatastore("notes")
    try notes.setTitle("Notes")
    _ = try notes.sync()
    for id in ["one", "two"] { try notes.add(id) }
    let before = try #require(try a.datastoreInfos()["notes"])
    #expect(before.title == "Notes" && before.recordCount == 3)
    try a.shutDown()
    let after = try #require(try bench.manager("a").datastoreInfos()["notes"])
    #expect(after.recordCount == before.recordCount && after.size == before.size)
    #expect(after.mtime == before.mtime && after.title == "Notes")
  }

  @Test func `an idle account is polled with one request`() async throws {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    for manager in [a, b] {
      for id in ["one", "two", "three"] { try await manager.with(id) }
    }
    for _ in 0..<3 { for manager in [a, b] { try await manager.refresh() } }
    for manager in [a, b] {
      let report = try await manager.refresh()
      #expect(report.requests == 1 && report.isIdle)
    }
    // Another process starts where this one ended: it has to look at folder and own file once.
    #expect(try await bench.manager("a").refresh().requests == 3)
    #expect(bench.catalogues.count == 2)
  }

  @Test func `an older file of a device that comes back says nothing`() async throws {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n") { try $0.setTitle("old") }
    try await a.refresh()
    let path = "/folder/catalogue/" + (try #require(bench.catalogues.first))
    let old = try #require(bench.disk.bytes(path))
    bench.clock.advance(by: 10)
    try await a.with("n") { try $0.setTitle("new") }
    try await a.refresh()
    try await b.refresh()
    #expect(try b.datastoreInfos()["n"]?.title == "new")
    bench.clock.advance(by: 10)
    try bench.disk.setBytes(path, old)
    try await b.refresh()
    #expect(try b.datastoreInfos()["n"]?.title == "new")
  }

  @Test func `lists work offline and right after the start`() async throws {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("x") { try $0.setTitle("X") }
    try await a.refresh()
    try await b.refresh()
    try await b.with("y") { try $0.setTitle("Y") }
    let again = bench.manager("b", folder: "/nowhere")
    #expect(try again.listDatastores().map(\.title) == ["X", "Y"])
    #expect(try again.listDatastores().map(\.isOnDevice) == [false, true])
  }

  @Test func `local changes that are synced and not published override the folder's`()
    async throws
  {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n") { try $0.setTitle("first") }
    try await a.refresh()
    try await b.with("n")
    try await b.refresh()
    let datastore = try b.openDatastore("n")
    try datastore.setTitle("second")
    #expect(try b.datastoreInfos()["n"]?.title == "first", "not synced")
    bench.clock.advance(by: 10)
    try datastore.sync()
    #expect(try b.datastoreInfos()["n"]?.title == "second")
    try datastore.close()
    #expect(try b.datastoreInfos()["n"]?.title == "second", "closed")
    // Newer elsewhere: only what was changed here stays.
    bench.clock.advance(by: 10)
    try await a.with("n") { try $0.add("later") }
    try await a.refresh()
    try await b.refresh()
    let info = try b.datastoreInfos()["n"]
    #expect(info?.title == "second" && info?.recordCount == 2)
    #expect(try a.datastoreInfos()["n"]?.title == "first", "others hear of it when it is published")
    try await b.with("n")
    for manager in [b, a] { try await manager.refresh() }
    #expect(try a.datastoreInfos()["n"]?.title == "second")
  }

  @Test func `a title that was removed here hides the folder's`() async throws {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n") { try $0.setTitle("title") }
    try await a.refresh()
    try await b.with("n")
    try await b.refresh()
    let datastore = try b.openDatastore("n")
    try datastore.setTitle(nil)
    try datastore.sync()
    bench.clock.advance(by: 10)
    try await a.with("n") { try $0.add("later") }
    try await a.refresh()
    try await b.refresh()
    #expect(try b.datastoreInfos()["n"]?.title == nil)
    try datastore.close()
  }

  @Test func `what an older version left beside a datastore is found out when it is opened`()
    async throws
  {
    let a = bench.manager("a")
    try await a.with("n") { try $0.setTitle("title") }
    try bench.disk.remove("/a/p-n/INFO")
    let again = bench.manager("a")
    #expect(try again.listDatastores().map(\.title) == [nil])
    try again.openDatastore("n").close()
    #expect(try again.listDatastores().map(\.title) == ["title"])
  }

  @Test func `a local manager lists titles, too`() async throws {
    let local = bench.local("l")
    try await local.with("default") { try $0.setTitle("Mine") }
    try await local.with(".Shared")
    let infos = try bench.local("l").listDatastores()
    #expect(infos.map(\.id) == [".Shared", "default"])
    #expect(infos.map(\.title) == [nil, "Mine"] && infos.map(\.isShareable) == [true, false])
    #expect(await local.refreshError()?.code == .invalidOperation)
    #expect(code { try local.startExchanging() } == .invalidOperation)
  }

  @Test func `a new shareable id is a valid one that nobody has yet`() throws {
    let datastore = try bench.manager("a").createDatastore()
    #expect(datastore.id.count == 44 && datastore.isShareable)
    #expect(Datastore.isValidShareableId(datastore.id))
    let local = try bench.local("l").createDatastore()
    #expect(local.id != datastore.id)
  }

  @Test func `a title is cut in lists after a thousand bytes, never within a character`() throws {
    let a = bench.manager("a")
    let datastore = try a.openOrCreateDatastore("n")
    let start = String(repeating: "a", count: 998)
    let ends: [(title: String, shown: String)] = [
      ("bc", "bc"), ("bcd", "bc"), ("\u{E9}", "\u{E9}"), ("\u{E9}\u{E9}", "\u{E9}"),
      ("b\u{E9}", "b"), ("\u{1F426}", ""),
    ]
    for (title, shown) in ends {
      try datastore.setTitle(start + title)
      try datastore.sync()
      #expect(try a.datastoreInfos()["n"]?.title == start + shown)
      #expect(try datastore.title == start + title)
    }
  }

  // MARK: changes

  @Test func `a title of other bytes is another one, though it looks the same`() throws {
    let datastore = try bench.manager("a").openOrCreateDatastore("n")
    try datastore.setTitle("caf\u{E9}")
    try datastore.sync()
    let told = Told<[Int]>()
    let observation = datastore.manager.observeDatastores(on: { $0() }) {
      told.add($0.map { $0.title?.utf8.count ?? 0 })
    }
    let before = try datastore.manager.listDatastores()
    try datastore.setTitle("cafe\u{301}")
    try datastore.sync()
    #expect(told.all == [[5], [6]])
    withExtendedLifetime(observation) {}
    var other = before
    #expect(other == before)
    other[0].title = "cafe\u{301}"
    #expect(other != before)
  }

  @Test func `a title of other bytes that is not published yet overrides the folder's`()
    async throws
  {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n") { try $0.setTitle("caf\u{E9}") }
    try await a.refresh()
    try await b.with("n")
    try await b.refresh()
    let datastore = try b.openDatastore("n")
    try datastore.setTitle("cafe\u{301}")
    try datastore.sync()
    // Newer elsewhere: only what was changed here stays.
    bench.clock.advance(by: 10)
    try await a.with("n") { try $0.add("later") }
    try await a.refresh()
    try await b.refresh()
    #expect(try b.datastoreInfos()["n"]?.title?.utf8.count == 6)
    try datastore.close()
  }

  @Test func `the list's changes are told, the current list first, contents are not`()
    async throws
  {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    var changes = a.datastoreChanges.makeAsyncIterator()
    #expect(await changes.next() == [])
    let datastore = try a.openOrCreateDatastore("n")
    #expect(await changes.next()?.map(\.id) == ["n"])
    try datastore.add("r")
    try datastore.setTitle("title")
    try datastore.sync()
    #expect(await changes.next()?.map(\.title) == ["title"])
    try datastore.add("another")
    try await b.with("other") { try $0.setTitle("Other") }
    try await b.refresh()
    try await a.refresh()
    #expect(await changes.next()?.map(\.title) == ["title", "Other"])
    try datastore.close()
    try a.uncacheDatastore("n")
    #expect(await changes.next()?.map(\.isOnDevice) == [false, false])
    try a.shutDown()
    #expect(await changes.next() == nil)
  }

  @Test func `a handler is called with the list as well`() async throws {
    let a = bench.manager("a")
    let (stream, calls) = AsyncStream.makeStream(of: [String].self)
    let observation = a.observeDatastores(on: { $0() }) { calls.yield($0.map(\.id)) }
    try a.openOrCreateDatastore("n").close()
    observation.cancel()
    try a.openOrCreateDatastore("m").close()
    calls.finish()
    var seen: [[String]] = []
    for await ids in stream { seen.append(ids) }
    #expect(seen == [[], ["n"]])
  }

  @Test func `a list is exchanged in the background`() async throws {
    let place = try TemporaryDirectory()
    var options = Options()
    options.pollSeconds = 0.01...0.05
    let account = Account(user: "ann", folder: .directory(place.path("folder")))
    let a = try DatastoreManager(root: place.path("a"), account: account, options: options)
    let b = try DatastoreManager(root: place.path("b"), account: account, options: options)
    try a.startExchanging()
    try b.startExchanging()
    try a.openOrCreateDatastore("n").close()
    for await list in b.datastoreChanges where list.map(\.id) == ["n"] { break }
    try a.deleteDatastore("n")
    for await list in b.datastoreChanges where list.isEmpty { break }
    a.stopExchanging()
    try a.shutDown()
    try b.shutDown()
    #expect(code { try a.startExchanging() } == .shutdown)
  }
}
