import Cairn
import CairnDisk
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CairnCouchDB
@testable import TestServers

/// A pull that ends in the middle, in every way, goes on where it was.
@Suite struct ResumeTests {
  private static let ids = (0..<12).map { "d\($0)" }

  private func filled(_ place: CouchPlace) async throws -> CouchWorld {
    let world = try await CouchWorld(place)
    for id in Self.ids { try await world.put(id, #"{"id":"\#(id)"}"#) }
    return world
  }

  private func world() async throws -> (CouchWorld, MemoryCouch) {
    let world = try await filled(.memory)
    return (world, try #require(world.memory))
  }

  /// A copy of the datastore as a process that was killed would leave it.
  private func copy(_ world: CouchWorld, _ name: String) throws -> DatastoreManager {
    let path = world.directory.path(name)
    try FileManager.default.copyItem(atPath: world.manager.root, toPath: path)
    return try DatastoreManager(root: path, options: world.manager.options)
  }

  @Test(arguments: CouchPlace.all)
  func `a kill after any document loses nothing and fetches no document twice`(
    _ place: CouchPlace
  ) async throws {
    let world = try await filled(place)
    let store = try world.store()
    let database = try store.database("notes", url: world.url)
    let following = Lock<CouchDBFollower?>(nil)
    // Each request finds what was committed before it: a copy of the files then is what a kill
    // leaves.
    let copies = Lock<[(manager: DatastoreManager, done: Int)]>([])
    let follower = try world.follower(store) {
      ($0.docsPerRequest, $0.maxConcurrentFetches, $0.changesPerRequest) = (1, 1, 5)
      $0.beforeRequests {
        let done = following.withLock { $0 }?.progress.documents.done ?? 0
        let number = copies.withLock(\.count)
        do {
          let copy = try self.copy(world, "copy\(number)")
          copies.withLock { $0.append((copy, done)) }
        } catch { Issue.record(error) }
      }
    }
    following.withLock { $0 = follower }
    try await follower.pull()
    following.withLock { $0 = nil }
    #expect(try database.ids() == Self.ids.sorted())
    try store.datastore.close()
    let all = copies.withLock { $0 }
    // Which database it is, three pages, and each document.
    #expect(all.count == 4 + Self.ids.count)
    for (index, copy) in all.enumerated() {
      let datastore = try copy.manager.openOrCreateDatastore("couch")
      let store = CouchDBStore(datastore)
      let database = try store.database("notes")
      let before = try database.ids().count
      let report = try await world.follower(store) { $0.changesPerRequest = 5 }.pull()
      #expect(try database.ids() == Self.ids.sorted())
      #expect(report.documents == Self.ids.count - before, "copy \(index)")
      // The last of those that are through may be on its way to the disk.
      #expect(before >= copy.done - 1 && before <= copy.done + 1, "copy \(index)")
      try datastore.close()
    }
    await world.end()
  }

  @Test func `what has come is committed while the last requests are under way`() async throws {
    let (world, memory) = try await world()
    let store = try world.store()
    let follower = try world.follower(store) {
      ($0.docsPerRequest, $0.maxConcurrentFetches) = (2, 3)
    }
    let count = Lock(0)
    let left = Lock<DatastoreManager?>(nil)
    memory.set { asked in
      guard asked.path.hasSuffix("_all_docs") else { return nil }
      let number = count.withLock {
        $0 += 1
        return $0
      }
      // The last one of the page is answered when nothing else moves any more, or never will.
      guard number == Self.ids.count / 2 else { return nil }
      let deadline = ContinuousClock.now + .seconds(20)
      while ContinuousClock.now < deadline,
        follower.progress.documents.done < Self.ids.count - 2
          || store.datastore.unsyncedChangesSize > Limits.unsyncedChangesBaseSize
      {
        Thread.sleep(forTimeInterval: 0.001)
      }
      do {
        let copy = try self.copy(world, "copy")
        left.withLock { $0 = copy }
      } catch { Issue.record(error) }
      return nil
    }
    try await follower.pull()
    try store.datastore.close()
    memory.heal()
    let manager = try #require(left.withLock { $0 })
    let copy = CouchDBStore(try manager.openOrCreateDatastore("couch"))
    #expect(try copy.database("notes").ids().count == Self.ids.count - 2)
    #expect(try await world.follower(copy).pull().documents == 2)
    try copy.datastore.close()
  }

  @Test(arguments: CouchPlace.all)
  func `aborted after any request, the next pull brings the rest`(_ place: CouchPlace) async throws
  {
    let world = try await filled(place)
    world.memory?.server.clearLog()
    var (aborted, here) = (0, 0)
    for _ in 0..<20 {
      let store = try world.store()
      let following = Lock<CouchDBFollower?>(nil)
      let asked = Lock(0)
      let follower = try world.follower(store) {
        ($0.docsPerRequest, $0.maxConcurrentFetches, $0.changesPerRequest) = (2, 1, 4)
        $0.beforeRequests {
          // At the second request after the first page of changes.
          guard let follower = following.withLock({ $0 }), follower.progress.documents.total > 0
          else { return }
          if asked.withLock({
            $0 += 1
            return $0
          }) == 2 {
            follower.abort()
          }
        }
      }
      following.withLock { $0 = follower }
      var isWhole = false
      do throws(CairnError) {
        try await follower.pull()
        isWhole = true
      } catch {
        #expect(error.code == .cancelled)
        aborted += 1
        #expect(!follower.progress.isRunning)
      }
      following.withLock { $0 = nil }
      let now = try follower.database.ids().count
      #expect(isWhole || now >= min(here + 2, Self.ids.count))
      here = now
      try store.datastore.close()
      if isWhole { break }
    }
    let requests = world.memory?.server.log.count { $0.contains("_all_docs") } ?? 0
    try await world.pullAndLook {
      try #expect($0.ids() == Self.ids.sorted())
    }
    #expect(aborted > 1)
    // Two documents each; only what was asked for when it was aborted is asked for again.
    #expect(requests * 2 <= Self.ids.count + aborted * 2)
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `rows that come again are not fetched again`(_ place: CouchPlace) async throws {
    let world = try await filled(place)
    try await world.pull()
    let store = try world.store()
    let database = try store.database("notes")
    var state = try #require(try database.state)
    state.since = nil
    try database.keep(state)
    world.memory?.server.clearLog()
    let report = try await world.follower(store).pull()
    #expect(report.unchanged == Self.ids.count && report.documents == 0)
    #expect(world.memory?.server.log.contains { $0.contains("_all_docs") } != true)
    try store.datastore.close()
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `a document that somebody removed here comes back with its row`(_ place: CouchPlace)
    async throws
  {
    let world = try await filled(place)
    let store = try world.store()
    let follower = try world.follower(store)
    try await follower.pull()
    let database = follower.database
    try database.table["d3"].delete()
    var state = try #require(try database.state)
    state.since = nil
    try database.keep(state)
    try store.datastore.sync()
    #expect(try await follower.pull().documents == 1)
    #expect(try database.ids() == Self.ids.sorted())
    try store.datastore.close()
    await world.end()
  }

  @Test func `pages may end where those of an earlier pull did, or of one that began anew`()
    async throws
  {
    let world = try await CouchWorld()
    let memory = try #require(world.memory)
    let ids = ["a", "b", "c", "d", "e"]
    for id in ids { world.placeDocument(id, revision: "1-1") }
    // What is answered once to who asks from a place.
    let refusals = Lock<[String: Int]>(["p2": 401])
    memory.set { asked in
      guard asked.path.hasSuffix("_changes") else { return nil }
      let since = asked.query["since"] ?? "p0"
      if let status = refusals.withLock({ $0.removeValue(forKey: since) }) {
        return .answer(status)
      }
      let place = Int(since.dropFirst()) ?? 0
      return TroubleTests.changes(
        Array(ids.dropFirst(place).prefix(1)), next: "p\(min(place + 1, ids.count))")
    }
    let store = try world.store()
    let follower = try world.follower(store) { $0.changesPerRequest = 1 }
    let database = follower.database
    await #expect { try await follower.pull() } throws: { ($0 as? CairnError)?.code == .auth }
    #expect(try database.sequence == "p2")
    #expect(try await follower.pull().documents == 3)
    #expect(try database.sequence == "p5")
    var state = try #require(try database.state)
    state.since = "p3"
    try database.keep(state)
    // A place that the server never gave, it says, behind one page: all pages come again.
    refusals.withLock { $0["p4"] = 400 }
    let report = try await follower.pull()
    #expect(report.wasRecreated && report.documents == 0 && report.unchanged == 6)
    #expect(try database.sequence == "p5")
    #expect(try database.ids() == ids)
    try store.datastore.close()
  }

  @Test func `changes that were taken back while they were pulled are noticed`() async throws {
    let (world, memory) = try await world()
    let store = try world.store()
    let follower = try world.follower(store) {
      ($0.docsPerRequest, $0.maxConcurrentFetches) = (6, 1)
    }
    let count = Lock(0)
    memory.set { asked in
      guard asked.path.hasSuffix("_all_docs") else { return nil }
      // What came with the first request is here by the second: somebody removes some of it.
      if count.withLock({
        $0 += 1
        return $0
      }) == 2 {
        while (try? follower.database.table.count) != 6 { Thread.sleep(forTimeInterval: 0.001) }
        for record in (try? follower.database.table.query()) ?? [] { try? record.delete() }
      }
      return nil
    }
    // Following goes on by itself.
    await #expect { try await follower.pull() } throws: { ($0 as? CairnError)?.code == .retryLater }
    #expect(try follower.database.sequence == nil)
    memory.heal()
    try await follower.pull()
    #expect(try follower.database.ids() == Self.ids.sorted())
    try store.datastore.close()
  }

  @Test func `a document that is deleted between its row and its fetch is gone`() async throws {
    let (world, memory) = try await world()
    let hasChanged = Lock(false)
    memory.set { asked in
      guard asked.path.hasSuffix("_all_docs"), !hasChanged.withLock({ $0 }) else { return nil }
      hasChanged.withLock { $0 = true }
      memory.change(world.name) { database in
        // Deleted, purged, and changed.
        database.documents["d1"]?.leaves[0].isDeleted = true
        database.documents["d2"] = nil
        database.documents["d3"]?.leaves[0].revision = "9-new"
      }
      return nil
    }
    let store = try world.store()
    let follower = try world.follower(store)
    try await follower.pull()
    let ids = Set(try follower.database.ids())
    #expect(ids == Set(Self.ids).subtracting(["d1", "d2"]))
    #expect(try follower.database.document("d3")?.revision == "9-new")
    try store.datastore.close()
  }

  /// What a copy of a cluster says of a document that others have the second revision of.
  static let olderRows = [
    #"{"id":"a","key":"a","value":{"rev":"1-a"},"doc":{"_id":"a","_rev":"1-a"}}"#,
    #"{"id":"a","key":"a","value":{"rev":"1-a","deleted":true},"doc":null}"#,
    #"{"key":"a","error":"not_found"}"#,
  ]

  /// A server that says this of a document until it is healed, and whose log begins then.
  private func lagging(_ row: String) async throws -> (CouchWorld, MemoryCouch) {
    let world = try await CouchWorld()
    let memory = try #require(world.memory)
    world.placeDocument("a", revision: "2-b")
    memory.set { asked in
      asked.path.hasSuffix("_all_docs")
        ? .text(200, "{\"rows\":[\(row)]}", type: MemoryCouch.json) : nil
    }
    memory.server.clearLog()
    return (world, memory)
  }

  @Test(arguments: ResumeTests.olderRows)
  func `what a copy says that lags behind is asked for again by the next pull`(
    _ row: String
  ) async throws {
    let (world, memory) = try await lagging(row)
    let store = try world.store()
    let follower = try world.follower(store)
    let database = follower.database
    try await follower.pull()
    #expect(try database.document("a")?.revision == (row.contains("_rev") ? "1-a" : nil))
    #expect(try database.sequence != nil)
    #expect(try database.statistics().waitingDocuments == 1)
    memory.heal()
    #expect(try await follower.pull().documents == 1)
    #expect(try database.document("a")?.revision == "2-b")
    #expect(try database.statistics().waitingDocuments == 0)
    #expect(memory.server.log.count { $0.hasSuffix("_all_docs") } == 2)
    try store.datastore.close()
  }

  @Test(arguments: ResumeTests.olderRows)
  func `what stays as it was said to be is asked for once more, and not for ever`(
    _ row: String
  ) async throws {
    let (world, memory) = try await lagging(row)
    let store = try world.store()
    let follower = try world.follower(store)
    for _ in 0..<3 { try await follower.pull() }
    #expect(memory.server.log.count { $0.hasSuffix("_all_docs") } == 2)
    #expect(try follower.database.statistics().waitingDocuments == 0)
    try store.datastore.close()
  }

  @Test func `a database made anew during a pull is found out by the next`() async throws {
    let (world, memory) = try await world()
    memory.set { asked in
      guard asked.path.hasSuffix("_all_docs") else { return nil }
      memory.change(world.name) { $0 = MemoryCouch.Database(instance: "another") }
      return nil
    }
    let store = try world.store()
    let follower = try world.follower(store)
    await #expect { try await follower.pull() } throws: { ($0 as? CairnError)?.code == .retryLater }
    memory.heal()
    let report = try await follower.pull()
    #expect(report.wasRecreated)
    #expect(try follower.database.ids() == [])
    try store.datastore.close()
  }

  @Test(arguments: CouchPlace.all)
  func `one pull of a database at a time, and nobody empties it meanwhile`(_ place: CouchPlace)
    async throws
  {
    let world = try await filled(place)
    let store = try world.store()
    let codes = Lock<[CairnError.Code]>([])
    let isAsked = Lock(false)
    let mayGoOn = Lock(false)
    // Our own server answers the first when the second has been told.
    world.memory?.set { _ in
      let deadline = ContinuousClock.now + .seconds(20)
      while !mayGoOn.withLock({ $0 }), ContinuousClock.now < deadline {
        Thread.sleep(forTimeInterval: 0.001)
      }
      return nil
    }
    let database = try store.database("notes", url: world.url)
    let follower = try world.follower(store) {
      $0.beforeRequests {
        guard !isAsked.withLock({ $0 }) else { return }
        do throws(CairnError) { try database.purge() } catch {
          codes.withLock { $0.append(error.code) }
        }
        isAsked.withLock { $0 = true }
      }
    }
    let second = try world.follower(store)
    async let first = follower.pull()
    while !isAsked.withLock({ $0 }) { await Task.yield() }
    do throws(CairnError) { _ = try await second.pull() } catch {
      codes.withLock { $0.append(error.code) }
    }
    mayGoOn.withLock { $0 = true }
    let report = try await first
    #expect(report.documents == Self.ids.count)
    let found = codes.withLock { $0 }
    #expect(found.first == .invalidOperation)
    // Of a real server the second may have come after the end of the first.
    #expect(found.count == 2 || world.memory == nil)
    #expect(found.allSatisfy { $0 == .invalidOperation })
    try store.datastore.close()
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `a follower waits while somebody else pulls, and goes on`(_ place: CouchPlace) async throws {
    let world = try await filled(place)
    let store = try world.store()
    let pauses = Lock(0)
    let follower = try world.follower(store) { options in
      let database = try? store.database("notes", url: world.url)
      options.pause = { _ in
        let count = pauses.withLock {
          $0 += 1
          return $0
        }
        if count == 3, let database { Followers.shared.end(database) }
      }
    }
    #expect(Followers.shared.begin(follower.database))
    let results = Lock<[Int]>([])
    try await follower.follow { result in
      results.withLock { $0.append((try? result.get().documents) ?? -1) }
      follower.abort()
    }
    #expect(pauses.withLock { $0 } == 3)
    #expect(results.withLock { $0 } == [Self.ids.count])
    try store.datastore.close()
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `an abort between two steps of following is not lost`(_ place: CouchPlace) async throws {
    let world = try await filled(place)
    let store = try world.store()
    let follower = try world.follower(store)
    let before = follower.aborts
    follower.abort()
    await #expect {
      try await follower.interruptible(before) { () async throws(CairnError) in
        do { try await Task.sleep(for: .seconds(3600)) } catch { throw CouchDBFollower.aborted }
      }
    } throws: { ($0 as? CairnError)?.code == .cancelled }
    // What begins afterwards is not ended by it.
    #expect(try await follower.pull().documents == Self.ids.count)
    try store.datastore.close()
    await world.end()
  }

  @Test(arguments: CouchPlace.all, [true, false])
  func `attachments whose document never came go with it`(
    _ place: CouchPlace, isDeleted: Bool
  ) async throws {
    let world = try await filled(place)
    let revision = try await world.put("e", "{}")
    let store = try world.store()
    let follower = try world.follower(store)
    // As a pull leaves it that ends between the two.
    let stub = AttachmentStub(
      name: "x", type: "text/plain", length: 1, position: 1, digest: "md5-x")
    try follower.database.write([stub], "e", DocumentID.record("e"))
    // Its next revision may have none, too.
    if isDeleted { try await world.delete("e", revision) }
    #expect(try await follower.pull().failedAttachments == 0)
    #expect(try follower.database.ids().contains("e") == !isDeleted)
    #expect(try follower.database.attachmentsTable.count == 0)
    #expect(try follower.database.statistics().staleAttachments == 0)
    try store.datastore.close()
    await world.end()
  }
}
