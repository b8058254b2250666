import Cairn
import CairnDisk
import Synchronization
import Testing

@testable import CairnCouchDB
@testable import TestServers

/// Servers that say there is something new, whether there is or not.
@Suite struct VainNewsTests {
  @Test func `following a server that lists everything each time comes slower and slower`()
    async throws
  {
    let world = try await CouchWorld()
    let memory = try #require(world.memory)
    for id in ["a", "b"] { try await world.put(id, "{}") }
    let name = world.name
    let store = try world.store()
    let pauses = Lock<[Double]>([])
    let reports = Lock<[Int]>([])
    let following = Lock<CouchDBFollower?>(nil)
    let follower = try world.follower(store) { options in
      options.pause = { seconds in
        let count = pauses.withLock {
          $0.append(seconds)
          return $0.count
        }
        if count == 4 { following.withLock { $0 }?.abort() }
      }
    }
    following.withLock { $0 = follower }
    // As behind a proxy that drops where to go on.
    memory.set { asked in
      guard asked.path.hasSuffix("_changes"), asked.query["since"] != nil else { return nil }
      var asked = asked
      asked.query["since"] = nil
      return memory.changes(asked, name)
    }
    try await follower.follow { result in
      guard case .success(let report) = result else { return }
      let count = reports.withLock {
        $0.append(report.documents)
        return $0.count
      }
      // Who does not notice would ask for ever.
      if count == 20 { follower.abort() }
    }
    #expect(reports.withLock { $0 } == [2, 0, 0, 0, 0])
    #expect(pauses.withLock { $0 } == [1, 2, 4, 8])
    following.withLock { $0 = nil }
    memory.heal()
    try store.datastore.close()
  }

  @Test func `news of documents that are left on the server delay no others`() async throws {
    let world = try await CouchWorld()
    try await world.put("x0", "{}")
    let store = try world.store()
    let pauses = Lock<[Double]>([])
    let reports = Lock<[Int]>([])
    let follower = try world.follower(store) { options in
      options.policy = CouchDBPolicy(document: { _ in .leave })
      options.pause = { seconds in pauses.withLock { $0.append(seconds) } }
    }
    try await follower.follow { result in
      guard case .success(let report) = result else { return }
      let count = reports.withLock {
        $0.append(report.left)
        return $0.count
      }
      if count == 4 { follower.abort() } else { world.placeDocument("x\(count)") }
    }
    #expect(reports.withLock { $0 } == [1, 1, 1, 1])
    #expect(pauses.withLock { $0 } == [])
    try store.datastore.close()
  }
}
