import Cairn
import CairnDisk
import CairnHTTP
import Synchronization
import TestSupport
import Testing

@testable import CairnCouchDB
@testable import TestServers

/// Databases that are another one under the same name from some time on.
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
}
