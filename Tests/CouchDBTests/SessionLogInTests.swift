import Cairn
import CairnDisk
import CairnHTTP
import Synchronization
import Testing

@testable import CairnCouchDB
@testable import TestServers

/// What requests carry while a session begins, and after that.
@Suite struct SessionLogInTests {
  @Test func `a log-in carries no cookie, and everything else the last one`() throws {
    let cookies = SessionAuthorizer()
    func sent(_ method: String, _ path: String) throws -> [String] {
      let request = HTTPRequest(method, "https://host", path, accepted: [200])
      return try cookies.headers(for: request, nil, now: 0).map { "\($0.name): \($0.value)" }
    }
    #expect(try sent("GET", "/db/_changes") == [])
    cookies.end("AuthSession=one")
    #expect(try sent("POST", "/_session") == [])
    #expect(try sent("POST", "/prefix/_session") == [])
    for path in ["/db/_changes", "/my_session", "/_session/a"] {
      #expect(try sent("GET", path) == ["Cookie: AuthSession=one"], "\(path)")
    }
    cookies.end("AuthSession=two")
    #expect(try sent("GET", "/db/_changes") == ["Cookie: AuthSession=two"])
  }

  /// A server that wants a log-in, with one document.
  private func world() async throws -> (CouchWorld, MemoryCouch) {
    let world = try await CouchWorld()
    try await world.put("a", "{}")
    let memory = try #require(world.memory)
    memory.setUser("ana", "new")
    memory.server.clearLog()
    return (world, memory)
  }

  @Test(arguments: ["old", nil] as [String?])
  func `a log-in that is refused asks for credentials once more, and is made anew with those`(
    _ first: String?
  ) async throws {
    let (world, memory) = try await world()
    let calls = Lock(0)
    let store = try world.store()
    let follower = try world.follower(store) {
      $0.usesSession = true
      $0.server.credentials = .closure { () async throws(CairnError) -> Credentials? in
        let count = calls.withLock { calls in
          calls += 1
          return calls
        }
        let password = count == 1 ? first : "new"
        return password.map { Credentials.password(user: "ana", password: $0) }
      }
    }
    #expect(try await follower.pull().documents == 1)
    // Without any nobody tries to log in.
    let logIns = first == nil ? 1 : 2
    #expect(memory.server.log.count { $0 == "POST /_session" } == logIns)
    #expect(calls.withLock { $0 } == 2)
    // When the session has ended they are still good.
    memory.endSessions()
    #expect(try await follower.pull().documents == 0)
    #expect(memory.server.log.count { $0 == "POST /_session" } == logIns + 1)
    #expect(calls.withLock { $0 } == 2)
    try store.datastore.close()
  }

  @Test func `a log-in that is refused twice is refused, and nothing else is asked`()
    async throws
  {
    let (world, memory) = try await world()
    let calls = Lock(0)
    let store = try world.store()
    let follower = try world.follower(store) {
      $0.usesSession = true
      $0.server.credentials = .closure { () async throws(CairnError) -> Credentials? in
        let count = calls.withLock { calls in
          calls += 1
          return calls
        }
        return .password(user: "ana", password: "wrong \(count)")
      }
    }
    await #expect { try await follower.pull() } throws: { ($0 as? CairnError)?.code == .auth }
    #expect(memory.server.log == ["POST /_session", "POST /_session"])
    #expect(calls.withLock { $0 } == 2)
    try store.datastore.close()
  }

  @Test func `an abort does not wait for a source of credentials that takes its time`()
    async throws
  {
    let (world, memory) = try await world()
    let isAsked = Lock(false)
    let mayEnd = Lock(false)
    let hasEnded = Lock(false)
    let store = try world.store()
    let follower = try world.follower(store) {
      $0.usesSession = true
      $0.server.credentials = .closure { () async throws(CairnError) -> Credentials? in
        isAsked.withLock { $0 = true }
        // Whoever is cancelled. But a test that fails has an end, too.
        for _ in 0..<100_000 where !mayEnd.withLock({ $0 }) { await Task.yield() }
        hasEnded.withLock { $0 = true }
        return .password(user: "ana", password: "new")
      }
    }
    let pull = Task { () async -> CairnError.Code? in
      do throws(CairnError) { _ = try await follower.pull() } catch { return error.code }
      return nil
    }
    while !isAsked.withLock({ $0 }) { await Task.yield() }
    follower.abort()
    #expect(await pull.value == .cancelled)
    #expect(!hasEnded.withLock { $0 })
    #expect(memory.server.log == [])
    // What it says after all is an answer for the next one.
    mayEnd.withLock { $0 = true }
    #expect(try await follower.pull().documents == 1)
    try store.datastore.close()
  }

  @Test func `whoever is cancelled leaves a log-in to the others who wait for it`() async throws {
    let (world, memory) = try await world()
    let calls = Lock(0)
    let isLeft = Lock(false)
    let mayEnd = Lock(false)
    let store = try world.store()
    let follower = try world.follower(store) {
      $0.usesSession = true
      $0.server.credentials = .closure { () async throws(CairnError) -> Credentials? in
        let count = calls.withLock { calls in
          calls += 1
          return calls
        }
        if count == 1 { return .password(user: "ana", password: "new") }
        while !Task.isCancelled, !mayEnd.withLock({ $0 }) { await Task.yield() }
        isLeft.withLock { $0 = true }
        return .password(user: "ana", password: "newer")
      }
    }
    let results = Lock<[String]>([])
    let note: @Sendable (Result<CouchDBReport, CairnError>) -> Void = { result in
      let text =
        switch result {
        case .success(let report): "\(report.documents)"
        case .failure(let error): error.code.rawValue
        }
      let count = results.withLock { results in
        results.append(text)
        return results.count
      }
      if count > 1 { return follower.abort() }
      // The request for news is refused, and logs in.
      memory.setUser("ana", "newer")
      memory.endSessions()
    }
    let follow = Task { () async -> CairnError.Code? in
      do throws(CairnError) { try await follower.follow(onPull: note) } catch { return error.code }
      return nil
    }
    while calls.withLock({ $0 }) < 2 { await Task.yield() }
    // When a pull has joined can't be seen from here: it is tried until one had before it ended.
    var yields = 100
    while !isLeft.withLock({ $0 }) {
      let asked = memory.server.count
      let pull = Task { try await follower.pull() }
      while memory.server.count == asked { await Task.yield() }
      for _ in 0..<yields { await Task.yield() }
      yields = min(yields * 2, 1 << 20)
      pull.cancel()
      _ = await pull.result
    }
    world.placeDocument("b")
    mayEnd.withLock { $0 = true }
    #expect(await follow.value == nil)
    #expect(results.withLock { $0 } == ["1", "1"])
    try store.datastore.close()
  }
}
