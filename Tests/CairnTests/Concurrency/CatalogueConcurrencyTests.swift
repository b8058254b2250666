import Cairn
import TestSupport
import Testing

/// Several threads and managers on one root, and another root beside it.
@Suite struct CatalogueConcurrencyTests {
  @Test func `lists, deletes and exchanges on many threads leave one list`() async throws {
    let place = try TemporaryDirectory()
    var options = Options()
    options.durability = .none
    let account = Account(user: "ann", folder: .directory(place.path("folder")))
    let managers = try ["a", "a", "b"].map {
      try DatastoreManager(root: place.path($0), account: account, options: options)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, manager) in managers.enumerated() {
        for seed in 0..<2 {
          group.addTask {
            try await Self.work(manager, SeededRandom(UInt64(number * 10 + seed)))
          }
        }
      }
      try await group.waitForAll()
    }
    for _ in 0..<3 { for manager in managers { try await manager.refresh() } }
    let lists = try managers.map { try $0.ids() }
    #expect(lists[0] == lists[1] && lists[1] == lists[2])
    for manager in managers { try manager.shutDown() }
    let next = try DatastoreManager(root: place.path("a"), account: account, options: options)
    for id in try next.ids() { try next.openDatastore(id).close() }
  }

  private static func work(_ manager: DatastoreManager, _ random: SeededRandom) async throws {
    for _ in 0..<40 {
      let id = "n\(random.below(4))"
      do {
        try await step(manager, id, random.below(5))
      } catch {
        // What others do meanwhile may be in the way, and nothing else.
        let expected: [CairnError.Code] = [.notFound, .alreadyOpen, .deleted]
        guard let code = (error as? CairnError)?.code, expected.contains(code) else { throw error }
      }
    }
  }

  private static func step(
    _ manager: DatastoreManager, _ id: String, _ choice: Int
  ) async throws {
    switch choice {
    case 0: try manager.deleteDatastore(id)
    case 1: _ = try manager.listDatastores()
    case 2: try await manager.refresh()
    case 3: try manager.uncacheDatastore(id)
    default:
      let datastore = try manager.openOrCreateDatastore(id)
      try datastore.setTitle(id)
      try datastore.sync()
      try await datastore.exchange()
      try datastore.close()
    }
  }
}
