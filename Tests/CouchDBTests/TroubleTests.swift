import Cairn
import CairnDisk
import CairnHTTP
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CairnCouchDB
@testable import TestServers

/// What servers and networks do to a pull.
@Suite struct TroubleTests {
  private func filled(_ place: CouchPlace) async throws -> CouchWorld {
    let world = try await CouchWorld(place)
    for id in ["a", "b", "c"] { try await world.put(id, #"{"id":"\#(id)"}"#) }
    return world
  }

  private func world() async throws -> (CouchWorld, MemoryCouch) {
    let world = try await filled(.memory)
    return (world, try #require(world.memory))
  }

  private func code(
    _ world: CouchWorld, _ change: (inout CouchDBOptions) -> Void = { _ in }
  ) async throws -> CairnError.Code? {
    do {
      try await world.pull(change)
      return nil
    } catch let error as CairnError { return error.code }
  }

  @Test(arguments: CouchPlace.all)
  func `a database that is not there is not found, and nothing is removed here`(
    _ place: CouchPlace
  ) async throws {
    let world = try await filled(place)
    try await world.pull()
    try await world.drop()
    #expect(try await code(world) == .notFound)
    let store = try world.store()
    #expect(try store.database("notes").ids() == ["a", "b", "c"])
    try store.datastore.close()
  }

  @Test func `a user and a password are sent with each request`() async throws {
    let (world, memory) = try await world()
    memory.setUser("ana", "pass-word")
    #expect(try await code(world) == .auth)
    let right = CredentialSource.given(.password(user: "ana", password: "pass-word"))
    #expect(try await code(world) { $0.server.credentials = right } == nil)
    let wrong = CredentialSource.given(.password(user: "ana", password: "other"))
    #expect(try await code(world) { $0.server.credentials = wrong } == .auth)
    let files = try FileManager.default.subpathsOfDirectory(atPath: world.directory.path)
    for file in files {
      let content = FileManager.default.contents(atPath: world.directory.path(file)) ?? Data()
      #expect(content.range(of: Data("pass-word".utf8)) == nil, "\(file)")
    }
  }

  @Test func `a session logs in once, and again when it has ended`() async throws {
    let (world, memory) = try await world()
    memory.setUser("ana", "pass-word")
    let store = try world.store()
    let follower = try world.follower(store) {
      $0.usesSession = true
      $0.docsPerRequest = 1
      $0.server.credentials = .given(.password(user: "ana", password: "pass-word"))
    }
    memory.server.clearLog()
    try await follower.pull()
    #expect(memory.server.log.count { $0 == "POST /_session" } == 1)
    memory.endSessions()
    #expect(try await follower.pull().documents == 0)
    #expect(memory.server.log.count { $0 == "POST /_session" } == 2)
    try store.datastore.close()
    let wrong = CredentialSource.given(.password(user: "ana", password: "other"))
    #expect(
      try await code(world) { ($0.usesSession, $0.server.credentials) = (true, wrong) } == .auth)
    let token = CredentialSource.given(.bearer("x"))
    #expect(
      try await code(world) { ($0.usesSession, $0.server.credentials) = (true, token) } == .auth)
  }

  @Test(.timeLimit(.minutes(20)))
  func `credentials that somebody does not give end following with an error`() async throws {
    let (world, _) = try await world()
    let store = try world.store()
    let follower = try world.follower(store) {
      $0.server.credentials = .closure { () async throws(CairnError) -> Credentials? in
        throw CairnError(.cancelled, "not now")
      }
    }
    let codes = Lock<[CairnError.Code]>([])
    var end: CairnError.Code?
    do throws(CairnError) {
      try await follower.follow { result in
        if case .failure(let error) = result { codes.withLock { $0.append(error.code) } }
      }
    } catch { end = error.code }
    #expect(end == .cancelled)
    #expect(codes.withLock { $0 } == [.cancelled])
    #expect(try follower.database.ids() == [])
    try store.datastore.close()
  }

  @Test(arguments: [429, 503]) func `a busy server is believed`(_ status: Int) async throws {
    let (world, memory) = try await world()
    let pauses = Lock<[Double]>([])
    let count = Lock(0)
    memory.set { _ in
      count.withLock {
        $0 += 1
        return $0
      } % 3 == 1
        ? .answer(status, [("Retry-After", "7")]) : nil
    }
    let code = try await code(world) { options in
      options.pause = { seconds in pauses.withLock { $0.append(seconds) } }
    }
    #expect(code == nil)
    let all = pauses.withLock { $0 }
    #expect(!all.isEmpty)
    // And a little more, so that not all come back at once.
    #expect(all.allSatisfy { (7...7.7).contains($0) })
    memory.set { _ in .answer(status, [("Retry-After", "3600")]) }
    #expect(try await self.code(world) == .retryLater)
  }

  @Test func `connections that break are tried again, wherever they break`() async throws {
    let (world, memory) = try await world()
    let revision = try await world.put("e", "{}")
    _ = try await world.attach("e", revision, "t.txt", Array("hello".utf8), type: "text/plain")
    for fault in 0..<3 {
      let count = Lock(0)
      memory.set { _ in
        guard
          count.withLock({
            $0 += 1
            return $0
          }) % 2 == 1
        else { return nil }
        return switch fault {
        case 0: .hangUp
        case 1: .cut(200, [("Content-Type", "application/json")], Array("{\"res".utf8), says: 500)
        default: .answer(500)
        }
      }
      let store = try world.store()
      let database = try store.database("notes")
      try database.purge()
      let report = try await world.follower(store).pull()
      #expect(report.documents == 4, "fault \(fault)")
      #expect(report.attachments == 1, "fault \(fault)")
      #expect(report.traffic.retries > 0)
      try store.datastore.close()
      memory.heal()
    }
  }

  @Test func `answers that are not CouchDB's are refused`() async throws {
    let (world, memory) = try await world()
    let bodies = [
      "{}", "[]", "null", "{\"results\":[{}],\"last_seq\":\"1\"}", "{\"results\":[]",
      "{\"results\":[{\"id\":1}],\"last_seq\":1}", "", "{\"results\":[],\"last_seq\":null}",
      "<html>log in</html>",
    ]
    for body in bodies {
      memory.set { asked in
        asked.path.hasSuffix("_changes") ? .text(200, body, type: MemoryCouch.json) : nil
      }
      #expect(try await code(world) == .response, "\(body)")
    }
    // A document that was not asked for, or one that is missing without a word.
    for rows in ["[]", #"[{"key":"x","error":"not_found"}]"#, #"[{"key":"a","doc":{"_id":"b"}}]"#] {
      memory.set { asked in
        asked.path.hasSuffix("_all_docs")
          ? .text(200, "{\"rows\":\(rows)}", type: MemoryCouch.json) : nil
      }
      #expect(try await code(world) == .response, "\(rows)")
    }
    memory.heal()
    let store = try world.store()
    #expect(try store.database("notes").ids() == [])
    #expect(try store.database("notes").sequence == nil)
    try store.datastore.close()
    #expect(try await code(world) == nil)
  }

  @Test func `following waits for a network that comes back`() async throws {
    let (world, memory) = try await world()
    let store = try world.store()
    let pauses = Lock<[Double]>([])
    let follower = try world.follower(store) { options in
      options.newsSeconds = 1
      options.server.attempts = 1
      options.pause = { seconds in
        if pauses.withLock({
          $0.append(seconds)
          return $0.count
        }) == 3 {
          memory.heal()
        }
      }
    }
    memory.set { _ in .answer(503) }
    let results = Lock<[Bool]>([])
    try await follower.follow { result in
      let isSuccess = if case .success = result { true } else { false }
      results.withLock { $0.append(isSuccess) }
      if isSuccess { follower.abort() }
    }
    #expect(results.withLock { $0 } == [false, false, false, true])
    #expect(pauses.withLock { $0 } == [1, 2, 4])
    // What waiting can't mend ends it.
    memory.setUser("ana", "x")
    await #expect { try await follower.follow() } throws: { ($0 as? CairnError)?.code == .auth }
    try store.datastore.close()
  }

  @Test func `addresses that can't be are refused`() throws {
    for text in [
      "", "couch", "ftp://host/db", "https://host", "https://host/", "http://example.com/db",
      "https://ana:secret@host/db", "https://host/db?x=1", "https://host/db#x", "https:///db",
    ] {
      #expect(throws: CairnError.self, "\(text)") { try CouchAddress(text) }
      do throws(CairnError) { _ = try CouchAddress(text) } catch {
        #expect(error.code == .illegalArgument)
        #expect(!error.message.contains("secret"))
      }
    }
    let address = try CouchAddress("https://host:6984/proxy/a%2Fb")
    #expect(address.path("_changes") == "/proxy/a%2Fb/_changes")
    #expect(address.serverPath("_session") == "/proxy/_session")
    #expect(address.text == "https://host:6984/proxy/a%2Fb")
  }

  @Test func `counts and limits that can't be are borne`() async throws {
    let (world, memory) = try await world()
    memory.set { asked in
      guard asked.path.hasSuffix("_changes") else { return nil }
      let rows =
        asked.query["since"] == nil
        ? #"{"id":"a","changes":[{"rev":"1-x"}],"deleted":true}"# : ""
      return .text(
        200, "{\"results\":[\(rows)],\"last_seq\":\"x\",\"pending\":9223372036854775807}",
        type: MemoryCouch.json)
    }
    #expect(try await code(world) == nil)
    memory.heal()
    let report = try await world.pull { $0.answerBytes = -1 }
    #expect(report.problems.count == 3)
    var progress = CouchDBProgress()
    (progress.documents.total, progress.attachments.total) = (.max, .max)
    #expect(progress.fraction == 0)
  }

  @Test func `ids that Unicode takes for the same are two documents`() async throws {
    let (world, memory) = try await world()
    let twins = ["caf\u{E9}", "cafe\u{301}"]
    // One answers in the name of the other, or leaves it out.
    for rows in [[0, 0], [0], [1, 1]] {
      memory.set { asked in
        asked.path.hasSuffix("_changes")
          ? Self.changes(twins)
          : asked.path.hasSuffix("_all_docs") ? Self.documents(rows.map { twins[$0] }) : nil
      }
      #expect(try await code(world) == .response)
    }
    memory.set { asked in
      if asked.path.hasSuffix("_changes") {
        return asked.query["since"] == "x" ? Self.changes([]) : Self.changes(twins)
      }
      guard asked.path.hasSuffix("_all_docs") else { return nil }
      if asked.method == "POST" { return Self.documents(twins) }
      // In pages of two, which begin with the last of the page before.
      let order = ["a", twins[1], twins[0]]
      let start = asked.query["startkey"] == nil ? 0 : 1
      return Self.documents(Array(order[start..<min(3, start + 2 + start)]))
    }
    let store = try world.store()
    let follower = try world.follower(store) { $0.changesPerRequest = 2 }
    #expect(try await follower.pull().documents == 2)
    for id in twins {
      let document = try #require(try follower.database.document(id))
      #expect(try Array(document.id.utf8) == Array(id.utf8))
    }
    // And none of them is taken for a stranger.
    var state = try #require(try follower.database.state)
    state.isRecreated = true
    try follower.database.keep(state)
    #expect(try await follower.pull().deletions == 0)
    #expect(memory.server.log.contains { $0.hasPrefix("GET ") && $0.hasSuffix("/_all_docs") })
    #expect(try follower.database.state?.isRecreated == false)
    #expect(try follower.database.documents().count == 2)
    try store.datastore.close()
  }

  static func changes(_ ids: [String], next: String = "x") -> Reply {
    let rows = ids.map { id in
      "{\"id\":\(JSONString.quoted(id)),\"changes\":[{\"rev\":\"1-\(id.utf8.count)\"}]}"
    }
    return .text(
      200, "{\"results\":[\(rows.joined(separator: ","))],\"last_seq\":\"\(next)\"}",
      type: MemoryCouch.json)
  }

  private static func documents(_ ids: [String]) -> Reply {
    let rows = ids.map { id in
      let name = JSONString.quoted(id)
      return """
        {"id":\(name),"key":\(name),"value":{"rev":"1-\(id.utf8.count)"},\
        "doc":{"_id":\(name),"_rev":"1-\(id.utf8.count)"}}
        """
    }
    return .text(200, "{\"rows\":[\(rows.joined(separator: ","))]}", type: MemoryCouch.json)
  }

  @Test(arguments: [(429, 1), (503, 1), (500, 3)])
  func `attachments are not asked of a server in trouble one after the other`(
    _ status: Int, _ count: Int
  ) async throws {
    let (world, memory) = try await world()
    var revision = try await world.put("e", "{}")
    for index in 0..<8 { revision = try await world.attach("e", revision, "x\(index)", [1]) }
    memory.set { asked in
      // One that says when to come back is not asked again at all.
      guard asked.path.contains("/e/") else { return nil }
      return .answer(status, status == 500 ? [] : [("Retry-After", "3600")])
    }
    memory.server.clearLog()
    let code = try await code(world) { options in
      (options.maxConcurrentFetches, options.server.attempts) = (1, 1)
    }
    #expect(code != nil)
    // Another one may be under way when it is told.
    let asked = memory.server.log.count { $0.contains("/e/") }
    #expect(asked >= count && asked <= count + 1)
    memory.heal()
    #expect(try await world.pull().attachments == 8)
  }

  @Test func `following comes back when the server said`() async throws {
    let (world, memory) = try await world()
    let store = try world.store()
    let pauses = Lock<[Double]>([])
    let follower = try world.follower(store) { options in
      // Nothing is sent before the time that the server said, whoever waits for how long.
      options.server.attempts = 1
      options.pause = { seconds in
        pauses.withLock { $0.append(seconds) }
        memory.heal()
        try await Task.sleep(for: .seconds(min(seconds, 2)))
      }
    }
    memory.set { _ in .answer(503, [("Retry-After", "1")]) }
    try await follower.follow { result in
      if case .success = result { follower.abort() }
    }
    let all = pauses.withLock { $0 }
    #expect((all.first ?? 0) >= 1 && all.count < 5)
    try store.datastore.close()
  }

  @Test func `requests for news that are answered at once and empty come slower and slower`()
    async throws
  {
    let (world, memory) = try await world()
    let store = try world.store()
    let pauses = Lock<[Double]>([])
    let following = Lock<CouchDBFollower?>(nil)
    let follower = try world.follower(store) { options in
      (options.newsSeconds, options.server.stallSeconds) = (3600, 7200)
      options.pause = { seconds in
        let count = pauses.withLock {
          $0.append(seconds)
          return $0.count
        }
        if count == 4 { following.withLock { $0 }?.abort() }
      }
    }
    following.withLock { $0 = follower }
    memory.set { asked in
      asked.query["feed"] == "longpoll"
        ? .text(200, #"{"results":[],"last_seq":"0"}"#, type: MemoryCouch.json) : nil
    }
    try await follower.follow()
    #expect(pauses.withLock { $0 } == [1, 2, 4, 8])
    following.withLock { $0 = nil }
    try store.datastore.close()
  }

  @Test(arguments: CouchPlace.all)
  func `a document that was too large is not fetched again into the same room`(
    _ place: CouchPlace
  ) async throws {
    let world = try await filled(place)
    try await world.put("big", "{\"text\":\"\(String(repeating: "x", count: 5000))\"}")
    let small: (inout CouchDBOptions) -> Void = { $0.answerBytes = 3000 }
    #expect(try await world.pull(small).problems.count == 1)
    world.memory?.server.clearLog()
    let report = try await world.pull(small)
    #expect(report.problems.count == 1)
    // Which database it is, and that nothing has changed.
    #expect(report.traffic.requests - report.traffic.retries == 2)
    #expect(world.memory?.server.log.contains { $0.contains("_all_docs") } != true)
    #expect(try await world.pull().documents == 1)
    await world.end()
  }

  @Test func `a list that begins anew with each page ends, and removes nothing`() async throws {
    let (world, memory) = try await world()
    try await world.pull()
    let store = try world.store()
    let follower = try world.follower(store) { $0.changesPerRequest = 2 }
    var state = try #require(try follower.database.state)
    state.isRecreated = true
    try follower.database.keep(state)
    memory.set { asked in
      asked.path.hasSuffix("_all_docs") && asked.method == "GET"
        ? Self.documents(["a", "b", "x"]) : nil
    }
    await #expect { try await follower.pull() } throws: { ($0 as? CairnError)?.code == .response }
    #expect(try follower.database.ids() == ["a", "b", "c"])
    memory.heal()
    try await follower.pull()
    #expect(try follower.database.ids() == ["a", "b", "c"])
    #expect(try follower.database.state?.isRecreated == false)
    try store.datastore.close()
  }

  /// Also where each answer names the place at its end by another text.
  @Test(arguments: [true, false])
  func `changes that begin anew with each page end, and what came of them is kept`(
    namesSamePlace: Bool
  ) async throws {
    let (world, memory) = try await world()
    let pages = Lock(0)
    memory.set { asked in
      if asked.path.hasSuffix("_all_docs") { return Self.documents(["a", "b"]) }
      guard asked.path.hasSuffix("_changes") else { return nil }
      let count = pages.withLock {
        $0 += 1
        return $0
      }
      // Who does not notice would ask for ever.
      if count > 20 { return .answer(500) }
      return Self.changes(["a", "b"], next: namesSamePlace ? "x" : "x\(count)")
    }
    let store = try world.store()
    let follower = try world.follower(store) { $0.changesPerRequest = 2 }
    let error = await #expect(throws: CairnError.self) { try await follower.pull() }
    #expect(error?.code == .response && error?.message.contains("since") == true)
    #expect(pages.withLock { $0 } == 2)
    #expect(try follower.database.sequence == (namesSamePlace ? "x" : "x2"))
    #expect(try follower.database.ids() == ["a", "b"])
    memory.heal()
    let report = try await follower.pull()
    #expect(report.wasRecreated && report.documents == 3)
    #expect(try follower.database.ids() == ["a", "b", "c"])
    try store.datastore.close()
  }

  @Test func `a session that ends under several requests is begun again once`() async throws {
    let (world, memory) = try await world()
    for index in 0..<20 { try await world.put("x\(index)", "{}") }
    memory.setUser("ana", "pass-word")
    let hasEnded = Lock(false)
    memory.set { asked in
      guard asked.path.hasSuffix("_all_docs") else { return nil }
      let isFirst = hasEnded.withLock { hasEnded in
        defer { hasEnded = true }
        return !hasEnded
      }
      if isFirst { memory.endSessions() }
      return nil
    }
    memory.server.clearLog()
    let report = try await world.pull {
      ($0.usesSession, $0.docsPerRequest, $0.maxConcurrentFetches) = (true, 1, 6)
      $0.server.credentials = .given(.password(user: "ana", password: "pass-word"))
    }
    #expect(report.documents == 23)
    #expect(memory.server.log.count { $0 == "POST /_session" } == 2)
  }
}
