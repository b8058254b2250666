import Cairn
import CairnDisk
import TestSupport
import Testing

/// All objects are mapped once when the mappings have a new version.
@Suite struct MappingVersionTests {
  typealias Note = MappingBench.Note

  struct SharedNote: TableModel {
    static let table = "notes"
    var text: String
    var shout: String?
  }

  /// The second version of a mapping says more of a note than the first.
  private func mapping(_ number: Int, _ told: Told<MappingPass> = Told()) -> ObjectMapping {
    ObjectMapping(
      Note.self, as: SharedNote.self,
      map: { note, pass in
        told.add(pass)
        var shared = SharedNote(text: note.text)
        if number > 1 { shared.shout = note.text.uppercased() }
        return MappedRecord(shared)
      },
      update: { note, shared, _ in
        note = note ?? Note(text: "")
        note?.text = shared.text
      })
  }

  @Test func `all objects are enumerated once for a new version, with its info`() async throws {
    let bench = MappingBench()
    var device = try await bench.open("a", [mapping(1)])
    for id: RecordID in ["m", "n"] { try await device.insert(Note(text: "of \(id)"), id) }
    _ = try await device.exchange()
    try await device.close()
    let told = Told<MappingPass>()
    let version = MappingVersion("2", info: ["since": 2])
    device = try await bench.open("a", [mapping(2, told)], version: version)
    let population = MappingPass.population(info: ["since": 2])
    #expect(told.all.count { $0 == population } == 2)
    #expect(try await device.queue() == [["m.shout", "n.shout"]], "and nothing that is there")
    _ = try await device.exchange()
    #expect(try device.record("n")?["shout"] == "OF N")
    try await device.close()
    let again = Told<MappingPass>()
    device = try await bench.open("a", [mapping(2, again)], version: version)
    #expect(!again.all.contains(population))
    #expect(device.store.outbox.pending == 0)
  }

  @Test func `with the same version an object gets the new shape when it changes`() async throws {
    let bench = MappingBench()
    var device = try await bench.open("a", [mapping(1)])
    for id: RecordID in ["m", "n"] { try await device.insert(Note(text: "of \(id)"), id) }
    _ = try await device.exchange()
    try await device.close()
    device = try await bench.open("a", [mapping(2)])
    #expect(device.store.outbox.pending == 0)
    try await device.update("n") { $0.text = "new" }
    #expect(try await device.queue() == [["n.shout", "n.text"]])
  }

  @Test func `objects that were there before their mapping become records`() async throws {
    let bench = MappingBench()
    var device = try await bench.open("a", [.local(Note.self)], version: MappingVersion("0"))
    try await device.insert(Note(text: "old"), "n")
    #expect(device.store.outbox.pending == 0)
    try await device.close()
    // On the other side there is one of that id already.
    let other = try await bench.open("b")
    try await other.insert(Note(text: "of b", stars: 4), "n")
    _ = try await other.exchange()
    device = try await bench.open("a")
    #expect(try await device.queue() == [["+n"]])
    try await bench.settle([device, other])
    #expect(try device.notes() == other.notes())
    #expect(try device.note("n")?.text == "of b", "who was there first")
  }

  /// Notes that say "here" stay on the device.
  static let keeping: ObjectMapping = .synced(
    Note.self,
    route: { note throws(CairnError) in note.place == "here" ? nil : ObjectMapping.mainRoute })

  @Test func `an object does not become the record that another one is attached to`() async throws {
    let bench = MappingBench()
    let (old, here) = (Note(text: "old data", stars: 2), Note(text: "mine", place: "here"))
    let first = try await bench.open("a", [Self.keeping])
    try first.main.table("notes").insert(["text": "old data", "stars": 2], id: "n")
    try first.main.sync()
    try await first.store.write { objects throws(CairnError) in
      try objects.attach(Note.self, "a", to: "n", uploads: false)
    }
    try await first.insert(here, "n")
    _ = try await first.exchange()
    try await first.close()
    let device = try await bench.open("a", version: MappingVersion("2"))
    #expect(try await device.queue() == [])
    // Nor when it changes.
    let error = await #expect(throws: CairnError.self) {
      try await device.update("n") { $0.text = "edited" }
    }
    #expect(error?.code == .exists && error?.id == "n")
    _ = try await device.exchange()
    #expect(try device.record("n") == ["text": "old data", "stars": 2])
    #expect(try device.notes() == ["a": old, "n": here])
    // When the other one has let go of it it does.
    try await device.delete("a")
    try await device.update("n") { $0.text = "edited" }
    _ = try await device.exchange()
    #expect(try device.record("n") == ["text": "edited", "stars": 0, "place": "here"])
    #expect(device.store.outbox == OutboxStatus())
  }

  @Test func `a route that leads to another datastore gets all objects, and takes none away`()
    async throws
  {
    let bench = MappingBench()
    var device = try await bench.open("a")
    for id: RecordID in ["m", "n"] { try await device.insert(Note(text: "x"), id) }
    _ = try await device.exchange()
    try await device.delete("m")
    _ = try await device.exchange()
    try await device.close()
    let remote = try bench.remote("a", "elsewhere")
    let store = try await ObjectStore.open(
      in: bench.local("a"), remotes: ["main": remote], mappings: [MappingBench.note],
      version: MappingVersion("1"))
    device = MappingDevice(bench: bench, name: "a", store: store, remotes: ["main": remote])
    #expect(try device.notes().count == 1)
    #expect(try await device.queue() == [["+n"]])
    _ = try await device.exchange()
    #expect(try device.record("n")?["text"] == "x")
  }

  @Test func `objects are enumerated once, whatever step of it is cut`() async throws {
    let bench = MappingBench()
    bench.options.limits.deltaBytes = 8000
    var device = try await bench.open("a", [mapping(1)])
    for index in 0..<40 {
      try await device.insert(Note(text: "note \(index)"), RecordID("n\(index)"))
      if index % 10 == 9 { _ = try await device.exchange() }
    }
    try await device.close()
    let before = bench.disk("a").snapshot()
    // A copy counts its steps anew.
    let whole = before.snapshot()
    bench.use(whole, for: "a")
    device = try await bench.open("a", [mapping(2)], version: MappingVersion("2"))
    let count = whole.operations
    #expect(device.store.outbox.queued > 1, "in parts that fit")
    var cuts = 0
    for step in 1...count {
      let home = before.snapshot()
      bench.use(home, for: "a")
      home.powerOff(before: step)
      do {
        _ = try await bench.open("a", [mapping(2)], version: MappingVersion("2"))
      } catch { try #require(home.isOff, "\(error)") }
      if home.isOff { cuts += 1 }
      bench.use(home.crash(keep: .subset(UInt64(step))), for: "a")
      device = try await bench.open("a", [mapping(2)], version: MappingVersion("2"))
      let fields = try await device.queue().joined()
      #expect(fields.count == 40 && Set(fields).count == 40, "cut before step \(step)")
      try await device.close()
      let told = Told<MappingPass>()
      device = try await bench.open("a", [mapping(2, told)], version: MappingVersion("2"))
      #expect(!told.all.contains(.population(info: [:])), "once it is done it is done")
      #expect(try await device.queue().joined().count == 40)
    }
    #expect(cuts > 1 && cuts > count / 2)
  }

  @Test func `what is enumerated goes up in sets that can be uploaded`() async throws {
    let bench = MappingBench()
    bench.options.limits.deltaBytes = 8000
    var device = try await bench.open("a", [.local(Note.self)])
    let text = String(repeating: "x", count: 3000)
    let ids = (0..<6).map { RecordID("n\($0)") }
    for id in ids { try await device.insert(Note(text: text), id) }
    try await device.close()
    device = try await bench.open("a", [MappingBench.note], version: MappingVersion("2"))
    #expect(try await device.queue() == ids.map { ["+\($0)"] })
    _ = try await device.exchange()
    for id in ids { #expect(try device.record(id)?["text"] == .string(text)) }
    #expect(device.store.outbox == OutboxStatus())
  }

  @Test func `new fields of records that have changed go up in sets that can be uploaded`()
    async throws
  {
    let bench = MappingBench()
    bench.options.limits.deltaBytes = 8000
    var device = try await bench.open("a", [mapping(1)])
    let ids = (0..<4).map { RecordID("n\($0)") }
    for id in ids { try await device.insert(Note(text: String(repeating: "x", count: 3000)), id) }
    _ = try await device.exchange()
    try await device.close()
    // The app syncs by itself before it opens its objects: all records are looked at then.
    let main = try bench.remote("a")
    for id in ids { try main.table("notes")[id].set("color", "red") }
    try main.sync()
    try main.close()
    device = try await bench.open("a", [mapping(2)], version: MappingVersion("2"))
    #expect(try await device.queue() == ids.map { ["\($0).shout"] })
    _ = try await device.exchange()
    let shout = Value.string(String(repeating: "X", count: 3000))
    for id in ids { #expect(try device.record(id)?["shout"] == shout) }
    #expect(device.store.outbox == OutboxStatus())
  }

  @Test(arguments: [false, true])
  func `an empty list that a record does not have is nothing new`(isChanged: Bool) async throws {
    let bench = MappingBench()
    var device = try await bench.open("a")
    try await device.insert(Note(text: "x"), "n")
    _ = try await device.exchange()
    #expect(try device.record("n") == ["text": "x", "stars": 0])
    try await device.close()
    if isChanged {
      let main = try bench.remote("a")
      try main.table("notes")["n"].set("stars", 2)
      try main.sync()
      try main.close()
    }
    device = try await bench.open("a", version: MappingVersion("2"))
    #expect(try await device.queue().isEmpty)
    #expect(try device.note("n") == Note(text: "x", stars: isChanged ? 2 : 0))
  }

  @Test func `fields that no record has yet are not lost with a new version of the mappings`()
    async throws
  {
    struct Shared: TableModel {
      static let table = "notes"
      var text: String
      var stars: Int?
    }
    func mapping(_ number: Int) -> ObjectMapping {
      ObjectMapping(
        Note.self, as: Shared.self,
        map: { note, _ in
          MappedRecord(Shared(text: note.text, stars: number > 1 ? note.stars : nil))
        },
        update: { note, shared, _ in
          note = note ?? Note(text: "")
          note?.text = shared.text
          if number > 1 { note?.stars = shared.stars ?? 0 }
        })
    }
    let bench = MappingBench()
    var device = try await bench.open("a", [mapping(1)])
    for id: RecordID in ["m", "n"] { try await device.insert(Note(text: "x", stars: 5), id) }
    _ = try await device.exchange()
    try await device.close()
    // The app syncs by itself before it opens its objects: all records are looked at then.
    let main = try bench.remote("a")
    try main.table("notes")["m"].update(["text": "changed"])
    try main.sync()
    try main.close()
    device = try await bench.open("a", [mapping(2)], version: MappingVersion("2"))
    #expect(try device.note("m") == Note(text: "changed", stars: 5))
    #expect(try device.note("n") == Note(text: "x", stars: 5))
    #expect(Set(try await device.queue().joined()) == ["m.stars", "n.stars"])
    _ = try await device.exchange()
    #expect(try device.record("m") == ["text": "changed", "stars": 5])
  }

  @Test func `what a new version says otherwise of a field goes up, and no object changes`()
    async throws
  {
    let loud = ObjectMapping(
      Note.self, as: SharedNote.self,
      map: { note, _ in MappedRecord(SharedNote(text: note.text.uppercased())) },
      update: { note, shared, _ in
        note = note ?? Note(text: "")
        note?.text = shared.text.lowercased()
      })
    let bench = MappingBench()
    var device = try await bench.open("a", [loud])
    try await device.insert(Note(text: "of n"), "n")
    _ = try await device.exchange()
    #expect(try device.record("n") == ["text": "OF N"])
    try await device.close()
    device = try await bench.open("a", [mapping(1)], version: MappingVersion("2"))
    #expect(try await device.queue() == [["n.text"]])
    #expect(try device.note("n") == Note(text: "of n"))
    _ = try await device.exchange()
    #expect(try device.record("n") == ["text": "of n"])
    #expect(try device.note("n") == Note(text: "of n"))
  }
}
