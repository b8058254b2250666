import Cairn
import CairnDisk
import CairnHTTP
import Synchronization
import TestSupport
import Testing

@testable import CairnCouchDB
@testable import TestServers

/// Databases that are another one from some time on, under the same name or at another address.
@Suite struct MadeAnewTests {
  @Test func `following finds out that a database was made anew, however silent that is`()
    async throws
  {
    let world = try await CouchWorld()
    let memory = try #require(world.memory)
    try await world.put("a", "{}")
    let name = world.name
    let store = try world.store()
    let pauses = Lock(0)
    let reports = Lock<[Bool]>([])
    let following = Lock<CouchDBFollower?>(nil)
    let follower = try world.follower(store) { options in
      (options.newsSeconds, options.server.stallSeconds) = (3600, 7200)
      options.pause = { _ in
        let count = pauses.withLock {
          $0 += 1
          return $0
        }
        // It would wait for ever.
        if count == 4 { following.withLock { $0 }?.abort() }
      }
    }
    following.withLock { $0 = follower }
    memory.set { asked in
      guard asked.query["feed"] == "longpoll" else { return nil }
      memory.change(name) { $0.instance = "anew" }
      return .text(200, #"{"results":[],"last_seq":"0"}"#, type: MemoryCouch.json)
    }
    try await follower.follow { result in
      guard case .success(let report) = result else { return }
      let count = reports.withLock {
        $0.append(report.wasRecreated)
        return $0.count
      }
      if count == 2 { following.withLock { $0 }?.abort() }
    }
    #expect(reports.withLock { $0 } == [false, true])
    #expect(pauses.withLock { $0 } == 0)
    following.withLock { $0 = nil }
    memory.heal()
    try store.datastore.close()
  }

  @Test(arguments: [nil, 1] as [Int?])
  func `what was left on a server whose database is another one now is not waited for`(
    _ changesPerRequest: Int?
  ) async throws {
    let world = try await CouchWorld()
    for id in ["a", "b", "c"] { try await world.put(id, "{}") }
    let none: (inout CouchDBOptions) -> Void = { options in
      options.policy = CouchDBPolicy(document: { _ in .leave })
      if let changesPerRequest { options.changesPerRequest = changesPerRequest }
    }
    try await world.pull(none) { database throws in
      #expect(try database.statistics().waitingDocuments == 3)
    }
    try await world.drop()
    try await world.create()
    try await world.put("b", "{}")
    let report = try await world.pull(none) { database throws in
      #expect(try database.statistics().waitingDocuments == 1)
      #expect(try database.ids() == [])
    }
    #expect(report.wasRecreated)
    #expect(try await world.pull().documents == 1)
    try await world.pullAndLook { database throws in
      #expect(try database.ids() == ["b"])
    }
  }

  @Test func `attachments of a document that never came go with the old database`() async throws {
    let world = try await CouchWorld()
    try await world.put("a", "{}")
    let store = try world.store()
    let follower = try world.follower(store)
    try await follower.pull()
    let database = follower.database
    // As a pull leaves it that ends between the two.
    let stub = AttachmentStub(
      name: "x", type: "text/plain", length: 1, position: 1, digest: "md5-x")
    try database.write([stub], "n", DocumentID.record("n"))
    try store.datastore.sync()
    try await world.drop()
    try await world.create()
    let revision = try await world.put("a", "{}")
    _ = try await world.attach("a", revision, "y", [1, 2])
    let report = try await follower.pull()
    #expect(report.wasRecreated)
    #expect(try database.ids() == ["a"])
    // That of the document that is there stays.
    #expect(try database.attachmentsTable.query().map { try $0.string("name") } == ["y"])
    #expect(try database.staleAttachments().isEmpty)
    try store.datastore.close()
  }

  /// What `follow()` says of each pull, until one lists all anew, and how it ends.
  private func followed(
    _ world: CouchWorld, _ store: CouchDBStore,
    onFirst: @escaping @Sendable (CouchDBFollower) throws -> Void
  ) async throws -> (results: [String], pauses: [Double], end: CairnError.Code?) {
    let pauses = Lock<[Double]>([])
    let follower = try world.follower(store) { options in
      options.pause = { seconds in pauses.withLock { $0.append(seconds) } }
    }
    let results = Lock<[String]>([])
    var end: CairnError.Code?
    do throws(CairnError) {
      try await follower.follow { result in
        let text =
          switch result {
          case .success(let report): report.wasRecreated ? "anew" : "pulled"
          case .failure(let error): error.code.rawValue
          }
        let count = results.withLock { results in
          results.append(text)
          return results.count
        }
        if count == 1 { do { try onFirst(follower) } catch { Issue.record(error) } }
        if text == "anew" { follower.abort() }
      }
    } catch { end = error.code }
    return (results.withLock { $0 }, pauses.withLock { $0 }, end)
  }

  @Test func `following begins anew where the server does not know the place any more`()
    async throws
  {
    let world = try await CouchWorld()
    let memory = try #require(world.memory)
    try await world.put("a", "{}")
    let store = try world.store()
    let old = Lock<String?>(nil)
    // As one that was replaced by another during the request for news.
    memory.set { asked in
      guard asked.path.hasSuffix("_changes"), let since = asked.query["since"],
        since == old.withLock({ $0 })
      else { return nil }
      return MemoryCouch.error(400, "bad_request", "Malformed sequence supplied")
    }
    let (results, pauses, end) = try await followed(world, store) { follower in
      let place = try follower.database.sequence
      old.withLock { $0 = place }
    }
    #expect(results == ["pulled", "retryLater", "anew"])
    #expect(end == nil)
    #expect(pauses == [1])
    memory.heal()
    try store.datastore.close()
  }

  @Test func `a server that understands no request for news ends following`() async throws {
    let world = try await CouchWorld()
    let memory = try #require(world.memory)
    try await world.put("a", "{}")
    let store = try world.store()
    memory.set { asked in
      asked.query["feed"] == "longpoll"
        ? MemoryCouch.error(400, "query_parse_error", "no such feed") : nil
    }
    let (results, pauses, end) = try await followed(world, store) { _ in }
    #expect(results == ["pulled", "request"])
    #expect(end == .request)
    #expect(pauses == [])
    memory.heal()
    try store.datastore.close()
  }

  // MARK: another address

  /// Three documents on a server, and the address of a database with two others.
  private func servers() async throws -> (CouchWorld, MemoryCouch, second: String) {
    let world = try await CouchWorld()
    for id in ["a", "b", "c"] { try await world.put(id, "{}") }
    let memory = try #require(world.memory)
    // Neither says which database it has: nothing but the address tells.
    memory.change(world.name) { $0.instance = "0" }
    return (world, memory, world.placeDatabase("second", ["y", "z"]))
  }

  /// A new follower finds all that is there, and nothing of the old address stays.
  private func takesOver(_ old: CouchDBFollower, _ second: String) async throws {
    #expect(try old.database.url == second)
    #expect(try old.database.sequence == nil)
    let report = try await CouchDBFollower(old.database, options: old.options).pull()
    #expect(report.wasRecreated && report.documents == 2)
    #expect(try old.database.ids() == ["y", "z"])
  }

  @Test func `a purge that ended half-way is finished by the next pull`() async throws {
    let (world, _, second) = try await servers()
    func store(_ disk: MemoryDisk) throws -> CouchDBStore {
      let manager = DatastoreManager(
        root: "/root", account: nil, folder: nil, options: world.manager.options,
        machine: Machine(disk: disk, clock: ManualClock(), random: SeededRandom(1)))
      return CouchDBStore(try manager.openOrCreateDatastore("couch"))
    }
    let disk = MemoryDisk()
    let first = try store(disk)
    let follower = try world.follower(first)
    #expect(try await follower.pull().documents == 3)
    let database = try first.database("notes", url: second)
    try database.put(database.partsTable, "part", ["bytes": .bytes([1])])
    try first.datastore.sync()
    // Room for the first of its commits, and for nothing behind it.
    let hasBegun = Flag()
    disk.intercept { step in
      guard step.path.contains("/log/") else { return nil }
      if step.verb == "sync" { hasBegun.raise() }
      return step.verb == "write" && hasBegun.isUp ? .noSpace : nil
    }
    #expect { try database.purge() } throws: { ($0 as? CairnError)?.code == .diskSpace }
    disk.intercept(nil)
    // What a process that was killed then leaves.
    let left = try store(disk.crash(keep: .nothingUnsynced))
    let next = try CouchDBFollower(left.database("notes", url: second), options: follower.options)
    #expect(try next.database.ids() == ["a", "b", "c"])
    #expect(try await next.pull().documents == 2)
    #expect(try next.database.ids() == ["y", "z"])
    #expect(try next.database.partsTable.count == 0)
    // And only by that one.
    #expect(try await next.pull().documents == 0)
    try first.datastore.close()
    try left.datastore.close()
  }

  @Test func `a pull ends whose address is changed meanwhile, and so do those after it`()
    async throws
  {
    let (world, memory, second) = try await servers()
    let store = try world.store()
    let follower = try world.follower(store)
    memory.set { asked in
      guard asked.path.hasSuffix("_all_docs") else { return nil }
      do { try store.database("notes", url: second) } catch { Issue.record(error) }
      return nil
    }
    await #expect { try await follower.pull() } throws: {
      ($0 as? CairnError)?.code == .invalidOperation
    }
    // The old server has nothing to say in it.
    memory.set { _ in MemoryCouch.error(503, "service_unavailable", "It has moved") }
    await #expect { try await follower.pull() } throws: {
      ($0 as? CairnError)?.code == .invalidOperation
    }
    await #expect {
      try await follower.follow { _ in follower.abort() }
    } throws: {
      ($0 as? CairnError)?.code == .invalidOperation
    }
    memory.heal()
    try await takesOver(follower, second)
    try store.datastore.close()
  }

  @Test func `a place that the old server refuses changes nothing of a new address`() async throws {
    let (world, memory, second) = try await servers()
    let store = try world.store()
    let follower = try world.follower(store)
    #expect(try await follower.pull().documents == 3)
    memory.set { asked in
      guard asked.path.hasSuffix("_changes"), asked.query["since"] != nil else { return nil }
      do { try store.database("notes", url: second) } catch { Issue.record(error) }
      return MemoryCouch.error(400, "bad_request", "Malformed sequence supplied")
    }
    await #expect { try await follower.pull() } throws: {
      ($0 as? CairnError)?.code == .invalidOperation
    }
    memory.heal()
    try await takesOver(follower, second)
    try store.datastore.close()
  }

  @Test func `a follower that waits for news ends when the address is changed`() async throws {
    let (world, memory, second) = try await servers()
    let store = try world.store()
    let follower = try world.follower(store)
    let polls = Lock(0)
    memory.set { asked in
      guard asked.query["feed"] == "longpoll" else { return nil }
      do { try store.database("notes", url: second) } catch { Issue.record(error) }
      let count = polls.withLock {
        $0 += 1
        return $0
      }
      // It would wait for ever.
      if count == 3 { follower.abort() }
      return .text(200, #"{"results":[],"last_seq":"0"}"#, type: MemoryCouch.json)
    }
    await #expect { try await follower.follow() } throws: {
      ($0 as? CairnError)?.code == .invalidOperation
    }
    #expect(polls.withLock { $0 } == 1)
    memory.heal()
    try await takesOver(follower, second)
    try store.datastore.close()
  }
}
