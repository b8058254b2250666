import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// The rows in which an object store keeps what is pending, and its notes in datastores.
@Suite struct MappingStorageTests {
  typealias Note = MappingBench.Note

  /// Changes the local datastore as something else than the object store would.
  private func spoil(
    _ bench: MappingBench, _ change: (Store) throws -> Void
  ) async throws -> CairnError? {
    let local = try bench.local("a").openDatastore("objects")
    try change(local.store)
    try local.sync()
    try local.close()
    do throws(CairnError) {
      let remote = try? bench.remote("a")
      defer { try? remote?.close() }
      let store = try await ObjectStore.open(
        in: bench.local("a"), remotes: remote.map { ["main": $0] } ?? [:],
        mappings: [MappingBench.note])
      try await store.close()
      return nil
    } catch { return error }
  }

  private func pending() async throws -> MappingBench {
    let bench = MappingBench()
    let device = try await bench.open("a")
    try await device.insert(Note(text: "x"), "n")
    _ = try await device.exchange()
    try await device.update("n") { $0.text = "pending" }
    try await device.close()
    return bench
  }

  @Test func `a newer form is refused, and so is none`() async throws {
    for (format, code) in [(2, CairnError.Code.needsNewerVersion), (0, .corrupt)] {
      let bench = try await pending()
      let error = try await spoil(bench) { store in
        try store.update(
          table: ":map.state", id: RecordName("state"), [("format", .int(Int64(format)))])
      }
      #expect(error?.code == code)
    }
    let bench = try await pending()
    let error = try await spoil(bench) { store in
      try store.delete(table: ":map.state", id: RecordName("state"))
    }
    #expect(error?.code == .corrupt, "a queue without its state")
  }

  private static let spoiled: [(String, String, FieldValue)] = [
    (":map.changes", "kind", .int(9)), (":map.changes", "set", .int(99)),
    (":map.changes", "record", .int(1)), (":map.sets", "route", .int(1)),
    (":map.routes", "vector", .list([.string("no dot")])),
    (":map.routes", "mapped", .list([.string("one")])),
  ]

  @Test(arguments: spoiled)
  func `a row that can't be read is an error, and not less that is pending`(
    table: String, field: String, value: FieldValue
  ) async throws {
    let bench = try await pending()
    let error = try await spoil(bench) { store in
      for id in try store.query(table: table, []) {
        try store.update(table: table, id: id, [(field, value)])
      }
    }
    #expect(error?.code == .corrupt && error?.message.contains(table) == true)
  }

  @Test func `an old copy of a device sends none of its sets again`() async throws {
    let bench = MappingBench()
    let b = try await bench.open("b")
    var a = try await bench.open("a")
    for id: RecordID in ["m", "n", "o"] { try await a.insert(Note(text: "x", stars: 1), id) }
    try await bench.settle([a, b])
    try await a.update("m") { $0.stars += 10 }
    try await a.update("n") { $0.stars += 20 }
    try await a.update("o") { $0.stars += 40 }
    try await a.close()
    let copy = bench.disk("a").snapshot()
    a = try await bench.open("a")
    #expect(try await a.exchange().arrived.count == 3)
    try await bench.settle([a, b])
    try await a.close()
    bench.use(copy, for: "a")
    a = try await bench.open("a")
    #expect(a.store.outbox.queued == 3)
    #expect(try await bench.settle([a, b]))
    for device in [a, b] {
      #expect(try ["m", "n", "o"].map { try device.note($0)?.stars } == [11, 21, 41])
    }
  }

  @Test func `the note of what was sent stays short`() async throws {
    let bench = MappingBench()
    let device = try await bench.open("a")
    try await device.insert(Note(text: "x"), "n")
    let count = Int(SentNote.kept) + 6
    for _ in 0..<count {
      try await device.update("n") { $0.stars += 1 }
      _ = try await device.exchange()
    }
    let main = try device.main.store
    let names = try main.query(table: ":map.sent", [])
    #expect(names.count == 1)
    let name = try #require(names.first)
    let fields = try #require(try main.fields(table: ":map.sent", id: name))
    let numbers = fields.compactMap { field, value -> Int? in
      guard case .string(let text) = value, let number = text.split(separator: " ").last else {
        return nil
      }
      return Int(number).flatMap { $0 % 64 == Int(field) ? $0 : nil }
    }
    // The insert was the first.
    #expect(fields.count == numbers.count && numbers.sorted() == Array(8...(count + 1)))
  }

  /// With the id "1" it is called like a note with the id "old/1".
  struct OldNote: TableModel, Equatable {
    static let table = "notes/old"
    var text: String
  }

  @Test func `an object is not taken for one of another table whose name and id look alike`()
    async throws
  {
    let bench = MappingBench()
    let mappings: [ObjectMapping] = [MappingBench.note, .synced(OldNote.self)]
    let a = try await bench.open("a", mappings)
    let b = try await bench.open("b", mappings)
    try await a.store.write { objects throws(CairnError) in
      try objects.insert(Note(text: "first"), id: "old/1")
      try objects.insert(OldNote(text: "first"), id: "1")
    }
    #expect(try await bench.settle([a, b]))
    try await a.store.write { objects throws(CairnError) in
      try objects.update(Note.self, "old/1") { $0.text = "new" }
      try objects.update(OldNote.self, "1") { $0.text = "new" }
    }
    #expect(try await bench.settle([a, b]))
    let (oldOfA, oldOfB) = (try a.store.objects(OldNote.self), try b.store.objects(OldNote.self))
    #expect(try b.note("old/1") == Note(text: "new"))
    #expect(try oldOfB.get("1") == OldNote(text: "new"))
    try await b.delete("old/1")
    #expect(try await bench.settle([b, a]))
    #expect(try a.note("old/1") == nil)
    #expect(try oldOfA.get("1") == OldNote(text: "new"))
    try await b.store.write { objects throws(CairnError) in
      try objects.delete(OldNote.self, "1")
    }
    #expect(try await bench.settle([b, a]))
    #expect(try oldOfA.count == 0)
  }

  @Test func `a datastore has one object store`() async throws {
    let bench = MappingBench()
    let device = try await bench.open("a")
    func open() async -> CairnError.Code? {
      do throws(CairnError) {
        let other = try await ObjectStore.open(
          in: bench.local("another"), remotes: device.remotes, mappings: [MappingBench.note])
        try await other.close()
        return nil
      } catch { return error.code }
    }
    #expect(await open() == .alreadyOpen)
    try await device.store.close()
    #expect(await open() == nil)
    #expect(await open() == nil)
  }
}
