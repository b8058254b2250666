import Cairn
import TestSupport
import Testing

/// The page about typed records: its samples, compiled and run.
@Suite struct TypedPageTests {
  // A sample of the page begins here.
  struct Task: TableModel {
    static let table = "tasks"
    static let rules: [String: ResolutionRule] = ["votes": .sum]

    var title: String
    var done = false
    var votes = 0
    var due: Timestamp?
    var tags: [String] = []
  }
  // It ends here.

  private func samples(
    _ datastore: Datastore, print: (String) -> Void
  ) throws -> TypedTable<Task> {
    // A sample of the page begins here.
    let tasks = try datastore.table(of: Task.self)
    let stone = try tasks.insert(Task(title: "Find a flat stone", tags: ["outside"]))
    try datastore.sync()

    if let task = try tasks.get(stone.id) {
      print(task.title)
    }
    for task in try tasks.records(where: ["done": false]) {
      print("\(task.id): \(task.value.title)")
    }
    // It ends here.
    print("\(stone.id)")
    // A sample of the page begins here.
    try tasks.update(stone.id) { $0.done = true }  // writes one field
    try tasks.update(stone.id) { $0.votes += 1 }
    try tasks.update(stone.id) { $0.due = nil }  // removes the field

    let raw = tasks.table[stone.id]
    try raw.set("color", "grey")  // the model does not know this field: it stays
    // It ends here.
    return tasks
  }

  // A sample of the page begins here.
  struct Note: TableModel, Identifiable {
    static let table = "notes"

    var id = RecordID.random()
    var text: String
  }
  // It ends here.

  private func readable(
    _ tasks: TypedTable<Task>, print: (String) -> Void
  ) throws -> [TypedRecord<Task>] {
    // A sample of the page begins here.
    let readable = try tasks.records { record, error in
      print("\(record.id) is left out: \(error)")
    }
    // It ends here.
    return readable
  }

  // A sample of the page begins here.
  struct Stage: RawRepresentable, Codable, Hashable, Sendable {
    static let open = Stage(rawValue: "open")
    static let done = Stage(rawValue: "done")

    var rawValue: String
  }
  // It ends here.

  private struct Staged: Codable, Equatable {
    var stage: Stage
  }

  @Test func `a structure of raw values takes what another version has written`() throws {
    let bench = try TypedBench()
    let table = try bench.table(of: Staged.self)
    try table.insert(Staged(stage: .open), id: "r")
    #expect(try table.table["r"].fields == ["stage": "open"])
    try table.table["r"].set("stage", "paused")
    #expect(try table.get("r") == Staged(stage: Stage(rawValue: "paused")))
    try table.update("r") { $0.stage = .done }
    #expect(try table.table["r"].get("stage") == "done")
  }

  @Test func `the samples do what they say`() throws {
    let bench = try TypedBench()
    var printed: [String] = []
    let tasks = try samples(bench.datastore) { printed.append($0) }
    let id = try #require(printed.last)
    #expect(printed == ["Find a flat stone", "\(id): Find a flat stone", id])
    let fields: [String: Value] = [
      "title": "Find a flat stone", "done": true, "votes": 1, "tags": ["outside"], "color": "grey",
    ]
    #expect(try tasks.table[RecordID(id)].fields == fields)
    #expect(tasks.table.rule(field: "votes") == .sum)
    try tasks.table.insert(["title": 5], id: "odd")
    printed = []
    #expect(try readable(tasks) { printed.append($0) }.map(\.id) == [RecordID(id)])
    #expect(printed.count == 1)
    #expect(printed.first?.hasPrefix("odd is left out: badType: table tasks, record odd") == true)
    let notes = try bench.datastore.table(of: Note.self)
    let note = Note(text: "x")
    #expect(try notes.insert(note).id == note.id)
  }

  @Test func `the page shows this very code`() throws {
    let samples = try PageSamples.inTest("TypedPageTests.swift")
    #expect(samples.count == 6)
    #expect(try PageSamples.inPage("TypedRecords") == samples)
  }
}
