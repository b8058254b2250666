import Cairn
import TestSupport
import Testing

/// A write that is refused in its middle, and sets that are let go while they are held: the queue
/// is what it was, and counts right.
@Suite struct MappingRefusalTests {
  typealias Note = MappingBench.Note

  /// Refuses a note with the text "bad".
  private static let picky: ObjectMapping = .synced(
    Note.self,
    route: { note throws(CairnError) in
      if note.text == "bad" { throw CairnError(.cancelled, "not this one") }
      return note.place ?? "main"
    })

  /// A write of a good object and a bad one, which the mapping refuses after it had the good one.
  private func writeBadly(_ device: MappingDevice) async throws {
    let error = await #expect(throws: CairnError.self) {
      try await device.store.write { objects throws(CairnError) in
        try objects.insert(Note(text: "good"), id: "x")
        try objects.insert(Note(text: "bad"), id: "y")
      }
    }
    #expect(error?.code == .cancelled)
  }

  /// A device with a note that waits for the route "work", which is not there.
  private func holding(_ bench: MappingBench) async throws -> MappingDevice {
    let device = try await bench.open("a", [Self.picky], routes: ["main", "work"])
    try await device.insert(Note(text: "office", place: "work"), "w")
    try await device.close()
    let again = try await bench.open("a", [Self.picky])
    var status = OutboxStatus()
    status.held = 1
    try #require(again.store.outbox == status)
    return again
  }

  @Test func `what a refused write had queued does not go up with the next one`() async throws {
    let bench = MappingBench()
    let device = try await bench.open("a", [Self.picky])
    try await writeBadly(device)
    #expect(try await device.queue() == [])
    try await device.insert(Note(text: "next"), "z")
    #expect(try await device.queue() == [["+z"]])
    #expect(device.store.outbox.pending == 1)
    _ = try await device.exchange()
    #expect(try device.main.table("notes").query().map(\.id) == ["z"])
    #expect(device.store.outbox == OutboxStatus())
    try await device.close()
    let again = try await bench.open("a", [Self.picky])
    #expect(try await again.queue() == [])
  }

  @Test func `what is held is held after a refused write, too`() async throws {
    let device = try await holding(MappingBench())
    try await writeBadly(device)
    #expect(try await device.store.pendingChangeSets().map(\.hold) == [.noRoute])
    #expect(try await device.store.currentChangeSet() == nil)
    try await device.insert(Note(text: "home"), "h")
    var status = OutboxStatus()
    (status.queued, status.held) = (1, 1)
    #expect(device.store.outbox == status)
    _ = try await device.exchange()
    status.queued = 0
    #expect(device.store.outbox == status)
  }

  @Test func `a held set of which nothing is left is not counted any more`() async throws {
    let device = try await holding(MappingBench())
    try await device.store.write { objects throws(CairnError) in
      try objects.detach(Note.self, "w", deletesRecord: false)
    }
    #expect(try await device.queue() == [])
    #expect(device.store.outbox == OutboxStatus())
    try await device.insert(Note(text: "home"), "h")
    var status = OutboxStatus()
    status.queued = 1
    #expect(device.store.outbox == status)
  }

  @Test func `objects of one route follow though the datastore of another can't be used`()
    async throws
  {
    let (bench, routes) = (MappingBench(), ["main", "work"])
    let a = try await bench.open("a", [MappingTests.routed], routes: routes)
    let b = try await bench.open("b", [MappingTests.routed], routes: routes)
    try await a.insert(Note(text: "office", place: "work"), "w")
    _ = try await a.exchange()
    try await #require(b.remotes["work"]).exchange()
    try b.main.close()
    let error = await #expect(throws: CairnError.self) { try await b.store.sync() }
    #expect(error?.code == .closed)
    #expect(try b.note("w")?.text == "office")
  }
}
