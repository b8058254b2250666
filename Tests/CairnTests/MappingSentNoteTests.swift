import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import Cairn
@testable import CairnStore

/// What an installation notes in a datastore of the sets that it has committed there.
@Suite struct MappingSentNoteTests {
  typealias Note = MappingBench.Note

  private static let table = ":map.sent"

  /// How many cells the rows of the notes have in the snapshot, those of removed fields too.
  private func cells(_ datastore: Datastore) throws -> Int {
    let state = datastore.store.state.withLock { $0.store }
    var base = try #require(state.ground.base)
    let table = try #require(base.description.tables.first { $0.name == Self.table })
    var count = 0
    for number in table.firstBlock..<(table.firstBlock + table.blockCount) {
      let block = try base.block(number)
      #expect(!block.hasComplexRows)
      for row in 0..<block.rowCount {
        count += block.columns.filter { !$0.cell(row, block.bytes).isNone }.count
      }
    }
    return count
  }

  @Test func `however many sets are sent, no snapshot has more of them than are asked for`()
    async throws
  {
    let bench = MappingBench()
    let device = try await bench.open("a")
    try await device.insert(Note(text: "x"), "n")
    for _ in 0..<200 {
      try await device.update("n") { $0.stars += 1 }
      _ = try await device.exchange()
    }
    #expect(try device.record("n")?["stars"] == 200)
    try device.main.compact()
    #expect(try cells(device.main) == Int(SentNote.kept))
    try await device.close()
  }

  /// The earlier version ended between the commit of a set and that of its queue.
  @Test func `what an earlier version noted is understood, and goes in its time`() async throws {
    let bench = MappingBench()
    var a = try await bench.open("a")
    try await a.insert(Note(text: "x", stars: 1), "n")
    _ = try await a.exchange()
    try await a.update("n") { $0.stars += 10 }
    let pending = try await a.store.pendingChangeSets()
    let set = try #require(pending.first).id
    #expect(pending.count == 1)
    try await a.close()
    let remote = try bench.remote("a")
    let id = try #require(try remote.store.query(table: Self.table, []).first)
    // As it would have left the record: with its own fields only.
    var fields: [(field: String, value: FieldValue?)] = [(field: "1", value: nil)]
    for number in 2..<65 {
      fields.append((field: "earlier-\(number)", value: .int(Int64(number))))
    }
    fields.append((field: set.description, value: .int(65)))
    try remote.store.update(table: Self.table, id: id, fields)
    try remote.store.update(
      table: "notes", id: RecordName("n"), [(field: "stars", value: .int(11))])
    try remote.sync()
    try remote.close()

    a = try await bench.open("a")
    _ = try await a.exchange()
    #expect(a.store.outbox.queued == 0)
    #expect(try a.record("n")?["stars"] == 11 && a.note("n")?.stars == 11, "it came once")
    for round in 1...64 {
      try await a.update("n") { $0.stars += 1 }
      _ = try await a.exchange()
      let store = try a.main.store
      let now = try #require(try store.fields(table: Self.table, id: id))
      #expect(now.count == 64, "\(round)")
      #expect(now.contains { $0.0 == set.description } == (round < 64), "\(round)")
      #expect(now.filter { FieldValue.isText($0.1) }.count == round)
    }
    try await a.close()
  }

  private let installation = RecordName("copied")

  private func note(_ datastore: Datastore) throws -> SentNote {
    try SentNote(of: installation, in: datastore.store)
  }

  private func send(_ set: RecordID, _ datastore: Datastore) throws {
    try note(datastore).add(set, to: datastore.store, .unlimited)
    try datastore.sync()
  }

  /// One of the values that two copies write at once loses.
  @Test func `of two copies that come to one field at once both names count`() async throws {
    let bench = IdentityBench(seed: 91)
    var (a, b) = (try bench.open("a"), try bench.open("b"))
    try send("first", a)
    #expect(try await bench.settle([a, b]))
    try send("of-a", a)
    try send("of-b", b)
    #expect(try await bench.settle([a, b]))
    let fields = try #require(try a.store.fields(table: Self.table, id: installation))
    #expect(fields.map(\.0).sorted() == ["1", "2"])
    for compacts in [false, true] {
      if compacts {
        for device in [a, b] {
          try device.compact()
          try device.close()
        }
        (a, b) = (try bench.open("a"), try bench.open("b"))
      }
      for device in [a, b] {
        let note = try note(device)
        #expect(note.has("first") && note.has("of-a") && note.has("of-b"))
        #expect(!note.has("another"))
      }
    }
    for number in 3...65 { try send(RecordID("later-\(number)"), a) }
    #expect(try note(a).has("of-a") && note(a).has("of-b") && !note(a).has("first"))
    try send("last", a)
    #expect(try !note(a).has("of-a") && !note(a).has("of-b") && note(a).has("later-3"))
    #expect(try await bench.settle([a, b]))
    #expect(try !note(b).has("of-a") && note(b).has("last"))
    let count = try b.store.fields(table: Self.table, id: installation)?.count
    #expect(count == Int(SentNote.kept))
    try a.close()
    try b.close()
  }

  /// The app decides nothing there, and both values count.
  @Test func `what two copies note at once is no conflict that an app is told of`() async throws {
    let bench = IdentityBench(seed: 93)
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.table("t").insert(["n": 1], id: "r")
    try send("first", a)
    #expect(try await bench.settle([a, b]))
    try a.table("t")["r"].update(["n": 2])
    try send("of-a", a)
    try b.table("t")["r"].update(["n": 3])
    try send("of-b", b)
    try await a.exchange()
    try await b.exchange()
    let result = try b.sync()
    #expect(try note(b).has("of-a") && note(b).has("of-b"))
    #expect(result.changes.contains { $0.table == Self.table })
    #expect(result.conflicts.map(\.table) == ["t"])
    try a.close()
    try b.close()
  }

  /// No set is called so; but anybody can write anything.
  @Test func `an old field that is called like a new one makes room, and does not take it away`()
    async throws
  {
    let bench = IdentityBench(seed: 94)
    let a = try bench.open("a")
    let old: [(field: String, value: FieldValue?)] = [
      (field: "1", value: .int(1)), (field: "x", value: .int(64)),
    ]
    try a.store.insert(table: Self.table, id: installation, old)
    try a.sync()
    try send("new", a)
    let fields = try #require(try a.store.fields(table: Self.table, id: installation))
    #expect(fields.map(\.0).sorted() == ["1", "x"])
    #expect(try note(a).has("new") && note(a).has("x") && !note(a).has("1"))
    try a.close()
  }

  /// Numbers are the app's as little as the record is; but anybody can write anything.
  @Test func `what nobody can have noted is no name, and stops nothing`() async throws {
    let bench = IdentityBench(seed: 92)
    let a = try bench.open("a")
    let odd: [(field: String, value: FieldValue?)] = [
      (field: "0", value: .string("set -1")), (field: "1", value: .string("set")),
      (field: "2", value: .string("set 1 2")), (field: "3", value: .string("")),
      (field: "4", value: .bool(true)), (field: "5", value: .int(.min)),
      (field: "6", value: .string("high \(Int64.max)")),
    ]
    try a.store.insert(table: Self.table, id: installation, odd)
    try a.sync()
    #expect(try !note(a).has("set") && note(a).has("high") && note(a).has("5"))
    for set in ["x", "y"] as [RecordID] {
      try send(set, a)
      #expect(try note(a).has(set))
    }
    try a.close()
  }
}

extension FieldValue {
  fileprivate static func isText(_ value: FieldValue) -> Bool {
    if case .string = value { true } else { false }
  }
}
