import Cairn
import TestSupport
import Testing

/// Three devices create, edit, delete and create again in random order, and a model that has only
/// sets and numbers says what has to be left.
@Suite struct CatalogueSimulationTests {
  /// What has to come of it: a datastore is its id and how often it was deleted before.
  private struct Model {
    struct Key: Hashable {
      var id: String
      var generation: Int
    }

    /// How often each device, and the folder, has seen each id deleted.
    var seen: [String: [String: Int]] = [:]
    /// Who has, and who has told the folder of, which datastores.
    var known: [String: Set<Key>] = [:]
    var records: [Key: Set<String>] = [:]

    func generation(_ place: String, _ id: String) -> Int { seen[place]?[id] ?? 0 }
    func key(_ place: String, _ id: String) -> Key {
      Key(id: id, generation: generation(place, id))
    }

    func list(_ place: String) -> [String] {
      Set(known[place, default: []].filter { $0.generation == generation(place, $0.id) }.map(\.id))
        .sorted()
    }

    mutating func delete(_ device: String, _ id: String) {
      seen[device, default: [:]][id] = generation(device, id) + 1
    }

    mutating func meet(_ a: String, _ b: String) {
      let all = seen[a, default: [:]].merging(seen[b, default: [:]], uniquingKeysWith: max)
      let both = known[a, default: []].union(known[b, default: []])
      for place in [a, b] { (seen[place], known[place]) = (all, both) }
    }
  }

  private final class Crowd {
    let bench: CatalogueBench
    let names = ["a", "b", "c"]
    let ids = ["x", "y", ".Z"]
    var managers: [String: DatastoreManager] = [:]
    var open: [String: [String: Datastore]] = [:]
    var model = Model()
    private var number = 0
    private var published: Set<String> = []

    init(seed: UInt64) {
      bench = CatalogueBench(seed: seed)
      for name in names { managers[name] = bench.manager(name) }
    }

    func manager(_ name: String) throws -> DatastoreManager { try #require(managers[name]) }

    func step() async throws {
      let name = names[bench.random.below(3)]
      let id = ids[bench.random.below(3)]
      bench.clock.advance(by: 1)
      switch bench.random.below(12) {
      case 0, 1: try create(name, id)
      case 2, 3, 4: try await edit(name, id)
      case 5: try delete(name, id)
      case 6: try close(name, id)
      case 7, 8: try await refresh(name)
      case 9, 10:
        guard let datastore = open[name]?[id], await datastore.exchangeError() == nil
        else { return }
        try datastore.sync()
      default:
        // The app ends and starts again.
        try manager(name).shutDown()
        (open[name], managers[name]) = ([:], bench.manager(name))
      }
    }

    private func create(_ name: String, _ id: String) throws {
      guard open[name]?[id] == nil else { return }
      open[name, default: [:]][id] = try manager(name).openOrCreateDatastore(id)
      model.known[name, default: []].insert(model.key(name, id))
    }

    private func edit(_ name: String, _ id: String) async throws {
      guard let datastore = open[name]?[id] else { return }
      number += 1
      let isThere = model.known[name, default: []].contains(model.key(name, id))
      let error = code { try datastore.add("r\(number)") }
      if error == .deleted {
        #expect(code { _ = try datastore.ids() } == .deleted)
        return try close(name, id)
      }
      #expect(error == nil && isThere)
      model.records[model.key(name, id), default: []].insert("r\(number)")
      // What was never exchanged is kept when others delete it, which is another test's matter.
      if published.insert("\(name) \(model.key(name, id))").inserted {
        try await datastore.exchange()
      }
    }

    private func close(_ name: String, _ id: String) throws {
      try open[name]?.removeValue(forKey: id)?.close()
    }

    private func delete(_ name: String, _ id: String) throws {
      try close(name, id)
      let isThere = model.list(name).contains(id)
      let error = code { try manager(name).deleteDatastore(id) }
      #expect(error == (isThere ? nil : .notFound))
      if isThere { model.delete(name, id) }
    }

    private func refresh(_ name: String) async throws {
      try await manager(name).refresh()
      model.meet(name, "folder")
      #expect(try manager(name).ids() == model.list(name))
    }

    /// Until everything has reached everybody.
    func settle() async throws {
      for name in names {
        for id in ids { try close(name, id) }
      }
      for _ in 0..<4 {
        for name in names {
          try await refresh(name)
          for id in model.list(name) { try await manager(name).with(id) }
        }
      }
      for name in names {
        #expect(try manager(name).ids() == model.list("folder"))
        for id in model.list("folder") {
          let expected = model.records[model.key("folder", id)] ?? []
          #expect(try await manager(name).content(id) == expected, "\(name) \(id)")
        }
      }
    }
  }

  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func `lists converge, what was deleted stays away, what was created again stays`(
    seed: UInt64
  ) async throws {
    let crowd = Crowd(seed: seed)
    for _ in 0..<2 {
      for _ in 0..<120 { try await crowd.step() }
      try await crowd.settle()
    }
    for name in crowd.names {
      for _ in 0..<2 { try await crowd.manager(name).refresh() }
      #expect(try await crowd.manager(name).refresh().requests == 1)
      // Nothing of what was deleted is left, at home or in the folder.
      let places = Set(crowd.bench.files("/" + name).compactMap { $0.split(separator: "/").first })
      #expect(places.filter { $0.contains("p-") || $0.contains("s-") }.count <= 3)
    }
  }
}
