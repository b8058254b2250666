import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Results of live queries, and the steps between them.
@Suite(.timeLimit(.minutes(20))) struct LiveQueryTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  private func local() throws -> Datastore {
    try DatastoreManager(root: bench.place.path + "/local").openDefaultDatastore()
  }

  /// A table of ten records, `r0` to `r9`, with `n` from 0 to 9.
  private func table() throws -> Table {
    let table = try local().table("t")
    for index in 0..<10 {
      try table.insert(["n": .int(Int64(index))], id: RecordID("r\(index)"))
    }
    return table
  }

  @Test func `the first result is what is there, later ones are the steps from it`() async throws {
    let table = try table()
    let query = Query().where("n", .less(4)).sorted(by: "n", .descending)
    var live = try table.live(query).makeAsyncIterator()
    let first = try #require(await live.next())
    #expect(first.ids == ["r3", "r2", "r1", "r0"] && first.count == 4)
    #expect(
      first.changes == first.records.enumerated().map { .inserted($0.element, at: $0.offset) })
    #expect(first[0]?.id == "r3" && first[4] == nil && first[-1] == nil)
    try table["r9"].set("n", .double(2.5))
    let second = try #require(await live.next())
    #expect(second.ids == ["r3", "r9", "r2", "r1", "r0"])
    #expect(second.changes == [.inserted(table["r9"], at: 1)])
    try table["r2"].set("n", 7)
    #expect(try await live.next()?.changes == [.removed(table["r2"], from: 2)])
    try table["r0"].set("n", 3)
    #expect(
      try await live.next()?.changes == [
        .moved(table["r0"], from: 3, to: 0), .updated(table["r0"], at: 0),
      ])
    try table["r1"].set("other", "text")
    #expect(try await live.next()?.changes == [.updated(table["r1"], at: 3)])
    try table["r3"].delete()
    let last = try #require(await live.next())
    #expect(last.changes == [.removed(table["r3"], from: 1)] && last.ids == ["r0", "r9", "r1"])
  }

  @Test func `what does not touch the result is not told`() async throws {
    let table = try table()
    var live = try table.live(Query().where("n", .greater(7))).makeAsyncIterator()
    #expect(try await live.next()?.ids == ["r8", "r9"])
    try table["r1"].set("n", 3)
    try table["r2"].delete()
    try table.datastore.table("other").insert(["n": 9])
    try table.insert(["n": 1], id: "new")
    try table.datastore.sync()
    try table["r8"].delete()
    let next = try #require(await live.next())
    #expect(next.changes == [.removed(table["r8"], from: 0)] && next.ids == ["r9"])
  }

  @Test func `a part of the result is the right part`() async throws {
    let table = try table()
    let query = Query().sorted(by: "n").skip(2).limit(3)
    var live = try table.live(query).makeAsyncIterator()
    #expect(try await live.next()?.ids == ["r2", "r3", "r4"])
    try table["r0"].delete()
    let shifted = try #require(await live.next())
    #expect(shifted.ids == ["r3", "r4", "r5"])
    #expect(shifted.changes == [.removed(table["r2"], from: 0), .inserted(table["r5"], at: 2)])
    try table["r9"].set("n", .int(-1))
    #expect(try await live.next()?.ids == ["r2", "r3", "r4"])
    try table["r8"].set("n", 100)
    try table["r4"].set("n", 200)
    #expect(try await live.next()?.ids == ["r2", "r3", "r5"])
    var none = try table.live(Query().limit(0)).makeAsyncIterator()
    #expect(try await none.next()?.count == 0)
    var beyond = try table.live(Query().skip(.max).limit(.max)).makeAsyncIterator()
    #expect(try await beyond.next()?.count == 0)
  }

  @Test func `a roll-back and a sync are changes as any other`() async throws {
    let table = try table()
    try table.datastore.sync()
    var live = try table.live(Query().where("n", .exists).sorted(by: "n")).makeAsyncIterator()
    #expect(try await live.next()?.count == 10)
    try table["r3"].delete()
    try table["r5"].set("n", 0.5)
    try table.insert(["n": 4.5], id: "new")
    let changed = try #require(await live.next())
    #expect(changed.ids == ["r0", "r5", "r1", "r2", "r4", "new", "r6", "r7", "r8", "r9"])
    try table.datastore.rollback()
    #expect(try await live.next()?.ids == (0..<10).map { RecordID("r\($0)") })

    let a = try await bench.publisher("a")
    let b = try bench.open("b")
    var other = try b.table("t").live().makeAsyncIterator()
    #expect(try await other.next()?.count == 0)
    try await b.pull()
    #expect(try await other.next()?.ids == ["a"])
    try a.table("t")["a"].delete()
    try a.sync()
    try await a.exchange()
    try await b.pull()
    #expect(try await other.next()?.count == 0)
  }

  @Test func `very many changes are found, too`() async throws {
    let table = try table()
    var live = try table.live(Query().where("keep", .equals(true))).makeAsyncIterator()
    #expect(try await live.next()?.count == 0)
    for index in 0..<12_000 {
      try table.insert(["keep": .bool(index % 1000 == 0)], id: RecordID("x\(index)"))
      if index == 6000 { try table.datastore.sync() }
    }
    #expect(try await live.next()?.count == 12)
  }

  @Test func `a live query ends with its datastore or its task`() async throws {
    let table = try table()
    let live = try table.live(Query().where("n", .less(3)))
    let reader = Task {
      var last: Set<RecordID> = []
      for try await update in live { last = Set(update.ids) }
      return last
    }
    try table["r5"].set("n", 0)
    let observers = table.datastore.observers.changes
    let cancelled = Task { for try await _ in live {} }
    cancelled.cancel()
    try await cancelled.value
    // Ended before it has read, a live query has nothing to show.
    while !(observers.isActive && observers.isAtRest) { await Task.yield() }
    try table.datastore.close()
    #expect(try await reader.value == ["r0", "r1", "r2", "r5"])
    var late = live.makeAsyncIterator()
    #expect(try await late.next() == nil)
  }

  @Test func `a live query ends with its manager, also with something unread`() async throws {
    let table = try table()
    var live = try table.live().makeAsyncIterator()
    #expect(try await live.next()?.count == 10)
    try table["r1"].set("n", 100)
    try table.datastore.manager.shutDown()
    #expect(try await live.next() == nil)
  }

  @Test func `a deleted datastore is an error`() async throws {
    let table = try table()
    var live = try table.live().makeAsyncIterator()
    table.datastore.markDeleted()
    await #expect { try await live.next() } throws: { ($0 as? CairnError)?.code == .deleted }
  }

  @Test func `a loop that waits hears that the datastore was deleted`() async throws {
    let table = try table()
    let live = try table.live()
    let reader = Task { for try await _ in live {} }
    let observers = table.datastore.observers.changes
    while !(observers.isActive && observers.isAtRest) { await Task.yield() }
    table.datastore.markDeleted()
    await #expect { try await reader.value } throws: { ($0 as? CairnError)?.code == .deleted }
    // Again, and after it was closed, too.
    var late = live.makeAsyncIterator()
    for _ in 0..<2 {
      await #expect { try await late.next() } throws: { ($0 as? CairnError)?.code == .deleted }
      try table.datastore.close()
    }
  }

  @Test func `a bad query is refused before it runs`() throws {
    let table = try table()
    for query in [Query().where("", .exists), Query().limit(-1), Query().skip(-1)] {
      #expect(code { _ = try table.live(query) } == .illegalArgument)
    }
  }

  // MARK: random histories

  /// A reader that applies the steps to its own list.
  private struct Mirror {
    var iterator: LiveQuery.Iterator
    let query: Query
    var list: [RecordID] = []

    init(_ table: Table, _ query: Query) throws {
      iterator = try table.live(query).makeAsyncIterator()
      self.query = query
    }

    mutating func read() async throws {
      let update = try #require(await iterator.next())
      for change in update.changes {
        switch change {
        case .removed(let record, let index): #expect(list.remove(at: index) == record.id)
        case .moved(let record, let from, let to):
          #expect(list.remove(at: from) == record.id)
          list.insert(record.id, at: to)
        case .inserted(let record, let index): list.insert(record.id, at: index)
        case .updated(let record, let index): #expect(list[index] == record.id)
        @unknown default: Issue.record("an unknown step")
        }
      }
      #expect(list == update.ids)
    }
  }

  /// The result by its definition: all records, one after the other.
  private func expected(_ table: Table, _ query: Query) throws -> [RecordID] {
    let stored = query.stored
    var keys: [(RecordID, [String: Value])] = try table.query().map { ($0.id, try $0.fields) }
    keys = keys.filter { entry in stored.matches { entry.1[$0]?.stored } }
    keys.sort { a, b in
      stored.precedes(
        stored.key(a.0.name) { a.1[$0]?.stored }, stored.key(b.0.name) { b.1[$0]?.stored })
    }
    return keys.map(\.0).dropFirst(query.skip).prefix(query.limit ?? .max).map { $0 }
  }

  private static let queries = [
    Query(), Query().where("n", .less(5)), Query().sorted(by: "n"),
    Query().sorted(by: "n", .descending).sorted(by: "m"),
    Query().where("m", .exists).sorted(by: "m").skip(2).limit(4),
    Query().where("n", .isAbsent), Query().limit(5), Query().sorted(by: "n").skip(3),
  ]

  @Test(arguments: 0..<6)
  func `steps lead from result to result, whatever happens`(seed: Int) async throws {
    let random = SeededRandom(UInt64(seed))
    let devices = try TwoDevices()
    let table = try devices.a.table("t")
    let other = try devices.b.table("t")
    func number(_ below: UInt64) -> Int { Int(random.next() % below) }
    var mirrors = try LiveQueryTests.queries.map { try Mirror(table, $0) }
    for index in mirrors.indices { try await mirrors[index].read() }
    func edit(_ table: Table) throws {
      let record = table[RecordID("r\(number(15))")]
      switch number(6) {
      case 0: try record.delete()
      case 1, 2:
        if try record.isDeleted {
          _ = try table.insert(["n": .int(Int64(number(10)))], id: record.id)
        } else {
          try record.set("n", number(4) == 0 ? nil : .int(Int64(number(10))))
        }
      default:
        if try !record.isDeleted {
          try record.set("m", number(4) == 0 ? nil : .double(Double(number(10)) / 2))
        }
      }
    }
    for _ in 0..<60 {
      for _ in 0..<(1 + number(5)) { try edit(number(4) == 0 ? other : table) }
      switch number(6) {
      case 0: try devices.a.rollback()
      case 1: try devices.a.sync()
      case 2: try await devices.meet()
      case 3: try devices.a.compact()
      default: break
      }
      for index in mirrors.indices where number(3) > 0 {
        let now = try expected(table, mirrors[index].query)
        // No step without a change: a reader that is up to date would wait.
        if now != mirrors[index].list { try await mirrors[index].read() }
        // One that is wrong now would wait for ever later.
        try #require(mirrors[index].list == now)
      }
    }
  }
}

extension LiveUpdate {
  var ids: [RecordID] { records.map(\.id) }
}
