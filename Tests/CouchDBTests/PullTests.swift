import Cairn
import CairnDisk
import CairnHTTP
import Dispatch
import Synchronization
import Testing

@testable import CairnCouchDB
@testable import TestServers

/// What a pull brings, from our own server and, if there is one, from a real CouchDB.
@Suite struct PullTests {
  @Test(.enabled(if: CouchPlace.url != nil))
  func `COUCHDB_URL is a CouchDB, and all tests of places run there too`() async throws {
    let world = try await CouchWorld(.real)
    let info = try await world.writer.info()
    #expect(!info.instance.isEmpty)
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `documents come, change and go`(_ place: CouchPlace) async throws {
    let world = try await CouchWorld(place)
    let first = try await world.put("a", #"{"title":"one","done":false,"count":3,"part":0.5}"#)
    let second = try await world.put("b", #"{"title":"two","tags":["x","y"]}"#)
    let report = try await world.pullAndLook { database throws in
      #expect(try database.ids() == ["a", "b"])
      let record = try #require(try database.document("a")).record
      #expect(try record.get("title") == "one")
      #expect(try record.get("done") == false)
      #expect(try record.get("count") == 3)
      #expect(try record.get("part") == 0.5)
      #expect(try database.document("a")?.revision == first)
      #expect(try database.table["b"].listValues("tags") == ["x", "y"])
    }
    #expect(report.documents == 2)
    #expect(report.traffic.requests > 2)
    try await world.put("a", #"{"title":"uno"}"#, over: first)
    try await world.delete("b", second)
    let next = try await world.pullAndLook { database throws in
      #expect(try database.ids() == ["a"])
      let fields = try #require(try database.document("a")).record.fields
      #expect(fields["title"] == "uno")
      #expect(fields["done"] == nil)
    }
    #expect(next.documents == 1)
    #expect(next.deletions == 1)
    let idle = try await world.pull()
    #expect(idle.documents == 0)
    #expect(idle.deletions == 0)
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `design documents stay, and ids of all kinds come`(_ place: CouchPlace) async throws {
    let world = try await CouchWorld(place)
    let ids = [
      "plain", "with space", "slash/ed", "Ünïcode ☃", "=eq", ":colon", "q\"uote", "+a&b?c#d",
    ]
    for id in ids { try await world.put(id, #"{"me":true}"#) }
    try await world.put(String(repeating: "long", count: 40), "{}")
    try await world.put("_design/views", #"{"language":"javascript"}"#)
    let report = try await world.pull {
      $0.docsPerRequest = 2
    } look: { database throws in
      let expected = (ids + [String(repeating: "long", count: 40)]).sorted()
      #expect(try database.ids() == expected)
      for id in expected {
        let document = try #require(try database.document(id))
        #expect(try document.id == id)
        #expect(try document.json.contains(JSONString.quoted(id)))
      }
    }
    #expect(report.designDocuments == 1)
    #expect(report.documents == 9)
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `the winning revision is here, and the others are counted`(_ place: CouchPlace)
    async throws
  {
    let world = try await CouchWorld(place)
    try await world.replicate(
      #"{"_id":"c","_rev":"1-aaa","name":"loses"}"#, #"{"_id":"c","_rev":"1-ccc","name":"wins"}"#,
      #"{"_id":"d","_rev":"1-aaa","name":"alone"}"#)
    var report = try await world.pullAndLook { database throws in
      let document = try #require(try database.document("c"))
      #expect(try document.revision == "1-ccc")
      #expect(try document.record.get("name") == "wins")
      #expect(try document.conflicts == 1)
      #expect(try database.document("d")?.conflicts == 0)
      #expect(try database.statistics().conflictedDocuments == 1)
    }
    #expect(report.conflicted == 1)
    // One more that loses changes nothing but the count.
    try await world.replicate(#"{"_id":"c","_rev":"1-bbb","name":"loses, too"}"#)
    report = try await world.pullAndLook { database throws in
      #expect(try database.document("c")?.conflicts == 2)
      #expect(try database.document("c")?.revision == "1-ccc")
    }
    #expect(report.documents == 1)
    // The winner is deleted: another one wins.
    try await world.delete("c", "1-ccc")
    try await world.pullAndLook { database throws in
      #expect(try database.document("c")?.record.get("name") == "loses, too")
      #expect(try database.document("c")?.conflicts == 1)
    }
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `a database that was made anew under the same name takes the place of the old one`(
    _ place: CouchPlace
  ) async throws {
    let world = try await CouchWorld(place)
    for id in ["a", "b", "c"] { try await world.put(id, #"{"old":true}"#) }
    #expect(try await world.pull().wasRecreated == false)
    try await world.drop()
    // The only mark of it is a time in whole seconds.
    if place == .real { try await Task.sleep(for: .seconds(1.2)) }
    try await world.create()
    try await world.put("b", #"{"new":true}"#)
    try await world.put("d", #"{"new":true}"#)
    let report = try await world.pull {
      $0.changesPerRequest = 1
    } look: { database throws in
      #expect(try database.ids() == ["b", "d"])
      #expect(try database.document("b")?.record.get("new") == true)
      #expect(try database.document("b")?.record.get("old") == nil)
      #expect(try database.state?.isRecreated == false)
    }
    #expect(report.wasRecreated)
    #expect(report.deletions == 2)
    #expect(try await world.pull().wasRecreated == false)
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `a place that the server never gave is the beginning`(_ place: CouchPlace) async throws {
    let world = try await CouchWorld(place)
    try await world.put("a", "{}")
    try await world.pull()
    let store = try world.store()
    let database = try store.database("notes")
    var state = try #require(try database.state)
    state.since = "garbage"
    try database.keep(state)
    let report = try await world.follower(store).pull()
    #expect(report.unchanged == 1)
    #expect(report.documents == 0)
    #expect(try database.ids() == ["a"])
    #expect(try database.sequence != "garbage")
    try store.datastore.close()
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `following brings what changes`(_ place: CouchPlace) async throws {
    let world = try await CouchWorld(place)
    try await world.put("a", "{}")
    let store = try world.store()
    let follower = try world.follower(store) { $0.newsSeconds = 2 }
    let (pulls, continuation) = AsyncStream.makeStream(of: CouchDBReport.self)
    let task = Task {
      try await follower.follow { if case .success(let report) = $0 { continuation.yield(report) } }
    }
    var iterator = pulls.makeAsyncIterator()
    #expect(await iterator.next()?.documents == 1)
    try await world.put("b", "{}")
    #expect(await iterator.next()?.documents == 1)
    #expect(try follower.database.ids() == ["a", "b"])
    follower.abort()
    try await task.value
    try store.datastore.close()
    await world.end()
  }

  @Test(.enabled(if: CouchPlace.hasUser))
  func `a session of a real CouchDB is begun, and does`() async throws {
    let world = try await CouchWorld(.real)
    try await world.put("a", "{}")
    #expect(try await world.pull { $0.usesSession = true }.documents == 1)
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `several databases live in one store, with types and parents of their own`(
    _ place: CouchPlace
  ) async throws {
    let world = try await CouchWorld(place)
    try await world.put("p", #"{"type":"list","name":"home"}"#)
    try await world.put("t1", #"{"type":"task","parent_id":"p","tags":["red"]}"#)
    try await world.put("t2", #"{"type":"task","parent_id":"x","tags":"red"}"#)
    let store = try world.store()
    let notes = try world.follower(store)
    try await notes.pull()
    let other = try CouchDBFollower(
      store.database("other", url: world.url), options: notes.options)
    try await other.pull()
    #expect(try store.databases().map(\.name) == ["notes", "other"])
    let database = notes.database
    #expect(try database.documentTypes() == ["list", "task"])
    #expect(try database.documents(ofType: "task").map { try $0.id }.sorted() == ["t1", "t2"])
    #expect(try database.documents(parent: "p").map { try $0.id } == ["t1"])
    #expect(try database.documents(tagged: "red").count == 2)
    #expect(try database.documents(tagged: "red", ofType: "list").isEmpty)
    let named = Query().where("name", .hasPrefix("ho"))
    #expect(try database.documents(matching: named).map { try $0.type } == ["list"])
    #expect(try database.document("t1")?.parent == "p")
    let kinds = CouchDBStore(store.datastore, typeField: "name", parentField: "type")
    #expect(try kinds.database("notes").documents(ofType: "home").count == 1)
    #expect(try kinds.database("notes").document("t2")?.parent == "task")
    // One is emptied, the other not.
    try database.purge()
    #expect(try database.ids() == [])
    #expect(try database.sequence == nil)
    #expect(try database.url == world.url)
    #expect(try other.database.ids().count == 3)
    #expect(try await notes.pull().documents == 3)
    try database.destroy()
    #expect(try store.databases().map(\.name) == ["other"])
    try store.destroy()
    #expect(try store.databases().isEmpty)
    #expect(try store.datastore.tables().isEmpty)
    try store.datastore.close()
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `requests are as large as the options say`(_ place: CouchPlace) async throws {
    let world = try await CouchWorld(place)
    for index in 0..<25 { try await world.put("d\(index)", "{}") }
    world.memory?.server.clearLog()
    // Besides them one that asks which database it is, and one for changes.
    var requests = try await world.pull {
      ($0.docsPerRequest, $0.maxConcurrentFetches) = (10, 2)
    }.traffic
    #expect(requests.requests - requests.retries == 2 + 3)
    #expect(world.memory?.server.log.count { $0.contains("_all_docs") } ?? 3 == 3)
    try await world.put("d25", "{}")
    try await world.put("d26", "{}")
    // All of a page at once.
    requests = try await world.pull { $0.docsPerRequest = 0 }.traffic
    #expect(requests.requests - requests.retries == 2 + 1)
    await world.end()
  }

  @Test(.timeLimit(.minutes(20)), arguments: [1, 3])
  func `as many requests are under way at once as the options say`(_ most: Int) async throws {
    let world = try await CouchWorld()
    for index in 0..<9 { try await world.put("d\(index)", "{}") }
    let memory = try #require(world.memory)
    // The first ones wait for one another.
    let all = DispatchGroup()
    let arrived = Lock(0)
    let underWay = Lock((now: 0, most: 0))
    for _ in 0..<most { all.enter() }
    memory.set { asked in
      guard asked.path.hasSuffix("_all_docs") else { return nil }
      underWay.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      // Before the answer: whoever has that may ask again at once.
      defer { underWay.withLock { $0.now -= 1 } }
      let number = arrived.withLock {
        $0 += 1
        return $0
      }
      if number <= most {
        all.leave()
        _ = all.wait(timeout: .now() + 60)
      }
      // Those that there must not be, if there are any, get the time to come.
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 0.02)
      return nil
    }
    try await world.pull { ($0.docsPerRequest, $0.maxConcurrentFetches) = (1, most) }
    #expect(underWay.withLock { $0.most } == most)
    #expect(arrived.withLock { $0 } == 9)
  }

  @Test(arguments: CouchPlace.all)
  func `progress rises with each request, documents first`(_ place: CouchPlace) async throws {
    let world = try await CouchWorld(place)
    for index in 0..<7 { try await world.put("d\(index)", #"{"n":\#(index)}"#) }
    let revision = try await world.put("e", "{}")
    let second = try await world.attach("e", revision, "x", [1, 2, 3])
    _ = try await world.attach("e", second, "y", [1, 2, 3, 4])
    let store = try world.store()
    let following = Lock<CouchDBFollower?>(nil)
    let seen = Lock<[CouchDBProgress]>([])
    let follower = try world.follower(store) {
      ($0.docsPerRequest, $0.maxConcurrentFetches, $0.changesPerRequest) = (1, 1, 3)
      $0.beforeRequests {
        guard let progress = following.withLock({ $0 })?.progress else { return }
        seen.withLock { $0.append(progress) }
      }
    }
    following.withLock { $0 = follower }
    try await follower.pull()
    following.withLock { $0 = nil }
    // From the first document on: three pages with eight documents, and two contents.
    let all = seen.withLock { $0 }.filter { $0.documents.total > 0 }
    let first = all.filter { $0.attachments.total == 0 }
    let last = all.filter { $0.attachments.total > 0 }
    #expect(first.count == 10 && last.count == 2)
    #expect(all.allSatisfy { $0.isRunning && $0.documents.total == 8 })
    #expect(first.allSatisfy { $0.fraction < 1 })
    #expect(first.first?.documents.done == 0)
    for (before, after) in zip(first, first.dropFirst()) {
      #expect(before.documents.done <= after.documents.done)
      #expect(before.documents.bytes <= after.documents.bytes)
    }
    // One of them is through before the next is asked for, but for the end of a page.
    #expect((first.last?.documents.done ?? 0) >= 6 && (first.last?.documents.bytes ?? 0) > 0)
    #expect(last.map(\.documents.done) == [8, 8])
    #expect(last.map(\.attachments.total) == [2, 2])
    #expect(last.map(\.attachments.bytes) == [0, 3])
    try store.datastore.close()
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `progress is split, and ends whole`(_ place: CouchPlace) async throws {
    let world = try await CouchWorld(place)
    for index in 0..<7 { try await world.put("d\(index)", #"{"n":\#(index)}"#) }
    let revision = try await world.put("e", "{}")
    _ = try await world.attach("e", revision, "x.bin", [1, 2, 3])
    let store = try world.store()
    let follower = try world.follower(store) { $0.changesPerRequest = 3 }
    #expect(follower.progress.fraction == 1)
    #expect(follower.progress.startedAt == nil)
    var seen: [CouchDBProgress] = []
    let changes = follower.progressChanges
    try await follower.pull()
    for await progress in changes {
      seen.append(progress)
      if !progress.isRunning { break }
    }
    let end = follower.progress
    #expect((end.documents.done, end.documents.total) == (8, 8))
    #expect((end.attachments.done, end.attachments.total) == (1, 1))
    #expect(end.attachments.bytes == 3)
    #expect(end.documents.bytes > 100)
    #expect(end.bytes == end.documents.bytes + 3)
    #expect(end.startedAt != nil)
    #expect(end.fraction == 1)
    #expect(seen.last == end)
    try store.datastore.close()
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `tables that have records of the app are not taken over`(_ place: CouchPlace) async throws {
    let world = try await CouchWorld(place)
    try await world.put("a", "{}")
    let store = try world.store()
    let endings = ["", ".attachments", ".parts", ".waiting"]
    for (index, ending) in endings.enumerated() {
      let name = "own\(index)"
      try store.datastore.table(name + ending).insert(["text": "mine"], id: "a")
      #expect {
        try store.database(name, url: world.url)
      } throws: { ($0 as? CairnError)?.code == .exists }
      #expect(try store.datastore.table(name + ending)["a"].string("text") == "mine")
    }
    #expect(try store.databases().isEmpty)
    // One that was pulled is opened again, of course.
    try await world.follower(store).pull()
    #expect(try store.database("notes", url: world.url).ids() == ["a"])
    try store.datastore.close()
    await world.end()
  }

  @Test func `another address is another database, whatever its server says`() async throws {
    let world = try await CouchWorld()
    for id in ["a", "b", "c"] { try await world.put(id, "{}") }
    let memory = try #require(world.memory)
    // As servers do that do not know when a database was created.
    memory.change(world.name) { $0.instance = "0" }
    try await world.pull()
    let second = world.placeDatabase("second", ["z"])
    let store = try world.store()
    let options = try world.follower(store).options
    let database = try store.database("notes", url: second)
    let report = try await CouchDBFollower(database, options: options).pull()
    #expect(report.wasRecreated)
    #expect(try database.ids() == ["z"])
    try store.datastore.close()
  }

  @Test func `what no record can hold is left out, and keeps nothing else away`() async throws {
    let world = try await CouchWorld()
    let long = String(repeating: "x", count: 200_000)
    try await world.put("a", "{}")
    world.placeDocument(long)
    world.placeDocument("q", revision: "1-" + long)
    world.placeDocument("p", [long: 3, "i.png": 3])
    try await world.put("b", "{}")
    let report = try await world.pull {
      ($0.policy, $0.changesPerRequest) = (.documentsOnly, 2)
    } look: { database throws in
      #expect(try database.ids() == ["a", "b", "p"])
      #expect(try database.document("p")?.attachments().map { try $0.name } == ["i.png"])
      #expect(try database.statistics().waitingDocuments == 0)
    }
    #expect(report.documents == 3)
    #expect(report.problems.count == 3)
    #expect(report.problems.allSatisfy { $0.utf8.count < 300 && $0.contains("is left out") })
    #expect(try await world.pull { $0.policy = .documentsOnly }.problems.isEmpty)
  }

  @Test func `a document goes whose revisions have become too many for a record`() async throws {
    let world = try await CouchWorld(limits: Limits(recordBytes: 4096))
    let id = String(repeating: "d", count: 36)
    let live = "1-" + String(repeating: "f", count: 32)
    try await world.replicate("{\"_id\":\"\(id)\",\"_rev\":\"\(live)\"}")
    try await world.pullAndLook { database throws in
      #expect(try database.ids() == [id])
      #expect(database.textMax == 512)
    }
    // With the one that deletes it, these and the id have more than that.
    for index in 10..<24 {
      let revision = "1-" + String(repeating: "0", count: 30) + String(index)
      try await world.replicate("{\"_id\":\"\(id)\",\"_rev\":\"\(revision)\",\"_deleted\":true}")
    }
    try await world.delete(id, live)
    let report = try await world.pullAndLook { database throws in
      #expect(try database.ids() == [])
    }
    #expect(report.deletions == 1)
    #expect(report.problems == [])
  }
}
