import Cairn
import TestSupport
import Testing

/// Objects and records are brought together and taken apart.
@Suite struct ObjectAttachTests {
  typealias Note = MappingBench.Note

  /// The table of notes, of which it says nothing.
  struct Anything: TableModel {
    static let table = "notes"
  }

  private func attach(
    _ device: MappingDevice, _ id: RecordID, to record: RecordID, uploads: Bool
  ) async throws {
    try await device.store.write { objects throws(CairnError) in
      try objects.attach(Note.self, id, to: record, uploads: uploads)
    }
  }

  private func detach(
    _ device: MappingDevice, _ id: RecordID, deletesRecord: Bool
  ) async throws {
    try await device.store.write { objects throws(CairnError) in
      try objects.detach(Note.self, id, deletesRecord: deletesRecord)
    }
  }

  /// Changes a record as another device would.
  private func write(
    _ device: MappingDevice, _ id: RecordID, _ fields: [String: Value]
  ) async throws {
    let table = try device.main.table("notes")
    if let record = try table.record(id) {
      try record.update(fields.mapValues { $0 })
    } else {
      try table.insert(fields: fields, id: id)
    }
    try device.main.sync()
    try await device.store.sync()
  }

  @Test func `an object adopts a record of another id, and follows it`() async throws {
    let bench = MappingBench()
    let device = try await bench.open("a")
    try device.main.table("notes").insert(
      ["text": "old data", "stars": 2, "tags": []], id: "r")
    try device.main.sync()
    // Attached before anybody has made an object of it.
    try await attach(device, "mine", to: "r", uploads: false)
    #expect(try device.note("mine") == Note(text: "old data", stars: 2))
    #expect(device.store.outbox.pending == 0)
    try await device.store.sync()
    #expect(try device.note("r") == nil, "a record is one object")
    try await write(device, "r", ["text": "from elsewhere"])
    #expect(try device.note("mine")?.text == "from elsewhere")
    try await device.update("mine") { $0.text = "from here" }
    let change = try #require(try await device.store.pendingChangeSets().first?.changes.first)
    #expect(change.object == "mine" && change.record == "r")
    _ = try await device.exchange()
    #expect(try device.record("r")?["text"] == "from here")
    let found = try #require(try await device.store.object(of: "r", in: "notes"))
    #expect(found.table == "notes" && found.id == "mine")
    #expect(try await device.store.object(of: "mine", in: "notes") == nil)
    try await device.close()
    let again = try await bench.open("a")
    #expect(try await again.store.state(of: Note.self, "mine")?.record == "r")
    try await again.delete("mine")
    _ = try await again.exchange()
    #expect(try again.record("r") == nil)
  }

  @Test(arguments: [true, false])
  func `an object is attached, and what differs is uploaded`(hasList: Bool) async throws {
    let device = try await MappingBench().open("a")
    try await device.store.write { objects throws(CairnError) in
      try objects.insert(Note(text: "mine", stars: 1), id: "n")
      try objects.detach(Note.self, "n", deletesRecord: false)
    }
    #expect(device.store.outbox.pending == 0)
    var record: [String: Value] = ["text": "old data", "stars": 1, "other": true]
    // An empty list and none are the same.
    if hasList { record["tags"] = .list([]) }
    try device.main.table("notes").insert(fields: record, id: "r")
    try device.main.sync()
    try await attach(device, "n", to: "r", uploads: true)
    #expect(try await device.queue() == [["n.text"]])
    _ = try await device.exchange()
    record["text"] = "mine"
    #expect(try device.record("r") == record)
    #expect(try device.record("n") == nil)
  }

  @Test func `an object has one record, and a record one object`() async throws {
    let device = try await MappingBench().open("a")
    for id: RecordID in ["m", "n"] { try await device.insert(Note(text: "x"), id) }
    _ = try await device.exchange()
    for (object, record) in [("m", "new"), ("new", "n"), ("m", "n")] {
      let error = await #expect(throws: CairnError.self) {
        try await attach(device, RecordID(object), to: RecordID(record), uploads: false)
      }
      #expect(error?.code == .exists, "\(object) to \(record)")
    }
    let error = await #expect(throws: CairnError.self) {
      try await attach(device, "new", to: "newer", uploads: false)
    }
    #expect(error?.code == .notFound)
    let nothing = await #expect(throws: CairnError.self) {
      try await attach(device, "new", to: "newer", uploads: true)
    }
    #expect(nothing?.code == .notFound)
    let missing = await #expect(throws: CairnError.self) {
      try await device.store.write { objects throws(CairnError) in
        try objects.attach(Note.self, "new", to: "n", route: "work", uploads: true)
      }
    }
    #expect(missing?.code == .illegalArgument)
    #expect(try device.notes().count == 2)
    #expect(device.store.outbox.pending == 0)
  }

  @Test func `an object that stays here by its mapping follows no record, which nobody deletes`()
    async throws
  {
    let bench = MappingBench()
    let keeping = MappingVersionTests.keeping
    let a = try await bench.open("a", [keeping])
    let b = try await bench.open("b")
    try await b.insert(Note(text: "of b"), "profile")
    _ = try await b.exchange()
    try await a.insert(Note(text: "of a", place: "here"), "profile")
    _ = try await a.exchange()
    let error = await #expect(throws: CairnError.self) {
      try await a.store.write { objects throws(CairnError) in
        try objects.insert(Note(text: "new"), id: "n")
        try objects.attach(Note.self, "profile", to: "profile", uploads: false)
      }
    }
    #expect(error?.code == .invalidOperation && error?.id == "profile")
    #expect(try a.notes() == ["profile": Note(text: "of a", place: "here")])
    #expect(a.store.outbox == OutboxStatus())
    try await a.update("profile") { $0.text = "edited" }
    #expect(try await a.queue() == [])
    _ = try await a.exchange()
    #expect(try a.record("profile") == ["text": "of b", "stars": 0])
    try await a.close()
    let again = try await bench.open("a", [keeping], version: MappingVersion("2"))
    #expect(try await again.queue() == [])
    #expect(try await bench.settle([again, b]))
    #expect(try again.record("profile") == ["text": "of b", "stars": 0])
    #expect(try again.notes() == ["profile": Note(text: "edited", place: "here")])
    #expect(try b.notes() == ["profile": Note(text: "of b")])
  }

  @Test(arguments: [true, false])
  func `an object that would stay here once it has followed a record does not follow it`(
    isThere: Bool
  ) async throws {
    let device = try await MappingBench().open("a", [MappingVersionTests.keeping])
    if isThere {
      try await device.store.write { objects throws(CairnError) in
        try objects.insert(Note(text: "mine"), id: "mine")
        try objects.detach(Note.self, "mine", deletesRecord: false)
      }
    }
    let record: [String: Value] = ["text": "t", "stars": 0, "place": "here"]
    try device.main.table("notes").insert(fields: record, id: "profile")
    try device.main.sync()
    let error = await #expect(throws: CairnError.self) {
      try await attach(device, "mine", to: "profile", uploads: false)
    }
    #expect(error?.code == .invalidOperation && error?.id == "mine")
    #expect(try device.note("mine") == (isThere ? Note(text: "mine") : nil))
    #expect(device.store.outbox == OutboxStatus())
    let state = try await device.store.state(of: Note.self, "mine")
    #expect(state?.isDetached == (isThere ? true : nil))
    if isThere { try await device.update("mine") { $0.text = "x" } }
    #expect(try await device.queue() == [])
    _ = try await device.exchange()
    #expect(try device.record("profile") == record)
  }

  @Test func `a new object does not become the record that another one is attached to`()
    async throws
  {
    let device = try await MappingBench().open("a")
    try device.main.table("notes").insert(["text": "old data", "stars": 2, "tags": []], id: "r")
    try device.main.sync()
    try await attach(device, "z", to: "r", uploads: false)
    let old = Note(text: "old data", stars: 2)
    let error = await #expect(throws: CairnError.self) {
      try await device.insert(Note(text: "new"), "r")
    }
    #expect(error?.code == .exists && error?.id == "r")
    #expect(try device.notes() == ["z": old])
    #expect(device.store.outbox == OutboxStatus())
    _ = try await device.exchange()
    #expect(try device.record("r") == ["text": "old data", "stars": 2, "tags": []])
    // When the other one lets go of it in the same write it does.
    try await device.store.write { objects throws(CairnError) in
      try objects.insert(Note(text: "new"), id: "r")
      try objects.detach(Note.self, "z", deletesRecord: false)
    }
    _ = try await device.exchange()
    #expect(try device.record("r")?["text"] == "new")
    #expect(try device.notes() == ["r": Note(text: "new"), "z": old])
  }

  @Test func `a record of the id of an object that has another record is not that object`()
    async throws
  {
    let device = try await MappingBench().open("a")
    try device.main.table("notes").insert(["text": "old data", "stars": 2], id: "r")
    try device.main.sync()
    try await attach(device, "z", to: "r", uploads: false)
    let old = Note(text: "old data", stars: 2)
    #expect(try device.notes() == ["z": old])
    try await write(device, "z", ["text": "another thing", "stars": 5])
    #expect(try device.notes() == ["z": old])
    #expect(device.store.outbox == OutboxStatus())
    _ = try await device.exchange()
    #expect(try device.notes() == ["z": old])
    #expect(try device.record("r") == ["text": "old data", "stars": 2])
    #expect(try device.record("z") == ["text": "another thing", "stars": 5])
    #expect(try await device.store.state(of: Note.self, "z")?.record == "r")
  }

  enum Release: CaseIterable { case delete, detach, detachAndDelete }

  @Test(arguments: Release.allCases, ["a", "z"] as [RecordID])
  func `an object takes over the record that another one lets go of in the same write`(
    release: Release, id: RecordID
  ) async throws {
    let (mine, theirs) = (Note(text: "mine", stars: 1), Note(text: "theirs", stars: 2))
    let cases: [(RecordID, Bool)] = [("m", true), ("m", false), ("r", true), ("r", false)]
    for (record, uploads) in cases {
      let device = try await MappingBench().open("a")
      try device.main.table("notes").insert(["text": "theirs", "stars": 2], id: record)
      try device.main.sync()
      if record == "m" {
        try await device.store.sync()
      } else {
        try await attach(device, "m", to: record, uploads: false)
      }
      try await device.store.write { objects throws(CairnError) in
        try objects.insert(mine, id: id)
        try objects.detach(Note.self, id, deletesRecord: false)
      }
      try await device.store.write { objects throws(CairnError) in
        try objects.attach(Note.self, id, to: record, uploads: uploads)
        switch release {
        case .delete: try objects.delete(Note.self, "m")
        case .detach: try objects.detach(Note.self, "m", deletesRecord: false)
        case .detachAndDelete: try objects.detach(Note.self, "m", deletesRecord: true)
        }
      }
      let queue = uploads ? [["\(id).stars", "\(id).text"]] : []
      #expect(try await device.queue() == queue)
      _ = try await device.exchange()
      var fields: [String: Value] = ["text": "theirs", "stars": 2]
      if uploads { fields = ["text": "mine", "stars": 1] }
      #expect(try device.record(record) == fields)
      var notes = [id: uploads ? mine : theirs]
      if release != .delete { notes["m"] = theirs }
      #expect(try device.notes() == notes)
      #expect(try await device.store.state(of: Note.self, id)?.record == record)
      #expect(device.store.outbox == OutboxStatus())
    }
  }

  @Test(arguments: [true, false])
  func `a detached object stays here, and its record as long as it is wanted`(
    deletes: Bool
  ) async throws {
    let bench = MappingBench()
    let a = try await bench.open("a")
    let b = try await bench.open("b")
    for id: RecordID in ["m", "n"] { try await a.insert(Note(text: "x"), id) }
    try await bench.settle([a, b])
    try await a.update("n") { $0.text = "not yet uploaded" }
    try await detach(a, "n", deletesRecord: deletes)
    #expect(try await a.queue() == (deletes ? [["-n"]] : []))
    try await bench.settle([a, b])
    #expect(try b.note("n")?.text == (deletes ? nil : "x"))
    #expect(try a.note("n")?.text == "not yet uploaded")
    let state = try #require(try await a.store.state(of: Note.self, "n"))
    #expect(state.isDetached && state.hasRecord == !deletes && state.pendingFields.isEmpty)
    // Neither follows the other.
    try await a.update("n") { $0.text = "of a" }
    #expect(a.store.outbox.pending == 0)
    if !deletes { try await b.update("n") { $0.text = "of b" } }
    try await bench.settle([a, b])
    #expect(try a.note("n")?.text == "of a")
    try await a.close()
    let again = try await bench.open("a", version: MappingVersion("2"))
    #expect(again.store.outbox.pending == 0, "also when all objects are enumerated")
    // Together again, and the object counts.
    try await attach(again, "n", to: "n", uploads: true)
    try await bench.settle([again, b])
    #expect(try b.note("n")?.text == "of a")
  }

  @Test func `a deleted record takes its object along, and nothing is uploaded for it`()
    async throws
  {
    let bench = MappingBench()
    let a = try await bench.open("a")
    let b = try await bench.open("b")
    for id: RecordID in ["m", "n"] { try await a.insert(Note(text: "x"), id) }
    try await bench.settle([a, b])
    try await b.delete("n")
    _ = try await b.exchange()
    let report = try await a.exchange()
    let change = try #require(report.changes.first)
    #expect(report.changes.count == 1)
    #expect(change.table == "notes" && change.id == "n" && change.isDeleted)
    #expect(a.store.outbox.pending == 0)
    #expect(try await a.store.state(of: Note.self, "n") == nil)
  }

  @Test func `an object says how it stands to its record`() async throws {
    let device = try await MappingBench().open("a")
    #expect(try await device.store.state(of: Note.self, "n") == nil)
    try await device.insert(Note(text: "x"), "n")
    var state = try #require(try await device.store.state(of: Note.self, "n"))
    #expect(state.route == "main" && state.recordTable == "notes" && state.record == "n")
    #expect(!state.hasRecord && state.pendingFields == ["stars", "tags", "text"])
    _ = try await device.exchange()
    state = try #require(try await device.store.state(of: Note.self, "n"))
    #expect(state.hasRecord && state.pendingFields.isEmpty && !state.hasPendingDelete)
    try await device.delete("n")
    state = try #require(try await device.store.state(of: Note.self, "n"))
    #expect(state.hasRecord && state.hasPendingDelete)
  }

  @Test func `own changes do not come back as those of others`() async throws {
    let bench = MappingBench()
    let a = try await bench.open("a")
    let b = try await bench.open("b")
    try await a.insert(Note(text: "x"), "n")
    var report = try await a.exchange()
    #expect(report.changes.isEmpty)
    report = try await b.exchange()
    #expect(report.changes.map(\.id) == ["n"])
    for device in [a, b, a, b] {
      let report = try await device.exchange()
      #expect(report.changes.isEmpty && report.merges == 0)
    }
  }

  @Test func `a record that is no object is left alone and told`() async throws {
    let bench = MappingBench()
    let device = try await bench.open("a")
    try device.main.table("notes").insert(["text": 5], id: "odd")
    try device.main.table("notes").insert(["text": "x", "stars": 0, "tags": []], id: "n")
    try device.main.sync()
    let report = try await device.store.sync()
    #expect(report.unreadable.map(\.record) == ["odd"])
    #expect(report.unreadable.first?.error.code == .badType)
    #expect(try device.notes().keys.map { $0 } == ["n"])
    #expect(try device.record("odd") == ["text": 5])
    try await device.close()
    // Another version of the mappings gets it again, and may know what to make of it.
    let again = try await bench.open("a", version: MappingVersion("2"))
    #expect(try await again.store.sync().unreadable.map(\.record) == ["odd"])
    #expect(try await again.store.sync().unreadable.isEmpty)
    try await again.close()
    let lenient = ObjectMapping(
      Note.self, as: Anything.self, map: { _, _ in MappedRecord(Anything()) },
      update: { note, _, _ in note = note ?? Note(text: "made readable") })
    let third = try await bench.open("a", [lenient], version: MappingVersion("3"))
    #expect(try third.note("odd") == Note(text: "made readable"))
    #expect(try third.note("n")?.text == "x")
    #expect(third.store.outbox.pending == 0)
  }

  @Test func `what is pending of an attached object goes with its record, not to its id elsewhere`()
    async throws
  {
    let device = try await MappingBench().open("a", routes: ["main", "work"])
    try device.main.table("notes").insert(["text": "old data", "stars": 2], id: "r")
    try device.main.sync()
    try await attach(device, "z", to: "r", uploads: false)
    let work = try #require(device.remotes["work"])
    try work.table("notes").insert(["text": "another thing", "stars": 5], id: "z")
    try work.sync()
    try await device.store.sync()
    #expect(try device.notes() == ["z": Note(text: "old data", stars: 2)])
    device.store.suspend()
    try await device.update("z") { $0.text = "edited" }
    try device.main.table("notes")["r"].delete()
    try device.main.sync()
    try await device.store.sync()
    // The one on the other route is no longer hidden.
    #expect(try device.notes() == ["z": Note(text: "another thing", stars: 5)])
    #expect(try await device.queue() == [])
    #expect(try device.record("z", "work") == ["text": "another thing", "stars": 5])
  }
}
