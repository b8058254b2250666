import Cairn
import CairnDisk
import TestSupport
import Testing

@Suite struct RecordTrashTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  private func pair() async throws -> (a: Datastore, b: Datastore) {
    let a = try bench.open("a")
    for number in 0..<10 {
      try a.table("t").insert(
        ["n": .int(Int64(number)), "tags": ["x", 1.5, true], "raw": .bytes([1, 2])],
        id: RecordID("r\(number)"))
    }
    try a.sync()
    try await a.exchange()
    let b = try bench.open("b")
    try await b.pull()
    return (a, b)
  }

  @Test func `what another device deletes can be had back`() async throws {
    let (a, b) = try await pair()
    try b.table("t").record("r1")?.set("n", 77)
    try b.sync()
    try a.table("t").record("r1")?.delete()
    try a.table("t").record("r2")?.delete()
    try a.sync()
    try await a.exchange()
    try await b.pull()
    let found = try b.trash.list()
    #expect(found.map(\.id.description) == ["r1", "r2"])
    let record = try #require(found.first)
    #expect(record.table == "t" && record.device == a.device)
    #expect(record.fields == ["n": 77, "tags": ["x", 1.5, true], "raw": .bytes([1, 2])])
    #expect(try a.trash.list().isEmpty, "own deletes are not in it")
    try b.trash.restore(record)
    #expect(try b.trash.list().map(\.id.description) == ["r2"])
    #expect(code { try b.trash.restore(record) } == .exists)
    #expect(try b.trash.restoreAll() == 1)
    try b.sync()
    try await b.exchange()
    try await a.pull()
    #expect(try content(a) == content(b))
    #expect(try a.table("t").record("r1")?.get("n") == 77)
  }

  @Test func `it is there after a restart, until it is emptied`() async throws {
    var (a, b) = try await pair()
    try a.table("t").record("r3")?.delete()
    try a.sync()
    try await a.exchange()
    try await b.pull()
    try b.close()
    b = try bench.open("b")
    #expect(try b.trash.list().count == 1)
    try b.trash.empty()
    #expect(try b.trash.list().isEmpty)
    a = b
  }

  @Test func `a record that is inserted again there is not listed`() async throws {
    let (a, b) = try await pair()
    try a.table("t").record("r3")?.delete()
    try a.sync()
    try a.table("t").insert(["n": 5], id: "r3")
    try a.sync()
    try await a.exchange()
    try await b.pull()
    #expect(try b.trash.list().isEmpty)
    #expect(try b.table("t").record("r3")?.fields == ["n": 5])
  }

  @Test func `of a record that was deleted twice it has what was there last`() async throws {
    let (a, b) = try await pair()
    func exchange() async throws {
      try a.sync()
      try await a.exchange()
      try await b.pull()
    }
    try a.table("t").record("r3")?.delete()
    try await exchange()
    try a.table("t").insert(["n": 55], id: "r3")
    try await exchange()
    try a.table("t").record("r3")?.delete()
    try await exchange()
    let found = try b.trash.list()
    #expect(found.map(\.id.description) == ["r3"])
    let record = try #require(found.first)
    #expect(record.fields == ["n": 55])
    #expect(try b.trash.restoreAll() == 1)
    #expect(try b.table("t").record("r3")?.get("n") == 55)
  }

  /// A record that another device has deleted, and that has come back to this one.
  private func restored() async throws -> (a: Datastore, b: Datastore) {
    let (a, b) = try await pair()
    try b.table("t").record("r3")?.delete()
    try b.sync()
    try await b.exchange()
    try await a.pull()
    #expect(try a.trash.restoreAll() == 1)
    return (a, b)
  }

  @Test func `a record that was back and is deleted here is not listed`() async throws {
    let (first, b) = try await restored()
    var a = first
    try a.sync()
    try await a.exchange()
    try a.table("t").record("r3")?.set("x", "secret")
    try a.sync()
    try a.table("t").record("r3")?.delete()
    #expect(try a.trash.list().isEmpty)
    try a.sync()
    #expect(try a.trash.list().isEmpty && a.trash.restoreAll() == 0)
    try a.compact()
    #expect(try a.trash.list().isEmpty)
    try a.close()
    a = try bench.open("a")
    #expect(try a.trash.list().isEmpty)
    // What another device deletes after that is.
    try await a.exchange()
    try await b.pull()
    try b.table("t").insert(["n": 5], id: "r3")
    try b.sync()
    try await b.exchange()
    try await a.pull()
    try b.table("t").record("r3")?.delete()
    try b.sync()
    try await b.exchange()
    try await a.pull()
    let found = try a.trash.list()
    #expect(found.map(\.id.description) == ["r3"] && found.first?.fields == ["n": 5])
    #expect(found.first?.device == b.device)
  }

  @Test func `a record is listed as before when its delete here is none`() async throws {
    let (a, _) = try await restored()
    func left() throws -> [String] { try a.trash.list().map(\.id.description) }
    #expect(try left() == [])
    try a.rollback()
    #expect(try left() == ["r3"])
    #expect(try a.trash.restoreAll() == 1)
    // It was never there for anybody else.
    try a.table("t").record("r3")?.delete()
    #expect(try left() == ["r3"])
    try a.sync()
    #expect(try left() == ["r3"])
    #expect(try a.trash.restoreAll() == 1)
    try a.sync()
    try a.table("t").record("r3")?.delete()
    #expect(try left() == [])
    try a.rollback()
    #expect(try a.table("t").record("r3")?.get("n") == 3 && left() == [])
  }

  @Test func `the oldest go when there are too many bytes`() async throws {
    bench.options.trashBytes = 200
    let (a, b) = try await pair()
    for number in 0..<6 {
      try a.table("t").record(RecordID("r\(number)"))?.delete()
      try a.sync()
      try await a.exchange()
      try await b.pull()
    }
    let left = try b.trash.list().map(\.id.description)
    #expect(left.last == "r5" && left.count < 6 && !left.contains("r0"))
    for number in 6..<10 { try a.table("t").record(RecordID("r\(number)"))?.delete() }
    try a.sync()
    try await a.exchange()
    try await b.pull()
    #expect(try b.trash.notKept > 0)
  }

  @Test func `nothing is kept without days`() async throws {
    bench.options.trashDays = 0
    let (a, b) = try await pair()
    try a.table("t").record("r3")?.delete()
    try a.sync()
    try await a.exchange()
    try await b.pull()
    #expect(try b.table("t").record("r3") == nil)
    #expect(try b.trash.list().isEmpty)
    #expect(try bench.names(bench.root("b") + "/p-notes/trash") == [])
  }

  @Test func `a record that is larger than one may be keeps no others in the trash`() async throws {
    let (a, b) = try await pair()
    for (field, device) in [("x", a), ("y", b)] {
      let bytes = [UInt8](repeating: 1, count: 60_000)
      try device.table("t").record("r3")?.set(field, .bytes(bytes))
      try device.sync()
    }
    // Merged it is larger than a record may be.
    try await bench.meet(a, b)
    for number in 0..<10 { try a.table("t").record(RecordID("r\(number)"))?.delete() }
    try a.sync()
    try await a.exchange()
    try await b.pull()
    try b.sync(allowingMassDelete: true)
    #expect(try b.trash.list().count == 10 && b.ids() == [])
    for _ in 0..<2 {
      let error = #expect(throws: CairnError.self) { try b.trash.restoreAll() }
      #expect(error?.code == .sizeLimit && error?.id == "r3")
      #expect(error?.message.contains("Limits.recordBytes") == true)
      try b.sync()
      #expect(try b.ids() == Set((0..<10).filter { $0 != 3 }.map { "r\($0)" }))
      #expect(try b.trash.list().map(\.id.description) == ["r3"])
    }
    try b.close()
    bench.options.limits.recordBytes = 200_000
    let again = try bench.open("b")
    #expect(try again.trash.restoreAll() == 1)
  }

  @Test func `every flipped bit of a file is noticed and named, and stops nothing`() async throws {
    let (a, b) = try await pair()
    try a.table("t").record("r3")?.delete()
    try a.sync()
    try await a.exchange()
    try await b.pull()
    let directory = bench.root("b") + "/p-notes/trash"
    let path = directory + "/" + (try #require(try bench.names(directory, ".del").first))
    let bytes = try bench.read(path)
    for offset in bytes.indices {
      try bench.write(path, bytes.flipped(at: offset))
      #expect(throws: CairnError.self) { try b.trash.list() }
    }
    for length in bytes.indices {
      try bench.write(path, Array(bytes[..<length]))
      #expect(throws: CairnError.self) { try b.trash.list() }
    }
    try a.table("t").record("r4")?.delete()
    try a.sync()
    try await a.exchange()
    try await b.pull()
    #expect(try b.trash.list().map(\.id.description) == ["r4"])
    #expect(try b.trash.problems.map(\.file) == [path])
    try b.close()
    let inspector = try DatastoreInspector(root: bench.root("b"), id: "notes")
    defer { inspector.close() }
    #expect(try inspector.verify().problems.map(\.file) == [path])
  }

  @Test func `a datastore that was deleted elsewhere can be had back`() async throws {
    let (a, b) = try await pair()
    let managers = (a.manager, b.manager)
    try await managers.0.refresh()
    try await managers.1.refresh()
    let before = try content(b)
    try a.close()
    try b.close()
    try managers.0.deleteDatastore("notes")
    try await managers.0.refresh()
    #expect(try await managers.1.refresh().deleted == ["notes"])
    let kept = try #require(try managers.1.trashedDatastores().first)
    #expect(kept.id == "notes" && kept.reason == nil && kept.bytes > 0)
    try managers.1.restore(kept)
    let again = try managers.1.openDatastore("notes")
    #expect(try content(again) == before)
    try await again.exchange()
    try await managers.1.refresh()
    try await managers.0.refresh()
    let there = try managers.0.openDatastore("notes")
    try await there.pull()
    #expect(try content(there) == before)
    try managers.1.emptyTrash()
    #expect(try managers.1.trashedDatastores() == [])
  }
}
