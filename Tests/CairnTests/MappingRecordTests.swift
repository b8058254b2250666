import Cairn
import TestSupport
import Testing

/// Which record is an object's own: what is no evidence that one was deleted, and what of the same
/// id is another thing.
@Suite struct MappingRecordTests {
  typealias Note = MappingBench.Note

  private static let routes = ["main", "work"]

  /// Notes of the place "here" stay on the device, as long as they do.
  private func mapping(sharesAll: Bool) -> ObjectMapping {
    .synced(
      Note.self, route: { $0.place == "here" && !sharesAll ? nil : ObjectMapping.mainRoute })
  }

  /// Lets others' changes of one route arrive, as an app does that exchanges by itself.
  private func fetch(_ device: MappingDevice, _ route: String) async throws -> ObjectReport {
    device.bench.clock.advance(by: 3)
    _ = try await #require(device.remotes[route]).exchange()
    return try await device.store.sync()
  }

  // MARK: no evidence

  @Test func `an object that was never uploaded is not taken for one that others deleted`()
    async throws
  {
    let bench = MappingBench()
    var a = try await bench.open("a", [mapping(sharesAll: false)])
    let b = try await bench.open("b", [mapping(sharesAll: true)])
    try await a.insert(Note(text: "draft", place: "here"), "draft")
    for id: RecordID in ["m", "n", "o"] { try await a.insert(Note(text: "x"), id) }
    try await bench.settle([a, b])
    try await b.delete("n")
    try await bench.settle([b])
    try await a.close()
    // The app syncs by itself before it opens its objects: which records changed, nobody told.
    let main = try bench.remote("a")
    _ = try await main.exchange()
    try main.sync()
    try main.table("others").insert(["x": 1], id: "x")
    try main.sync()
    try main.close()
    a = try await bench.open("a", [mapping(sharesAll: true)])
    #expect(try Set(a.notes().keys) == ["draft", "m", "o"], "what had a record, and that one only")
    #expect(try a.note("draft")?.text == "draft")
    try await bench.settle([a, b])
    #expect(try a.note("draft")?.text == "draft")
    try await a.update("draft") { $0.text = "new" }
    #expect(try await a.queue() == [["+draft"]])
    try await bench.settle([a, b])
    #expect(try a.notes() == b.notes())
  }

  // MARK: one device keeps what another shares

  /// Two devices with the notes "made" and "moved" of the second, which shares all: to the first
  /// they are notes that stay on the device, one from the start, the other since it was changed.
  private func kept(_ bench: MappingBench) async throws -> (a: MappingDevice, b: MappingDevice) {
    let a = try await bench.open("a", [mapping(sharesAll: false)])
    let b = try await bench.open("b", [mapping(sharesAll: true)])
    try await b.insert(Note(text: "of b", place: "here"), "made")
    try await b.insert(Note(text: "of b"), "moved")
    #expect(try await bench.settle([b, a]))
    try await b.update("moved") { $0.place = "here" }
    #expect(try await bench.settle([b, a]))
    let note = Note(text: "of b", place: "here")
    for device in [a, b] { #expect(try device.notes() == ["made": note, "moved": note]) }
    return (a, b)
  }

  @Test func `a change of an object that its record makes one of this device deletes no record`()
    async throws
  {
    let bench = MappingBench()
    var (a, b) = try await kept(bench)
    for id: RecordID in ["made", "moved"] { try await a.update(id) { $0.text = "edited" } }
    #expect(try await a.queue() == [])
    #expect(try await bench.settle([a, b]))
    try await a.close()
    // Also not when all objects are enumerated, and after it.
    a = try await bench.open("a", [mapping(sharesAll: false)], version: MappingVersion("2"))
    #expect(try await a.queue() == [])
    for id: RecordID in ["made", "moved"] { try await a.update(id) { $0.stars = 1 } }
    #expect(try await a.queue() == [])
    #expect(try await bench.settle([a, b]))
    let (ours, theirs) = (
      Note(text: "edited", stars: 1, place: "here"), Note(text: "of b", place: "here")
    )
    #expect(try a.notes() == ["made": ours, "moved": ours])
    #expect(try b.notes() == ["made": theirs, "moved": theirs])
    // A version that shares it reads the record again.
    try await a.close()
    a = try await bench.open("a", [mapping(sharesAll: true)], version: MappingVersion("3"))
    #expect(try await a.queue() == [])
    #expect(try a.notes() == ["made": theirs, "moved": theirs])
    try await b.update("made") { $0.text = "new" }
    #expect(try await bench.settle([b, a]))
    #expect(try a.note("made") == Note(text: "new", place: "here"))
  }

  @Test func `what this device shares and keeps again, or deletes, goes from others`()
    async throws
  {
    let bench = MappingBench()
    let (a, b) = try await kept(bench)
    try await a.update("made") { ($0.text, $0.place) = ("shared", "there") }
    #expect(try await bench.settle([a, b]))
    #expect(try b.note("made") == Note(text: "shared", place: "there"))
    try await a.update("made") { $0.place = "here" }
    try await a.delete("moved")
    #expect(try await a.queue() == [["-made"], ["-moved"]])
    #expect(try await bench.settle([a, b]))
    #expect(try b.notes() == [:])
    #expect(try a.notes() == ["made": Note(text: "shared", place: "here")])
  }

  @Test func `a record that comes back to an object which stayed on this device is not deleted`()
    async throws
  {
    let bench = MappingBench()
    let (a, b) = try await kept(bench)
    try await b.delete("made")
    #expect(try await bench.settle([b, a]))
    #expect(try a.note("made") == Note(text: "of b", place: "here"), "nobody deletes what is kept")
    try await b.insert(Note(text: "again", place: "here"), "made")
    #expect(try await bench.settle([b, a]))
    try await a.update("made") { $0.text = "edited" }
    #expect(try await a.queue() == [])
    #expect(try await bench.settle([a, b]))
    #expect(try a.note("made") == Note(text: "edited", place: "here"))
    #expect(try b.note("made") == Note(text: "again", place: "here"))
  }

  // MARK: routes

  /// Two devices with a note of work, which the second one has moved home.
  private func moved(_ bench: MappingBench) async throws -> (a: MappingDevice, b: MappingDevice) {
    let a = try await bench.open("a", [MappingTests.routed], routes: Self.routes)
    let b = try await bench.open("b", [MappingTests.routed], routes: Self.routes)
    for id: RecordID in ["m", "n", "o"] {
      try await a.insert(Note(text: "office", stars: 1, place: "work"), id)
    }
    try await bench.settle([a, b])
    try await b.update("n") { ($0.place, $0.stars) = (nil, 2) }
    _ = try await b.exchange()
    return (a, b)
  }

  @Test(arguments: [true, false])
  func `an object that others have moved is there, whichever route is heard first`(
    newFirst: Bool
  ) async throws {
    let bench = MappingBench()
    let (a, b) = try await moved(bench)
    if newFirst {
      #expect(try await fetch(a, "main").changes.isEmpty)
      #expect(try a.note("n")?.place == "work", "as long as its own record is there")
      #expect(try await fetch(a, "work").changes.map(\.isDeleted) == [false])
    } else {
      _ = try await fetch(a, "work")
      _ = try await fetch(a, "main")
    }
    #expect(try a.note("n") == Note(text: "office", stars: 2))
    #expect(try await bench.settle([a, b]))
    #expect(try a.notes() == b.notes())
    #expect(a.store.outbox == OutboxStatus())
    try await a.update("n") { $0.text = "home" }
    #expect(try await a.queue() == [["n.text"]])
    try await bench.settle([a, b])
    #expect(try b.record("n", "main")?["text"] == "home")
    #expect(try b.record("n", "work") == nil)
    try await a.delete("n")
    try await bench.settle([a, b])
    #expect(try b.record("n", "main") == nil)
    #expect(try a.notes() == b.notes())
  }

  @Test func `what was pending of an object that others have moved goes along`() async throws {
    let bench = MappingBench()
    let (a, b) = try await moved(bench)
    a.store.suspend()
    try await a.update("n") { ($0.text, $0.stars) = ("edited", 11) }
    _ = try await fetch(a, "main")
    #expect(try await a.queue() == [["n.stars", "n.text"]])
    _ = try await fetch(a, "work")
    let change = try #require(try await a.store.pendingChangeSets().first?.changes.first)
    #expect(change.originals == ["text": "office", "stars": 2])
    #expect(try await a.store.pendingChangeSets().map(\.route) == ["main"])
    a.store.resume()
    #expect(try await bench.settle([a, b]))
    #expect(try b.note("n") == Note(text: "edited", stars: 12))
    #expect(try a.notes() == b.notes())
  }

  @Test func `records of one id on two routes do not get into one another`() async throws {
    let bench = MappingBench()
    var a = try await bench.open("a", [MappingTests.routed], routes: Self.routes)
    try await a.insert(Note(text: "of home"), "settings")
    _ = try await a.exchange()
    try await a.update("settings") { $0.text = "of home, new" }
    let work = try #require(a.remotes["work"])
    let fields: [String: Value] = ["text": "of work", "stars": 0, "tags": [], "place": "work"]
    try work.table("notes").insert(fields: fields, id: "settings")
    try work.sync()
    try await a.store.sync()
    #expect(try a.note("settings")?.text == "of home, new")
    #expect(try await a.queue() == [["settings.text"]])
    _ = try await a.exchange()
    #expect(try a.record("settings", "main")?["text"] == "of home, new")
    #expect(try a.record("settings", "work")?["text"] == "of work")
    try await a.close()
    // Nor when all objects are enumerated.
    a = try await bench.open(
      "a", [MappingTests.routed], routes: Self.routes, version: MappingVersion("2"))
    #expect(a.store.outbox.pending == 0)
    try await a.delete("settings")
    _ = try await a.exchange()
    #expect(try a.record("settings", "main") == nil)
    #expect(try a.record("settings", "work")?["text"] == "of work")
  }

  // MARK: records of other ids

  /// Two devices with the record "r", which is the first one's object "mine".
  private func attached(
    _ bench: MappingBench, _ mapping: ObjectMapping = MappingBench.note
  ) async throws -> (a: MappingDevice, b: MappingDevice) {
    let a = try await bench.open("a", [mapping])
    try a.main.table("notes").insert(["text": "old", "stars": 2, "tags": []], id: "r")
    for id: RecordID in ["m", "o"] {
      try a.main.table("notes").insert(["text": "x", "stars": 0, "tags": []], id: id)
    }
    try a.main.sync()
    try await a.store.write { objects throws(CairnError) in
      try objects.attach(Note.self, "mine", to: "r", uploads: false)
    }
    let b = try await bench.open("b", [MappingBench.note])
    try await bench.settle([a, b])
    #expect(try a.note("r") == nil && a.note("mine") != nil && b.note("r") != nil)
    return (a, b)
  }

  @Test func `the pending delete of a record of another id leaves no object behind`() async throws {
    let bench = MappingBench()
    let (a, b) = try await attached(bench)
    try await a.delete("mine")
    try await b.update("r") { $0.text = "of b" }
    _ = try await b.exchange()
    _ = try await a.exchange()
    #expect(try Set(a.notes().keys) == ["m", "o"])
    #expect(try await bench.settle([a, b]))
    #expect(try a.record("r") == nil)
    #expect(try Set(a.notes().keys) == ["m", "o"])
    #expect(try a.notes() == b.notes())
  }

  @Test func `the handler is asked about the delete of a record of another id`() async throws {
    let bench = MappingBench()
    let mapping: ObjectMapping = .synced(Note.self) { merge in
      if merge.isPendingDelete { merge.isDeleted = false }
    }
    let (a, b) = try await attached(bench, mapping)
    try await a.delete("mine")
    try await b.update("r") { $0.text = "of b" }
    _ = try await b.exchange()
    _ = try await a.exchange()
    #expect(try a.note("mine") == Note(text: "of b", stars: 2))
    #expect(try a.note("r") == nil)
    #expect(try await a.store.state(of: Note.self, "mine")?.record == "r")
    #expect(try await bench.settle([a, b]))
    #expect(try b.note("r") == Note(text: "of b", stars: 2))
  }

  @Test func `an object that is made again does not undo the delete of the record it had`()
    async throws
  {
    let bench = MappingBench()
    let (a, b) = try await attached(bench)
    a.store.suspend()
    try await a.delete("mine")
    try await a.insert(Note(text: "another"), "mine")
    #expect(try await a.queue() == [["-mine"], ["+mine"]])
    a.store.resume()
    #expect(try await bench.settle([a, b]))
    #expect(try b.record("r") == nil)
    #expect(try b.note("mine")?.text == "another")
    #expect(try a.notes() == b.notes())
    // And an object of the record's own id takes it over.
    let (c, d) = try await attached(MappingBench(seed: 2))
    c.store.suspend()
    try await c.delete("mine")
    try await c.insert(Note(text: "again"), "r")
    c.store.resume()
    #expect(try await c.bench.settle([c, d]))
    #expect(try d.note("r")?.text == "again")
    #expect(try c.notes() == d.notes())
  }

  @Test func `a record that was detached and is to be deleted becomes no object`() async throws {
    let bench = MappingBench()
    let (a, b) = try await attached(bench)
    try await a.store.write { objects throws(CairnError) in
      try objects.detach(Note.self, "mine", deletesRecord: true)
    }
    try await b.update("r") { $0.text = "of b" }
    _ = try await b.exchange()
    _ = try await a.exchange()
    #expect(try await bench.settle([a, b]))
    #expect(try Set(a.notes().keys) == ["m", "o", "mine"])
    #expect(try Set(b.notes().keys) == ["m", "o"])
  }

  // MARK: functions that refuse

  @Test func `a merge that can't become an object leaves what is pending`() async throws {
    let bench = MappingBench()
    let refuses = Shared(true)
    let mapping = ObjectMapping(
      Note.self, as: Note.self, map: { note, _ in MappedRecord(note) },
      update: { note, shared, _ throws(CairnError) in
        if shared.text == "kept", refuses.withLock({ $0 }) {
          throw CairnError(.illegalArgument, "not this one")
        }
        note = shared
      },
      merge: { merge in
        merge.isDeleted = false
        merge.keep("text", "kept")
      })
    let a = try await bench.open("a", [mapping])
    let b = try await bench.open("b")
    for id: RecordID in ["m", "n", "o"] { try await a.insert(Note(text: "x"), id) }
    try await bench.settle([a, b])
    a.store.suspend()
    for id: RecordID in ["m", "n"] { try await a.update(id) { $0.text = "wanted" } }
    try await b.delete("n")
    try await b.update("m") { $0.text = "of b" }
    _ = try await b.exchange()
    let report = try await a.exchange()
    #expect(report.unreadable.map(\.record) == ["m", "n"])
    #expect(try await a.queue() == [["m.text"], ["n.text"]])
    #expect(try a.note("n")?.text == "wanted" && a.note("m")?.text == "wanted")
    refuses.withLock { $0 = false }
    a.store.resume()
    #expect(try await bench.settle([a, b]))
    #expect(try b.note("n")?.text == "kept" && b.note("m")?.text == "kept")
    #expect(try a.notes() == b.notes())
  }

  @Test func `what a handler keeps and no object can say removes nothing`() async throws {
    struct Titled: TableModel {
      static let table = "notes"
      var text: String
      var place: String?
    }
    let mapping = ObjectMapping(
      Note.self, as: Titled.self,
      map: { note, _ in MappedRecord(Titled(text: note.text, place: note.place)) },
      update: { note, shared, _ in
        note = note ?? Note(text: "")
        note?.text = shared.text
      },
      merge: { merge in
        merge.keep("place", "nowhere")
        merge.keep("", "bad")
        merge.keep("text", "both")
      })
    let bench = MappingBench()
    let a = try await bench.open("a", [mapping])
    let b = try await bench.open("b")
    for id: RecordID in ["m", "n"] { try await b.insert(Note(text: "x", place: "there"), id) }
    try await bench.settle([a, b])
    try await a.update("n") { $0.text = "of a" }
    try await b.update("n") { $0.text = "of b" }
    _ = try await b.exchange()
    #expect(try await bench.settle([a, b]))
    #expect(try b.note("n") == Note(text: "both", place: "there"))
    #expect(!a.store.outbox.isSuspended)
  }

  @Test func `a record is deleted where it is, not where a changed mapping looks for it`()
    async throws
  {
    let bench = MappingBench()
    var a = try await bench.open("a", [MappingTests.routed], routes: Self.routes)
    for id: RecordID in ["m", "n"] { try await a.insert(Note(text: "x", place: "work"), id) }
    _ = try await a.exchange()
    try await a.close()
    a = try await bench.open("a", [MappingBench.note], routes: Self.routes)
    try await a.update("m") { $0.text = "new" }
    try await a.delete("n")
    _ = try await a.exchange()
    #expect(try a.record("m", "work") == nil && a.record("n", "work") == nil)
    #expect(try a.record("m", "main")?["text"] == "new")
  }
}
