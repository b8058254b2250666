import Cairn
import TestSupport
import Testing

/// Objects of an app, and the records that they are.
@Suite struct MappingTests {
  typealias Note = MappingBench.Note
  typealias Draft = MappingBench.Draft

  @Test func `a change of an object is one of its record, in the fields that differ`()
    async throws
  {
    let bench = MappingBench()
    let device = try await bench.open("a")
    try await device.insert(Note(text: "milk", tags: ["home"]), "n")
    #expect(try await device.queue() == [["+n"]])
    #expect(try device.record("n") == nil, "nothing is in the datastore before the exchange")
    _ = try await device.exchange()
    #expect(try device.record("n") == ["text": "milk", "stars": 0, "tags": ["home"]])
    // Somebody else's field, and one that the object has as well.
    try device.main.table("notes")["n"].update(["color": "red", "stars": 5])
    try device.main.sync()
    try await device.update("n") { $0.text = "oat milk" }
    #expect(try await device.queue() == [["n.text"]])
    _ = try await device.exchange()
    #expect(
      try device.record("n")
        == ["text": "oat milk", "stars": 5, "tags": ["home"], "color": "red"])
    #expect(try device.note("n") == Note(text: "oat milk", stars: 5, tags: ["home"]))
    try await device.update("n") { $0.text = "oat milk" }
    #expect(try await device.queue().isEmpty, "the same again is no change")
  }

  @Test func `objects follow a rule of another device that decides a conflict anew`()
    async throws
  {
    let bench = MappingBench()
    let (a, b) = (try await bench.open("a"), try await bench.open("b"))
    try await a.insert(Note(text: "milk"), "n")
    try await bench.settle([a, b])
    for (device, text) in [(a, "oat milk"), (b, "no milk")] {
      try device.main.table("notes")["n"].set("text", .string(text))
      try device.main.sync()
      bench.clock.advance(by: 3)
    }
    try await bench.settle([a, b])
    let before = try #require(try b.note("n")?.text)
    try a.main.table("notes").setRule(.local, field: "text")
    try a.main.sync()
    try await bench.settle([a, b])
    let text = try #require(try b.record("n")?["text"])
    #expect(text != .string(before), "the other one shows by that rule")
    for device in [a, b] { #expect(try device.note("n").map { .string($0.text) } == text) }
  }

  // MARK: another shape

  struct Chore: TableModel, Equatable {
    static let table = "chores"
    var title: String
    var minutes = 0
    /// Of this device only.
    var isFolded = false
    var isSecret = false
  }

  struct SharedChore: TableModel {
    static let table = "work"
    var name: String
    var hours: Double
  }

  static let chore = ObjectMapping(
    Chore.self, as: SharedChore.self,
    map: { chore, _ in
      chore.isSecret
        ? nil : MappedRecord(SharedChore(name: chore.title, hours: Double(chore.minutes) / 60))
    },
    update: { chore, shared, _ in
      chore = chore ?? Chore(title: "")
      chore?.title = shared.name
      chore?.minutes = Int(shared.hours * 60)
    })

  @Test func `objects of another shape, of which a part stays here`() async throws {
    let bench = MappingBench()
    let a = try await bench.open("a", [Self.chore])
    let b = try await bench.open("b", [Self.chore])
    try await a.store.write { objects throws(CairnError) in
      try objects.insert(Chore(title: "dishes", minutes: 90, isFolded: true), id: "c")
    }
    try await bench.settle([a, b])
    let record = try #require(try b.main.table("work").record("c"))
    #expect(try record.fields == ["name": "dishes", "hours": 1.5])
    let chores = try b.store.objects(Chore.self)
    #expect(try chores.get("c") == Chore(title: "dishes", minutes: 90))
    try await b.store.write { objects throws(CairnError) in
      try objects.update(Chore.self, "c") { $0.minutes = 30 }
    }
    #expect(try await b.store.pendingChangeSets().first?.changes.first?.fields == ["hours": 0.5])
    try await bench.settle([a, b])
    #expect(
      try a.store.objects(Chore.self).get("c")
        == Chore(title: "dishes", minutes: 30, isFolded: true))
    // What is not shared is no change of the record.
    try await a.store.write { objects throws(CairnError) in
      try objects.update(Chore.self, "c") { $0.isFolded = false }
    }
    #expect(a.store.outbox.pending == 0)
  }

  struct Scale: TableModel, Equatable {
    static let table = "scales"
    var steps: [TypedFloatTests.Number]
  }

  @Test func `a list of a type that tells integers from doubles is uploaded as it is`()
    async throws
  {
    let bench = MappingBench()
    let a = try await bench.open("a", [ObjectMapping.synced(Scale.self)])
    let b = try bench.remote("b")
    try b.table("scales").insert(["steps": [1, 2]], id: "s")
    try b.sync()
    try await b.exchange()
    _ = try await a.exchange()
    #expect(
      try a.store.objects(Scale.self).get("s") == Scale(steps: [.whole(1), .whole(2)]))
    try await a.store.write { objects throws(CairnError) in
      try objects.update(Scale.self, "s") { $0.steps = [.broken(1), .broken(2.5)] }
    }
    _ = try await a.exchange()
    #expect(try a.main.table("scales")["s"].fields == ["steps": [1.0, 2.5]])
    #expect(
      try a.store.objects(Scale.self).get("s") == Scale(steps: [.broken(1), .broken(2.5)]))
  }

  @Test func `an object that its mapping leaves out loses its record`() async throws {
    let bench = MappingBench()
    let a = try await bench.open("a", [Self.chore])
    let b = try await bench.open("b", [Self.chore])
    try await a.store.write { objects throws(CairnError) in
      try objects.insert(Chore(title: "gift", isSecret: true), id: "g")
      try objects.insert(Chore(title: "walk"), id: "w")
    }
    try await bench.settle([a, b])
    #expect(try b.store.objects(Chore.self).objects().map(\.id) == ["w"])
    try await a.store.write { objects throws(CairnError) in
      try objects.update(Chore.self, "w") { $0.isSecret = true }
      try objects.update(Chore.self, "g") { $0.isSecret = false }
    }
    #expect(try await a.queue() == [["+g", "-w"]])
    try await bench.settle([a, b])
    #expect(try b.store.objects(Chore.self).objects().map(\.id) == ["g"])
    #expect(try a.store.objects(Chore.self).count == 2, "it stays where it was left out")
  }

  // MARK: local tables

  @Test func `local objects last, and are in nothing that is published`() async throws {
    let bench = MappingBench()
    let a = try await bench.open("a")
    try await a.store.write { objects throws(CairnError) in
      try objects.insert(Draft(text: "between us"), id: "d")
      try objects.insert(Note(text: "for all"), id: "n")
    }
    #expect(try await a.queue() == [["+n"]])
    _ = try await a.exchange()
    #expect(try a.main.tables().map(\.id) == ["notes"])
    #expect(bench.folder("main").paths().contains { $0.hasSuffix(".seg") }, "it has published")
    let secret = Array("between us".utf8)
    for folder in bench.folders.values {
      for path in folder.paths() {
        let bytes = try #require(folder.bytes(path))
        #expect(!bytes.indices.contains { bytes[$0...].starts(with: secret) }, "\(path)")
      }
    }
    try await a.close()
    let again = try await bench.open("a")
    #expect(try again.store.objects(Draft.self).get("d") == Draft(text: "between us"))
    #expect(try await again.store.state(of: Draft.self, "d")?.recordTable == nil)
  }

  @Test func `a type without a mapping is refused`() async throws {
    let device = try await MappingBench().open("a", [MappingBench.note])
    let error = await #expect(throws: CairnError.self) {
      try await device.store.write { objects throws(CairnError) in
        try objects.insert(Draft(text: "x"))
      }
    }
    #expect(error?.code == .illegalArgument)
  }

  @Test func `a write that throws leaves nothing behind`() async throws {
    let device = try await MappingBench().open("a")
    try await device.insert(Note(text: "one"), "n")
    let error = await #expect(throws: CairnError.self) {
      try await device.store.write { objects throws(CairnError) in
        try objects.update(Note.self, "n") { $0.text = "two" }
        try objects.insert(Draft(text: "x"), id: "d")
        throw CairnError(.cancelled, "no")
      }
    }
    #expect(error?.code == .cancelled, "it came that far")
    #expect(try device.note("n")?.text == "one")
    #expect(try device.store.objects(Draft.self).count == 0)
    #expect(try await device.queue() == [["+n"]])
    try await device.update("n") { $0.stars = 1 }
    #expect(try await device.queue() == [["+n"], ["n.stars"]])
  }

  // MARK: routes

  static let routed: ObjectMapping = .synced(Note.self, route: { $0.place ?? "main" })

  @Test func `a mapping says which datastore a record is in, and it moves`() async throws {
    let bench = MappingBench()
    let routes = ["main", "work"]
    let a = try await bench.open("a", [Self.routed], routes: routes)
    let b = try await bench.open("b", [Self.routed], routes: routes)
    try await a.store.write { objects throws(CairnError) in
      try objects.insert(Note(text: "home"), id: "h")
      try objects.insert(Note(text: "office", place: "work"), id: "w")
    }
    #expect(Set(try await a.store.pendingChangeSets().map(\.route)) == ["main", "work"])
    try await bench.settle([a, b])
    #expect(try b.record("h", "main") != nil)
    #expect(try b.record("w", "work") != nil)
    #expect(try b.record("h", "work") == nil)
    #expect(try b.record("w", "main") == nil)
    try await b.update("w") { $0.place = nil }
    #expect(Set(try await b.queue()) == [["+w"], ["-w"]])
    try await bench.settle([a, b])
    #expect(try a.record("w", "main")?["text"] == "office")
    #expect(try a.record("w", "work") == nil)
    #expect(try a.notes() == b.notes())
    #expect(try a.notes().count == 2)
  }

  @Test func `a route that is not there is refused, and nothing happens`() async throws {
    let device = try await MappingBench().open("a", [Self.routed])
    let error = await #expect(throws: CairnError.self) {
      try await device.insert(Note(text: "x", place: "work"), "n")
    }
    #expect(error?.code == .illegalArgument)
    #expect(error?.id == "work")
    #expect(try device.notes().isEmpty)
    #expect(device.store.outbox.pending == 0)
  }

  @Test func `what can't be opened says why`() async throws {
    let bench = MappingBench()
    let remote = try bench.remote("a")
    let local = try bench.local("a").openOrCreateDatastore("other")
    func code(
      _ manager: DatastoreManager, _ remotes: [String: Datastore], _ mappings: [ObjectMapping]
    ) async -> CairnError.Code? {
      do throws(CairnError) {
        _ = try await ObjectStore.open(in: manager, remotes: remotes, mappings: mappings)
        return nil
      } catch { return error.code }
    }
    let notes = [MappingBench.note]
    #expect(await code(remote.manager, [:], notes) == .invalidOperation)
    #expect(await code(local.manager, ["main": local], notes) == .invalidOperation)
    #expect(await code(local.manager, [":": remote], notes) == .illegalArgument)
    #expect(await code(local.manager, ["main": remote, "b": remote], notes) == .illegalArgument)
    #expect(await code(local.manager, ["main": remote], notes + notes) == .illegalArgument)
    #expect(await code(local.manager, ["main": remote], notes) == nil)
    #expect(await code(local.manager, ["main": remote], notes) == .alreadyOpen)
  }
}
