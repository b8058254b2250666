import Cairn
import TestSupport
import Testing

/// Records and objects that this version of the app can't read: nothing else waits for them, and
/// nothing of them is taken for what it is not.
@Suite struct MappingUnreadableTests {
  typealias Note = MappingBench.Note

  /// Notes of another version of the app, whose stars are a word.
  struct Newer: TableModel {
    static let table = "notes"

    var text: String
    var stars: String
  }

  /// A device with an object of that version.
  private func newer(_ bench: MappingBench) async throws -> MappingDevice {
    let device = try await bench.open("a", [.synced(Newer.self)], version: MappingVersion("2"))
    try await device.store.write { objects throws(CairnError) in
      try objects.insert(Newer(text: "x", stars: "many"), id: "n")
    }
    return device
  }

  /// A device with the notes "m" and "n"; the record of "n" has something that it can't read.
  private func unreadable(_ bench: MappingBench) async throws -> MappingDevice {
    let device = try await bench.open("a")
    for id: RecordID in ["m", "n"] { try await device.insert(Note(text: "x"), id) }
    _ = try await device.exchange()
    try device.main.table("notes")["n"].update(["text": "y", "place": 5])
    try device.main.sync()
    #expect(try await device.store.sync().unreadable.map(\.record) == ["n"])
    return device
  }

  // MARK: objects

  @Test func `an object that this version can't read keeps no store from being opened`()
    async throws
  {
    let bench = MappingBench()
    var a = try await newer(bench)
    _ = try await a.exchange()
    try await a.close()
    a = try await bench.open("a")
    try await a.insert(Note(text: "works"), "m")
    #expect(try await a.exchange().unreadable.contains { $0.record == "n" })
    #expect(try a.record("n")?["stars"] == "many" && a.record("m")?["text"] == "works")
    #expect(a.store.outbox == OutboxStatus())
  }

  @Test func `an object that this version can't upload waits for the next one`() async throws {
    let bench = MappingBench()
    var a = try await newer(bench)
    try await a.close()
    a = try await bench.open("a")
    try await a.insert(Note(text: "works"), "m")
    #expect(try await a.exchange().unreadable.map(\.record) == ["n"])
    #expect(try a.record("m")?["text"] == "works" && a.record("n") == nil)
    var status = OutboxStatus()
    status.held = 1
    #expect(a.store.outbox == status)
    let held = try await a.store.pendingChangeSets()
    #expect(held.map(\.hold) == [.unreadable(records: ["n"])])
    let fields: [String: Value?] = ["text": nil, "stars": nil]
    #expect(held.flatMap(\.changes).map(\.fields) == [fields])
    try await a.close()
    a = try await bench.open("a", [.synced(Newer.self)], version: MappingVersion("2"))
    _ = try await a.exchange()
    #expect(try a.record("n") == ["text": "x", "stars": "many"])
    #expect(a.store.outbox == OutboxStatus())
  }

  // MARK: records

  @Test func `what is pending of a record that can't be read waits until it can be, alone`()
    async throws
  {
    let device = try await unreadable(MappingBench())
    try await device.update("n") { $0.stars = 1 }
    try await device.update("m") { $0.text = "other" }
    #expect(try await device.exchange().unreadable.map(\.record) == ["n"])
    #expect(try device.record("m")?["text"] == "other")
    #expect(device.store.outbox.held == 1 && !device.store.outbox.isSuspended)
    let holds = try await device.store.pendingChangeSets().map(\.hold)
    #expect(holds == [.unreadable(records: ["n"])])
    // Of a set that is held in part the other part goes.
    try await device.store.write { objects throws(CairnError) in
      try objects.update(Note.self, "n") { $0.stars = 2 }
      try objects.update(Note.self, "m") { $0.stars = 3 }
    }
    #expect(device.store.outbox.held == 0, "it is tried again")
    _ = try await device.exchange()
    #expect(try device.record("m")?["stars"] == 3)
    #expect(try await device.queue() == [["n.stars"]])
    #expect(device.store.outbox.held == 1 && device.store.outbox.pending == 1)
    // Now it can be read.
    try device.main.table("notes")["n"].set("place", "home")
    try device.main.sync()
    try await device.store.sync()
    #expect(device.store.outbox.held == 0 && device.store.outbox.queued == 1)
    _ = try await device.exchange()
    #expect(try device.record("n") == ["text": "y", "stars": 2, "place": "home"])
    #expect(try device.note("n") == Note(text: "y", stars: 2, place: "home"))
    #expect(device.store.outbox == OutboxStatus())
  }

  /// Both were changed at once: what waits of the one is a set of its own as soon as the other can
  /// be read, or what is changed next would be uploaded before it.
  @Test func `what can be read again does not wait for what can't`() async throws {
    let device = try await unreadable(MappingBench())
    try device.main.table("notes")["m"].set("place", 5)
    try device.main.sync()
    try await device.store.sync()
    try await device.store.write { objects throws(CairnError) in
      try objects.update(Note.self, "m") { $0.stars = 1 }
      try objects.update(Note.self, "n") { $0.stars = 1 }
    }
    _ = try await device.exchange()
    #expect(device.store.outbox.held == 1 && device.store.outbox.queued == 0)
    try device.main.table("notes")["m"].set("place", "home")
    try device.main.sync()
    try await device.store.sync()
    #expect(device.store.outbox.held == 1 && device.store.outbox.queued == 1)
    _ = try await device.exchange()
    #expect(try device.record("m")?["stars"] == 1)
    #expect(try await device.queue() == [["n.stars"]])
    let holds = try await device.store.pendingChangeSets().map(\.hold)
    #expect(holds == [.unreadable(records: ["n"])])
  }

  @Test func `the delete of a record that can't be read goes, whatever was held of it`()
    async throws
  {
    let device = try await unreadable(MappingBench())
    try await device.update("n") { $0.stars = 1 }
    _ = try await device.exchange()
    #expect(device.store.outbox.held == 1)
    try await device.delete("n")
    #expect(try await device.queue() == [["-n"]])
    _ = try await device.exchange()
    #expect(try device.record("n") == nil)
    #expect(device.store.outbox == OutboxStatus())
  }

  @Test func `an edit of an object whose record can't be read is merged when that can be`()
    async throws
  {
    let bench = MappingBench()
    var device = try await unreadable(bench)
    try await device.update("n") { $0.text = "mine" }
    let change = try await device.store.pendingChangeSets().first?.changes.first
    #expect(change?.originals == ["text": "x"], "what it showed")
    try await device.close()
    device = try await bench.open(
      "a", [MappingUnknownTests.lenient], version: MappingVersion("3"))
    #expect(try device.note("n")?.text == "y")
    #expect(try await device.queue() == [])
  }
}
