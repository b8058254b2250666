import Cairn
import TestSupport
import Testing

/// What a version of the app did not know of records, or could not read, when the next one is
/// opened: its objects never said anything about that.
@Suite struct MappingUnknownTests {
  typealias Note = MappingBench.Note

  /// Notes as an earlier version of the app had them.
  struct OldNote: TableModel {
    static let table = "notes"
    static let rules = Note.rules

    var text: String
    var stars = 0
    var best: Int?
    var tags: [String] = []
  }

  struct Plain: TableModel {
    static let table = "notes"

    var text: String
  }

  /// Has a level also where there is none.
  struct Leveled: TableModel, Equatable {
    static let table = "notes"

    var text: String
    var level = 1

    init(text: String, level: Int) { (self.text, self.level) = (text, level) }

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      text = try fields.decode(String.self, forKey: .text)
      level = try fields.decodeIfPresent(Int.self, forKey: .level) ?? 1
    }
  }

  /// An object that becomes its record by a mapping of its own.
  static let leveled = ObjectMapping(
    Leveled.self, as: Leveled.self, map: { note, _ in MappedRecord(note) },
    update: { note, shared, _ in note = shared })

  struct Marked: TableModel, Equatable {
    static let table = "notes"

    var text: String
    var marks: Set<String> = []
  }

  struct Timed: TableModel, Equatable {
    static let table = "notes"

    var text: String
    var minutes: Int?
  }

  struct SharedTimed: TableModel {
    static let table = "notes"

    var text: String
    var hours: Double?
  }

  /// Minutes are whole.
  static let timed = ObjectMapping(
    Timed.self, as: SharedTimed.self,
    map: { note, _ in
      MappedRecord(SharedTimed(text: note.text, hours: note.minutes.map { Double($0) / 60 }))
    },
    update: { note, shared, _ in
      note = Timed(text: shared.text, minutes: shared.hours.map { Int($0 * 60) })
    })

  /// Reads nothing but the text.
  static let lenient = ObjectMapping(
    Note.self, as: Plain.self, map: { note, _ in MappedRecord(Plain(text: note.text)) },
    update: { note, shared, _ in
      note = note ?? Note(text: "")
      note?.text = shared.text
    })

  @Test func `a new version of the mappings removes no field that the old one did not know`()
    async throws
  {
    let bench = MappingBench()
    var a = try await bench.open("a", [.synced(OldNote.self)])
    let b = try await bench.open("b")
    try await a.insert(Note(text: "x", stars: 2), "n")
    #expect(try await bench.settle([a, b]))
    try await b.update("n") { $0.place = "of b" }
    #expect(try await bench.settle([a, b]))
    #expect(try a.note("n") == Note(text: "x", stars: 2), "it has not followed the place")
    try await a.close()
    a = try await bench.open("a", version: MappingVersion("2"))
    #expect(try await a.queue() == [])
    #expect(try a.note("n") == Note(text: "x", stars: 2, place: "of b"))
    #expect(try await bench.settle([a, b]))
    for device in [a, b] {
      #expect(try device.note("n") == Note(text: "x", stars: 2, place: "of b"))
      #expect(try device.record("n")?["place"] == "of b")
    }
  }

  @Test func `what is pending when a new version is opened stays, beside what the record knows`()
    async throws
  {
    let bench = MappingBench()
    var a = try await bench.open("a", [.synced(OldNote.self)])
    let b = try await bench.open("b")
    try await a.insert(Note(text: "x"), "n")
    #expect(try await bench.settle([a, b]))
    try await b.update("n") { $0.place = "of b" }
    #expect(try await bench.settle([a, b]))
    a.store.suspend()
    try await a.store.write { objects throws(CairnError) in
      try objects.update(OldNote.self, "n") { $0.text = "of a" }
    }
    try await a.close()
    a = try await bench.open("a", version: MappingVersion("2"))
    #expect(try await a.queue() == [["n.text"]])
    #expect(try a.note("n") == Note(text: "of a", place: "of b"))
    #expect(try await bench.settle([a, b]))
    for device in [a, b] { #expect(try device.note("n") == Note(text: "of a", place: "of b")) }
  }

  @Test(arguments: [true, false])
  func `a new version of the mappings uploads no default of what the old one did not know`(
    isSynced: Bool
  ) async throws {
    let mapping: ObjectMapping = isSynced ? .synced(Leveled.self) : Self.leveled
    let bench = MappingBench()
    var a = try await bench.open("a", [.synced(Plain.self)])
    let b = try await bench.open("b", [.synced(Leveled.self)])
    try await a.store.write { objects throws(CairnError) in
      try objects.insert(Plain(text: "x"), id: "n")
    }
    #expect(try await bench.settle([a, b]))
    try await b.store.write { objects throws(CairnError) in
      try objects.update(Leveled.self, "n") { $0.level = 5 }
    }
    #expect(try await bench.settle([a, b]))
    #expect(try a.record("n") == ["text": "x", "level": 5])
    try await a.close()
    a = try await bench.open("a", [mapping], version: MappingVersion("2"))
    #expect(try await a.queue() == [])
    #expect(try a.store.objects(Leveled.self).get("n") == Leveled(text: "x", level: 5))
    #expect(try await bench.settle([a, b]))
    #expect(try b.store.objects(Leveled.self).get("n") == Leveled(text: "x", level: 5))
  }

  /// The items come in the order in which they were added, and objects have them sorted.
  @Test func `a new version of the mappings empties no set that the old one did not know`()
    async throws
  {
    let bench = MappingBench()
    var a = try await bench.open("a", [.synced(Plain.self)])
    let b = try await bench.open("b", [.synced(Marked.self)])
    try await b.store.write { objects throws(CairnError) in
      try objects.insert(Marked(text: "x", marks: ["z"]), id: "n")
    }
    #expect(try await bench.settle([a, b]))
    try await b.store.write { objects throws(CairnError) in
      try objects.update(Marked.self, "n") { $0.marks.insert("a") }
    }
    #expect(try await bench.settle([a, b]))
    #expect(try a.record("n") == ["text": "x", "marks": ["z", "a"]])
    try await a.close()
    a = try await bench.open("a", [.synced(Marked.self)], version: MappingVersion("2"))
    #expect(try await a.queue() == [])
    #expect(try await bench.settle([a, b]))
    for device in [a, b] {
      let note = try device.store.objects(Marked.self).get("n")
      #expect(note == Marked(text: "x", marks: ["a", "z"]))
      #expect(try device.record("n") == ["text": "x", "marks": ["z", "a"]])
    }
  }

  @Test func `a new version of the mappings removes no value that it rounds`() async throws {
    let bench = MappingBench()
    var a = try await bench.open("a", [.synced(Plain.self)])
    try await a.store.write { objects throws(CairnError) in
      try objects.insert(Plain(text: "x"), id: "n")
    }
    _ = try await a.exchange()
    try a.main.table("notes")["n"].set("hours", 1.52)
    try a.main.sync()
    try await a.store.sync()
    try await a.close()
    a = try await bench.open("a", [Self.timed], version: MappingVersion("2"))
    #expect(try await a.queue() == [])
    #expect(try a.store.objects(Timed.self).get("n") == Timed(text: "x", minutes: 91))
    _ = try await a.exchange()
    #expect(try a.record("n") == ["text": "x", "hours": 1.52])
  }

  @Test func `what a new version does not share any more goes from the records, not from objects`()
    async throws
  {
    let bench = MappingBench()
    var a = try await bench.open("a")
    try await a.insert(Note(text: "x", place: "home"), "n")
    _ = try await a.exchange()
    try await a.close()
    let keeping = ObjectMapping(
      Note.self, as: Note.self,
      map: { note, _ in
        var shared = note
        shared.place = nil
        return MappedRecord(shared)
      },
      update: { note, shared, _ in
        let place = note?.place
        note = shared
        note?.place = place
      })
    a = try await bench.open("a", [keeping], version: MappingVersion("2"))
    #expect(try await a.queue() == [["n.place"]])
    _ = try await a.exchange()
    #expect(try a.record("n") == ["text": "x", "stars": 0])
    #expect(try a.note("n") == Note(text: "x", place: "home"))
  }

  @Test func `a record that could not be read is left alone until it can be, and counts then`()
    async throws
  {
    let bench = MappingBench()
    var device = try await bench.open("a")
    try await device.insert(Note(text: "x"), "n")
    _ = try await device.exchange()
    // As a version that has something else there.
    try device.main.table("notes")["n"].update(["text": "y", "place": 5])
    try device.main.sync()
    #expect(try await device.store.sync().unreadable.map(\.record) == ["n"])
    #expect(try device.note("n") == Note(text: "x"))
    try await device.close()
    device = try await bench.open("a", version: MappingVersion("2"))
    #expect(try await device.queue() == [])
    #expect(try await device.store.sync().unreadable.map(\.record) == ["n"])
    _ = try await device.exchange()
    #expect(try device.record("n") == ["text": "y", "stars": 0, "place": 5])
    #expect(try device.note("n") == Note(text: "x"))
    try await device.close()
    device = try await bench.open("a", [Self.lenient], version: MappingVersion("3"))
    #expect(try await device.queue() == [])
    #expect(try device.note("n") == Note(text: "y"))
    #expect(try device.record("n") == ["text": "y", "stars": 0, "place": 5])
  }

  /// On another route, or on none.
  @Test(arguments: ["work", nil] as [String?])
  func `a record that could not be read stays where it is, wherever its object is to be now`(
    route: String?
  ) async throws {
    let bench = MappingBench()
    let routes = ["main", "work"]
    var device = try await bench.open("a", routes: routes)
    try await device.insert(Note(text: "x"), "n")
    _ = try await device.exchange()
    try device.main.table("notes")["n"].update(["text": "y", "place": 5])
    try device.main.sync()
    #expect(try await device.store.sync().unreadable.map(\.record) == ["n"])
    try await device.close()
    let elsewhere: ObjectMapping = .synced(Note.self, route: { _ in route })
    device = try await bench.open(
      "a", [elsewhere], routes: routes, version: MappingVersion("2"))
    #expect(try await device.queue() == [])
    _ = try await device.exchange()
    #expect(try device.note("n") == Note(text: "x"))
    #expect(try device.record("n") == ["text": "y", "stars": 0, "place": 5])
    #expect(try device.record("n", "work") == nil)
    try await device.close()
    // It is known still that it was not read.
    device = try await bench.open(
      "a", [Self.lenient], routes: routes, version: MappingVersion("3"))
    #expect(try await device.queue() == [])
    #expect(try device.note("n") == Note(text: "y"))
    #expect(try device.record("n") == ["text": "y", "stars": 0, "place": 5])
  }

  @Test func `what this version does not know of a record goes along to another route`()
    async throws
  {
    let (bench, routes) = (MappingBench(), ["main", "work"])
    let a = try await bench.open("a", [MappingTests.routed], routes: routes)
    let b = try await bench.open("b", [MappingTests.routed], routes: routes)
    try await a.insert(Note(text: "x", best: 3), "n")
    #expect(try await bench.settle([a, b]))
    try b.main.table("notes")["n"].set("color", "red")
    try b.main.sync()
    #expect(try await bench.settle([b, a]))
    try await a.update("n") { ($0.place, $0.best) = ("work", nil) }
    let changes = try await a.store.pendingChangeSets().flatMap(\.changes)
    let insert = try #require(changes.first { $0.kind == .insert })
    #expect(insert.fields["color"] == "red" && insert.originals.isEmpty)
    // It changes once more before it goes.
    try await a.update("n") { $0.text = "y" }
    #expect(try await bench.settle([a, b]))
    let record: [String: Value] = ["text": "y", "stars": 0, "place": "work", "color": "red"]
    for device in [a, b] {
      #expect(try device.record("n", "work") == record)
      #expect(try device.record("n") == nil)
      #expect(try device.note("n") == Note(text: "y", place: "work"))
    }
    // Back again.
    try await a.update("n") { $0.place = nil }
    #expect(try await bench.settle([a, b]))
    #expect(try b.record("n") == ["text": "y", "stars": 0, "color": "red"])
    #expect(try b.record("n", "work") == nil)
  }

  @Test func `what a version does not know of a record goes along when it routes otherwise`()
    async throws
  {
    let (bench, routes) = (MappingBench(), ["main", "work"])
    var device = try await bench.open("a", routes: routes)
    try await device.insert(Note(text: "x"), "n")
    _ = try await device.exchange()
    try device.main.table("notes")["n"].set("color", "red")
    try device.main.sync()
    try await device.store.sync()
    try await device.close()
    let elsewhere: ObjectMapping = .synced(Note.self, route: { _ in "work" })
    device = try await bench.open(
      "a", [elsewhere], routes: routes, version: MappingVersion("2"))
    #expect(try await device.queue() == [["-n"], ["+n"]])
    _ = try await device.exchange()
    #expect(try device.record("n", "work") == ["text": "x", "stars": 0, "color": "red"])
    #expect(try device.record("n") == nil)
    #expect(device.store.outbox == OutboxStatus())
  }

  @Test func `a record that others moved to where it can't be read does not come back`()
    async throws
  {
    let bench = MappingBench()
    let routes = ["main", "work"]
    var device = try await bench.open("a", routes: routes)
    try await device.insert(Note(text: "x"), "n")
    _ = try await device.exchange()
    let fields: [String: Value] = ["text": "y", "stars": 0, "place": 5]
    let work = try #require(device.remotes["work"])
    try work.table("notes").insert(fields: fields, id: "n")
    try work.sync()
    try device.main.table("notes")["n"].delete()
    try device.main.sync()
    #expect(try await device.store.sync().unreadable.map(\.route) == ["main", "work"])
    #expect(try device.note("n") == Note(text: "x"))
    try await device.close()
    device = try await bench.open("a", routes: routes, version: MappingVersion("2"))
    #expect(try await device.queue() == [])
    _ = try await device.exchange()
    #expect(try device.record("n") == nil)
    #expect(try device.record("n", "work") == fields)
    #expect(try device.note("n") == Note(text: "x"))
    try await device.close()
    // It is known still that it was not read, and where it is.
    device = try await bench.open(
      "a", [Self.lenient], routes: routes, version: MappingVersion("3"))
    #expect(try await device.queue() == [])
    #expect(try device.note("n") == Note(text: "y"))
    #expect(try device.record("n") == nil)
    #expect(try device.record("n", "work") == fields)
  }
}
