import Cairn
import TestSupport
import Testing

/// Objects that are changed when their records have moved on already, and nobody has followed yet:
/// what the fields were is what the object said, not what came unseen.
@Suite struct MappingBehindTests {
  typealias Note = MappingBench.Note

  /// Makes visible in the datastore what others did, as an app does that exchanges by itself, and
  /// lets no object follow.
  private func fetchUnseen(_ device: MappingDevice, _ route: String = "main") async throws {
    device.bench.clock.advance(by: 3)
    let remote = try #require(device.remotes[route])
    _ = try await remote.exchange()
    try remote.sync()
  }

  /// Two devices with the note "w" of the id "n".
  private func pair(
    _ bench: MappingBench, _ mapping: ObjectMapping = MappingBench.note
  ) async throws -> (a: MappingDevice, b: MappingDevice) {
    let a = try await bench.open("a", [mapping])
    let b = try await bench.open("b", [mapping])
    try await a.insert(Note(text: "w"), "n")
    #expect(try await bench.settle([a, b]))
    return (a, b)
  }

  /// A mapping that says what it is asked, and whether a deleted object is to stay.
  private static func asking(_ told: Told<ObjectMerge>, keeps: Bool) -> ObjectMapping {
    .synced(Note.self) { merge in
      told.add(merge)
      if keeps { merge.isDeleted = false }
    }
  }

  private func originals(_ device: MappingDevice) async throws -> [String: Value]? {
    try await device.store.pendingChangeSets().first?.changes.first?.originals
  }

  @Test(arguments: [true, false])
  func `a star counts on top of those that were given in the datastore`(
    isSynced: Bool
  ) async throws {
    let device = try await MappingBench().open("a")
    try await device.insert(Note(text: "milk", tags: ["home"]), "n")
    _ = try await device.exchange()
    try device.main.table("notes")["n"].update(["color": "red", "stars": 5])
    if isSynced { try device.main.sync() }
    try await device.update("n") { $0.stars += 1 }
    #expect(try await device.queue() == [["n.stars"]])
    #expect(try await originals(device) == ["stars": 0])
    _ = try await device.exchange()
    #expect(try device.note("n") == Note(text: "milk", stars: 6, tags: ["home"]))
    #expect(
      try device.record("n") == ["text": "milk", "stars": 6, "tags": ["home"], "color": "red"])
    #expect(device.store.outbox == OutboxStatus())
  }

  @Test(arguments: [false, true])
  func `a text that came unseen is merged, and not overwritten`(asks: Bool) async throws {
    let bench = MappingBench()
    let (a, b) = try await pair(bench, asks ? ObjectMergeTests.joining : MappingBench.note)
    try await b.update("n") { $0.text = "b w" }
    _ = try await b.exchange()
    try await fetchUnseen(a)
    try await a.update("n") { $0.text = "a w" }
    #expect(try await originals(a) == ["text": "w"])
    #expect(try await bench.settle([a, b]))
    let text = asks ? "a b w" : "b w"
    for device in [a, b] {
      #expect(try device.note("n") == Note(text: text))
      #expect(try device.record("n")?["text"] == .string(text))
      #expect(device.store.outbox == OutboxStatus())
    }
  }

  @Test func `an edit does not bring back what others have deleted unseen`() async throws {
    let bench = MappingBench()
    let (a, b) = try await pair(bench)
    try await b.delete("n")
    _ = try await b.exchange()
    try await fetchUnseen(a)
    try await a.update("n") { $0.text = "edited" }
    #expect(try await a.queue() == [["n.text"]])
    #expect(try await bench.settle([a, b]))
    for device in [a, b] {
      #expect(try device.note("n") == nil)
      #expect(try device.record("n") == nil)
      #expect(device.store.outbox == OutboxStatus())
    }
  }

  @Test func `one more route does not bring back what others have deleted unseen`() async throws {
    let bench = MappingBench()
    let (a, b) = try await pair(bench)
    try await a.insert(Note(text: "stays"), "o")
    #expect(try await bench.settle([a, b]))
    try await b.delete("n")
    _ = try await b.exchange()
    try await fetchUnseen(a)
    try await a.close()
    let again = try await bench.open("a", [MappingBench.note], routes: ["main", "work"])
    #expect(try again.notes() == ["o": Note(text: "stays")])
    #expect(try await again.queue() == [])
    #expect(try await bench.settle([again, b]))
    for device in [again, b] {
      #expect(try device.notes() == ["o": Note(text: "stays")])
      #expect(try device.record("n") == nil)
      #expect(device.store.outbox == OutboxStatus())
    }
  }

  @Test(arguments: [false, true])
  func `the handler is asked about an edit of what others have deleted unseen`(
    keeps: Bool
  ) async throws {
    let (bench, told) = (MappingBench(), Told<ObjectMerge>())
    let (a, b) = try await pair(bench, Self.asking(told, keeps: keeps))
    try await b.delete("n")
    _ = try await b.exchange()
    try await fetchUnseen(a)
    try await a.update("n") { $0.text = "edited" }
    #expect(try await bench.settle([a, b]))
    let merge = try #require(told.all.first)
    #expect(told.all.count == 1 && merge.remote == nil)
    #expect(merge.original == ["text": "w"] && merge.pending == ["text": "edited"])
    for device in [a, b] {
      #expect(try device.note("n") == (keeps ? Note(text: "edited") : nil))
      #expect(device.store.outbox == OutboxStatus())
    }
  }

  @Test(arguments: [false, true])
  func `the handler is asked about the delete of what others have changed unseen`(
    restores: Bool
  ) async throws {
    let (bench, told) = (MappingBench(), Told<ObjectMerge>())
    let (a, b) = try await pair(bench, Self.asking(told, keeps: restores))
    try await b.update("n") { $0.text = "b w" }
    _ = try await b.exchange()
    try await fetchUnseen(a)
    try await a.delete("n")
    #expect(try await bench.settle([a, b]))
    let merge = try #require(told.all.first)
    #expect(told.all.count == 1 && merge.isPendingDelete)
    #expect(merge.original == ["text": "w", "stars": 0])
    #expect(merge.remote == ["text": "b w", "stars": 0])
    for device in [a, b] {
      #expect(try device.note("n") == (restores ? Note(text: "b w") : nil))
      #expect(device.store.outbox == OutboxStatus())
    }
  }

  @Test func `an object that is deleted and made again is merged with what came unseen`()
    async throws
  {
    let bench = MappingBench()
    let (a, b) = try await pair(bench)
    try await b.update("n") { ($0.text, $0.stars) = ("b w", 5) }
    _ = try await b.exchange()
    try await fetchUnseen(a)
    try await a.delete("n")
    try await a.insert(Note(text: "again"), "n")
    #expect(try await a.queue() == [["n.text"]])
    #expect(try await originals(a) == ["text": "w"])
    #expect(try await bench.settle([a, b]))
    for device in [a, b] { #expect(try device.note("n") == Note(text: "b w", stars: 5)) }
  }

  // MARK: inserts

  /// Two devices with a note of one id each; the first has the other's in its datastore, unseen.
  private func bothInsert(
    _ bench: MappingBench
  ) async throws -> (a: MappingDevice, b: MappingDevice) {
    let (a, b) = try await pair(bench)
    try await a.insert(Note(text: "a"), "o")
    try await b.insert(Note(text: "b", place: "of b"), "o")
    _ = try await b.exchange()
    try await fetchUnseen(a)
    return (a, b)
  }

  @Test(arguments: [false, true])
  func `an insert where a record has come unseen is merged with it`(asks: Bool) async throws {
    let bench = MappingBench()
    let (a, b) = try await pair(bench, asks ? ObjectMergeTests.joining : MappingBench.note)
    try await b.insert(Note(text: "b", place: "of b"), "o")
    _ = try await b.exchange()
    try await fetchUnseen(a)
    try await a.insert(Note(text: "a", best: 3), "o")
    #expect(try await a.queue() == [["+o"]])
    #expect(try await originals(a) == [:])
    #expect(try await bench.settle([a, b]))
    for device in [a, b] {
      #expect(try device.note("o") == Note(text: asks ? "a b" : "b", best: 3, place: "of b"))
      #expect(device.store.outbox == OutboxStatus())
    }
  }

  @Test func `an edit of what waits to be inserted is merged with a record that came unseen`()
    async throws
  {
    let bench = MappingBench()
    let (a, b) = try await bothInsert(bench)
    try await a.update("o") { $0.place = "of a" }
    #expect(try await a.queue() == [["+o"], ["o.place"]])
    let changes = try await a.store.pendingChangeSets().flatMap(\.changes)
    #expect(changes.map(\.originals) == [[:], [:]])
    #expect(try await bench.settle([a, b]))
    for device in [a, b] {
      #expect(try device.note("o") == Note(text: "b", place: "of b"))
      #expect(device.store.outbox == OutboxStatus())
    }
  }

  @Test func `the delete of what waits to be inserted deletes no record that came unseen`()
    async throws
  {
    let bench = MappingBench()
    let (a, b) = try await bothInsert(bench)
    try await a.delete("o")
    #expect(try await a.queue() == [])
    #expect(try await bench.settle([a, b]))
    for device in [a, b] {
      #expect(try device.note("o") == Note(text: "b", place: "of b"))
      #expect(device.store.outbox == OutboxStatus())
    }
  }

  /// From another route, or from nowhere: the place "here" is no route.
  @Test(arguments: [true, false])
  func `an object that comes to a route where a record has come unseen is merged with it`(
    isMoved: Bool
  ) async throws {
    let bench = MappingBench()
    let placed: ObjectMapping = .synced(
      Note.self, route: { $0.place == "here" ? nil : $0.place ?? "main" })
    let a = try await bench.open("a", [placed], routes: ["main", "work"])
    let b = try await bench.open("b", [placed], routes: ["main", "work"])
    try await a.insert(Note(text: "w", place: isMoved ? nil : "here"), "n")
    #expect(try await bench.settle([a, b]))
    if isMoved {
      try await b.update("n") { ($0.text, $0.place) = ("b w", "work") }
    } else {
      try await b.insert(Note(text: "b w", place: "work"), "n")
    }
    _ = try await b.exchange()
    try await fetchUnseen(a, "work")
    try await a.update("n") { $0.place = "work" }
    let expected = isMoved ? [["-n"], ["+n"]] : [["+n"]]
    #expect(try await a.queue() == expected)
    #expect(try await bench.settle([a, b]))
    for device in [a, b] {
      #expect(try device.note("n") == Note(text: "b w", place: "work"))
      #expect(try device.record("n", "work")?["text"] == "b w")
      #expect(try device.record("n", "main") == nil)
      #expect(device.store.outbox == OutboxStatus())
    }
  }

  // MARK: mappings that refuse or round

  @Test func `an edit while the mapping refuses what came is merged with it later`() async throws {
    let refuses = Shared(false)
    let mapping = ObjectMapping(
      Note.self, as: Note.self, map: { note, _ in MappedRecord(note) },
      update: { note, shared, _ throws(CairnError) in
        if refuses.withLock({ $0 }) { throw CairnError(.cancelled, "not now") }
        note = shared
      })
    let bench = MappingBench()
    let (a, b) = try await pair(bench, mapping)
    try await b.update("n") { $0.stars = 5 }
    _ = try await b.exchange()
    _ = refuses.exchange(true)
    // The datastore has it then, and the object has not.
    let error = await #expect(throws: CairnError.self) { _ = try await a.exchange() }
    #expect(error?.code == .cancelled)
    #expect(try a.record("n")?["stars"] == 5)
    try await a.update("n") { $0.stars += 1 }
    #expect(try await originals(a) == ["stars": 0])
    _ = refuses.exchange(false)
    #expect(try await bench.settle([a, b]))
    for device in [a, b] { #expect(try device.note("n") == Note(text: "w", stars: 6)) }
  }

  /// Minutes are whole: what is rounded is no change of anybody's.
  @Test func `of a record that a mapping rounds an edit is no conflict`() async throws {
    typealias Chore = MappingTests.Chore
    let device = try await MappingBench().open("a", [MappingTests.chore])
    let work = try device.main.table("work")
    try work.insert(["name": "dishes", "hours": 1.52], id: "c")
    try device.main.sync()
    try await device.store.sync()
    #expect(try device.store.objects(Chore.self).get("c") == Chore(title: "dishes", minutes: 91))
    // Something else has come unseen.
    try work.insert(["name": "walk", "hours": 1.0], id: "d")
    try device.main.sync()
    try await device.store.write { objects throws(CairnError) in
      try objects.update(Chore.self, "c") { $0.minutes = 30 }
    }
    #expect(try await originals(device) == ["hours": 1.52])
    _ = try await device.exchange()
    #expect(try work.record("c")?.fields == ["name": "dishes", "hours": 0.5])
    let chores = try device.store.objects(Chore.self)
    #expect(try chores.get("c") == Chore(title: "dishes", minutes: 30))
    #expect(try chores.get("d") == Chore(title: "walk", minutes: 60))
  }
}
