import Cairn
import TestSupport
import Testing

/// Versions of an app that lack a mapping or a route: nothing that is pending gets lost.
@Suite struct MappingAbsentTests {
  typealias Note = MappingBench.Note

  struct Task: TableModel, Equatable {
    static let table = "tasks"
    static let rules: [String: ResolutionRule] = ["done": .sum]

    var name: String
    var done = 0
  }

  static let task: ObjectMapping = .synced(Task.self)
  static let both = [MappingBench.note, task]
  static let notes = [MappingBench.note]

  private func write(
    _ device: MappingDevice,
    _ body: @Sendable (inout ObjectTransaction) throws(CairnError) -> Void
  ) async throws {
    device.bench.clock.advance(by: 3)
    try await device.store.write(body)
  }

  private func task(_ device: MappingDevice, _ id: RecordID) throws -> Task? {
    try device.store.objects(Task.self).get(id)
  }

  private func tasks(_ device: MappingDevice) throws -> [RecordID: Task] {
    let all = try device.store.objects(Task.self).objects()
    return Dictionary(all.map { ($0.id, $0.object) }) { first, _ in first }
  }

  /// Two devices with the tasks "kept", "edited" and "deleted"; the first has changes of them
  /// pending, in a set with one of a note.
  private func scene(_ bench: MappingBench) async throws -> (a: MappingDevice, b: MappingDevice) {
    let a = try await bench.open("a", Self.both)
    let b = try await bench.open("b", Self.both)
    try await write(a) { objects throws(CairnError) in
      for id: RecordID in ["kept", "edited", "deleted"] {
        try objects.insert(Task(name: "old", done: 1), id: id)
      }
      for id: RecordID in ["m", "n"] { try objects.insert(Note(text: "old"), id: id) }
    }
    try await bench.settle([a, b])
    try await write(a) { objects throws(CairnError) in
      try objects.update(Task.self, "edited") { ($0.name, $0.done) = ("new", 3) }
      try objects.update(Note.self, "n") { $0.text = "new" }
    }
    try await write(a) { objects throws(CairnError) in
      try objects.delete(Task.self, "deleted")
      try objects.insert(Task(name: "made"), id: "made")
    }
    return (a, b)
  }

  @Test func `what is pending without a mapping is held, said, and goes on when it is back`()
    async throws
  {
    let bench = MappingBench()
    var (a, b) = try await scene(bench)
    let names = try await a.store.pendingChangeSets().map(\.id)
    try await a.close()
    a = try await bench.open("a", Self.notes)
    // The set of the note can go; what was with it waits.
    #expect(
      try await a.queue()
        == [["n.text"], ["edited.done", "edited.name"], ["-deleted", "+made"]])
    var status = OutboxStatus()
    (status.queued, status.held) = (1, 2)
    #expect(a.store.outbox == status && status.pending == 3)
    #expect(try await a.store.currentChangeSet()?.id == names.first)
    for _ in 0..<2 { _ = try await a.exchange() }
    #expect(try a.record("n")?["text"] == "new")
    let held = try await a.store.pendingChangeSets()
    #expect(held.map(\.hold) == [.noMapping(tables: ["tasks"]), .noMapping(tables: ["tasks"])])
    #expect(try await a.store.currentChangeSet() == nil)
    let edited = try #require(held.flatMap(\.changes).first { $0.object == "edited" })
    #expect(Set(edited.fields.keys) == ["name", "done"])
    #expect(edited.originals == ["name": "old", "done": 1])
    // Others go on meanwhile.
    try await write(b) { objects throws(CairnError) in
      try objects.update(Task.self, "edited") { ($0.name, $0.done) = ("of b", 11) }
    }
    _ = try await b.exchange()
    #expect(try tasks(b).count == 3)
    _ = try await a.exchange()
    #expect(a.store.outbox.held == 2 && a.store.outbox.queued == 0)
    try await a.close()
    // It is back, and what is pending is merged with what others did.
    a = try await bench.open("a", Self.both, suspendCount: 1)
    #expect(a.store.outbox.held == 0 && a.store.outbox.queued > 0)
    #expect(try await a.store.pendingChangeSets().allSatisfy { $0.hold == nil })
    #expect(try task(a, "edited") == Task(name: "of b", done: 13))
    a.store.resume()
    #expect(try await bench.settle([a, b]))
    let expected: [RecordID: Task] = [
      "kept": Task(name: "old", done: 1), "edited": Task(name: "of b", done: 13),
      "made": Task(name: "made"),
    ]
    #expect(try tasks(a) == expected)
    #expect(try tasks(b) == expected)
    #expect(a.store.outbox == OutboxStatus())
  }

  @Test func `what others did while a mapping was away is caught up with`() async throws {
    let bench = MappingBench()
    var (a, b) = try await scene(bench)
    try await bench.settle([a, b])
    try await write(a) { objects throws(CairnError) in
      try objects.update(Task.self, "kept") { $0.done = 5 }
    }
    try await a.close()
    a = try await bench.open("a", Self.notes)
    try await write(b) { objects throws(CairnError) in
      try objects.delete(Task.self, "edited")
      try objects.update(Task.self, "made") { $0.done = 7 }
      try objects.insert(Task(name: "later"), id: "later")
    }
    _ = try await b.exchange()
    for _ in 0..<2 { _ = try await a.exchange() }
    try await a.close()
    a = try await bench.open("a", Self.both, suspendCount: 1)
    let expected: [RecordID: Task] = [
      "kept": Task(name: "old", done: 5), "made": Task(name: "made", done: 7),
      "later": Task(name: "later"),
    ]
    #expect(try tasks(a) == expected)
    #expect(try await a.queue() == [["kept.done"]], "and nothing else is to be uploaded")
    a.store.resume()
    #expect(try await bench.settle([a, b]))
    #expect(try tasks(b) == expected)
  }

  @Test func `a mapping that is new finds the records that were there before it`() async throws {
    let bench = MappingBench()
    var a = try await bench.open("a", Self.notes)
    let b = try await bench.open("b", Self.both)
    try await write(b) { objects throws(CairnError) in
      try objects.insert(Task(name: "of b"), id: "t")
      try objects.insert(Note(text: "of b"), id: "n")
    }
    try await bench.settle([a, b])
    try await a.close()
    a = try await bench.open("a", Self.both)
    #expect(try task(a, "t") == Task(name: "of b"))
    #expect(a.store.outbox.pending == 0)
    try await a.close()
    // Its own objects are looked at as well, with the same version of the mappings.
    a = try await bench.open("a", [MappingBench.note, .local(Task.self)])
    try await write(a) { objects throws(CairnError) in
      try objects.insert(Task(name: "here"), id: "u")
    }
    try await a.close()
    a = try await bench.open("a", Self.both)
    #expect(try await a.queue() == [["+u"]], "what was made while nobody mapped it is no delete")
    #expect(try await bench.settle([a, b]))
    #expect(try tasks(a) == tasks(b))
    #expect(try tasks(b).count == 2)
  }

  @Test(arguments: [false, true])
  func `an object that was detached and goes while its table stays here leaves nothing`(
    deletesRecord: Bool
  ) async throws {
    let bench = MappingBench()
    var a = try await bench.open("a", Self.notes)
    try await a.insert(Note(text: "old"), "n")
    try await bench.settle([a])
    try await write(a) { objects throws(CairnError) in
      try objects.detach(Note.self, "n", deletesRecord: deletesRecord)
    }
    try await bench.settle([a])
    try await a.close()
    a = try await bench.open("a", [.local(Note.self)])
    try await a.delete("n")
    try await a.close()
    a = try await bench.open("a", Self.notes)
    // The record is an object again.
    #expect(try a.notes() == (deletesRecord ? [:] : ["n": Note(text: "old")]))
    if deletesRecord {
      try await a.insert(Note(text: "new"), "n")
    } else {
      try await a.update("n") { $0.text = "new" }
    }
    #expect(try await a.queue() == [deletesRecord ? ["+n"] : ["n.text"]])
    _ = try await a.exchange()
    #expect(try a.record("n") == ["text": "new", "stars": 0])
    #expect(a.store.outbox == OutboxStatus())
  }

  @Test func `what is pending of another table of records waits beside the new one`() async throws {
    struct SharedTask: TableModel {
      static let table = "work"
      var name: String
    }
    let moved = ObjectMapping(
      Task.self, as: SharedTask.self, map: { task, _ in MappedRecord(SharedTask(name: task.name)) },
      update: { task, shared, _ in
        task = task ?? Task(name: "")
        task?.name = shared.name
      })
    let bench = MappingBench()
    var a = try await bench.open("a", [Self.task], suspendCount: 1)
    try await write(a) { objects throws(CairnError) in
      try objects.insert(Task(name: "x", done: 2), id: "t")
    }
    try await a.close()
    a = try await bench.open("a", [moved])
    var status = OutboxStatus()
    (status.queued, status.held) = (1, 1)
    #expect(a.store.outbox == status)
    try await write(a) { objects throws(CairnError) in
      try objects.update(Task.self, "t") { $0.name = "y" }
    }
    _ = try await a.exchange()
    #expect(try a.main.table("work").record("t")?.fields == ["name": "y"])
    #expect(try a.main.table("tasks").count == 0)
    #expect(a.store.outbox.held == 1 && a.store.outbox.pending == 1)
    try await a.close()
    a = try await bench.open("a", [Self.task])
    _ = try await a.exchange()
    #expect(try a.main.table("tasks").record("t")?.fields == ["name": "y", "done": 2])
    #expect(a.store.outbox == OutboxStatus())
  }

  @Test func `what is pending on a route that is not there waits for it`() async throws {
    let bench = MappingBench()
    var a = try await bench.open("a", [MappingTests.routed], routes: ["main", "work"])
    try await a.insert(Note(text: "office", place: "work"), "w")
    try await a.insert(Note(text: "home"), "h")
    try await a.close()
    a = try await bench.open("a", [MappingTests.routed])
    let sets = try await a.store.pendingChangeSets()
    #expect(sets.map(\.hold) == [.noRoute, nil])
    #expect(sets.first?.changes.map(\.kind) == [.insert])
    _ = try await a.exchange()
    #expect(a.store.outbox.held == 1 && a.store.outbox.pending == 1)
    #expect(try a.record("h") != nil)
    try await a.close()
    a = try await bench.open("a", [MappingTests.routed], routes: ["main", "work"])
    #expect(a.store.outbox.queued == 1)
    _ = try await a.exchange()
    #expect(try a.record("w", "work")?["text"] == "office")
    #expect(a.store.outbox == OutboxStatus())
  }
}
