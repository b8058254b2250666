import Cairn
import TestSupport
import Testing

/// A version of an app in which neither a mapping nor the route of its records is there.
@Suite struct MappingAbsentRouteTests {
  struct Chore: TableModel, Equatable {
    static let table = "chores"

    var name: String
  }

  private static let both: [ObjectMapping] = [MappingBench.note, .synced(Chore.self)]

  private func insert(_ device: MappingDevice, _ id: RecordID) async throws {
    try await device.store.write { objects throws(CairnError) in
      try objects.insert(Chore(name: "of \(id)"), id: id)
    }
  }

  @Test func `what was made while a table stayed here goes up when its route is back`()
    async throws
  {
    let bench = MappingBench()
    var a = try await bench.open("a", Self.both)
    try await insert(a, "before")
    try await bench.settle([a])
    try await a.close()
    // Nothing of the route is looked at meanwhile.
    a = try await bench.open("a", [MappingBench.note, .local(Chore.self)], routes: [])
    try await insert(a, "meanwhile")
    #expect(a.store.outbox == OutboxStatus())
    try await a.close()
    a = try await bench.open("a", Self.both)
    #expect(try await a.queue() == [["+meanwhile"]])
    try await bench.settle([a])
    let records = try a.main.table("chores").query().map(\.id.description)
    #expect(records.sorted() == ["before", "meanwhile"])
  }

  /// Whose record nobody can delete there would come back with it.
  @Test func `an object whose record's route is not there can move, and can't be deleted`()
    async throws
  {
    typealias Note = MappingBench.Note
    let bench = MappingBench()
    let before = try await bench.open("a", [MappingTests.routed], routes: ["main", "work"])
    for id in ["d", "m"] as [RecordID] {
      try await before.insert(Note(text: "office", place: "work"), id)
    }
    try await bench.settle([before])
    try await before.close()
    let a = try await bench.open("a", [MappingTests.routed])
    let error = await #expect(throws: CairnError.self) { try await a.delete("d") }
    #expect(error?.code == .illegalArgument && error?.id == "work")
    #expect(try a.note("d") == Note(text: "office", place: "work"))
    #expect(a.store.outbox == OutboxStatus())
    try await a.update("m") { $0.place = nil }
    #expect(try await a.queue() == [["+m"]])
    _ = try await a.exchange()
    #expect(try a.record("m")?["text"] == "office")
    #expect(try a.note("m") == Note(text: "office"))
    #expect(a.store.outbox == OutboxStatus())
  }
}
