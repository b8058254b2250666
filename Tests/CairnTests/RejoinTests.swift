import Cairn
import TestSupport
import Testing

/// What an app sees of a datastore that is put together anew under another name.
@Suite struct RejoinTests {
  private let bench = IdentityBench()

  /// A device and its clone, which share what `common` does; the clone has published what it did.
  private func twins(
    _ common: (Datastore) throws -> Void, clone: (Datastore) throws -> Void
  ) async throws -> (a: Datastore, b: Datastore) {
    let a = try bench.open("a")
    try common(a)
    try a.sync()
    try await a.exchange()
    bench.clone("a", as: "b")
    let b = try bench.open("b")
    bench.clock.advance(by: 10)
    try clone(b)
    try b.sync()
    try await b.exchange()
    bench.clock.advance(by: 10)
    return (a, b)
  }

  @Test func `edits of one field are a conflict like any other`() async throws {
    let (a, b) = try await twins {
      try $0.table("t").insert(["f": "old"], id: "r")
    } clone: {
      try $0.table("t").record("r")?.set("f", "of the clone")
    }
    try a.table("t").record("r")?.set("f", "of the first")
    try a.sync()
    try await a.exchange()
    let result = try a.sync()
    let conflict = try #require(result.conflicts.first)
    #expect(conflict.visible == "of the clone" && conflict.losers.map(\.value) == ["of the first"])
    #expect(conflict.losers.map(\.device) == [a.device])
    #expect(try await bench.settle([a, b]))
    try bench.expectEqual([a, b])
  }

  @Test func `additions of both count once`() async throws {
    let (a, b) = try await twins {
      try $0.table("t").setRule(.sum, field: "n")
      try $0.table("t").insert(["n": 100], id: "r")
      try $0.sync()
      try $0.table("t").record("r")?.set("n", 107)
    } clone: {
      try $0.table("t").record("r")?.set("n", 110)
      try $0.sync()
      try $0.table("t").record("r")?.set("n", 120)
    }
    let record = try #require(try a.table("t").record("r"))
    for n: Int64 in [207, 307] {
      try record.set("n", .int(n))
      try a.sync()
    }
    try await a.pull()
    #expect(try record.int("n") == 320)
    // Both go on from there, and a put covers all of it.
    try record.set("n", 321)
    try b.table("t").record("r")?.set("n", 121)
    #expect(try await bench.settle([a, b]))
    #expect(try record.int("n") == 322)
    try record.set("n", nil)
    try a.sync()
    try record.set("n", 5)
    #expect(try await bench.settle([a, b]))
    #expect(try b.table("t").record("r")?.int("n") == 5)
    try bench.expectEqual([a, b])
  }

  @Test func `a put that covers additions of before and after`() async throws {
    let (a, b) = try await twins {
      try $0.table("t").setRule(.sum, field: "n")
      try $0.table("t").insert(["n": 100], id: "r")
      try $0.sync()
      try $0.table("t").record("r")?.set("n", 107)
    } clone: {
      try $0.table("t").record("r")?.set("n", 110)
    }
    let record = try #require(try a.table("t").record("r"))
    try record.set("n", 127)
    try a.sync()
    try record.set("n", "a put")
    try a.sync()
    try record.set("n", 1000)
    try a.sync()
    try await a.pull()
    // The clone had added 3 that the put did not know of.
    #expect(try record.int("n") == 1003)
    #expect(try await bench.settle([a, b]))
    try bench.expectEqual([a, b])
  }

  @Test func `lists keep the items of both, and edits go on`() async throws {
    let (a, b) = try await twins {
      try $0.table("t").insert(["l": .list(["A", "B", "C"])], id: "r")
    } clone: {
      try $0.table("t").record("r")?.list("l").append("clone")
    }
    let list = try #require(try a.table("t").record("r")).list("l")
    try list.append("x")
    try a.sync()
    try list.append("y")
    try list.remove(at: 0)
    try list.replace(at: 0, with: "B2")
    try a.sync()
    try list.move(from: 0, to: 1)
    try list.replace(at: 2, with: "x2")
    try a.sync()
    try await a.pull()
    let values = try list.values
    #expect(Set(values) == ["B2", "C", "clone", "x2", "y"] && values.count == 5)
    #expect(try #require(values.firstIndex(of: "x2")) < values.firstIndex(of: "y") ?? 0)
    try list.append("after")
    #expect(try await bench.settle([a, b]))
    #expect(try b.table("t").record("r")?.list("l").values.contains("after") == true)
    try bench.expectEqual([a, b])
  }

  @Test func `deletes and new inserts of both`() async throws {
    let (a, b) = try await twins {
      for id in ["gone", "again", "kept"] { try $0.table("t").insert(["x": 1], id: RecordID(id)) }
    } clone: {
      try $0.table("t").record("gone")?.delete()
      try $0.table("t").record("again")?.delete()
      try $0.sync()
      try $0.table("t").insert(["y": 2], id: "again")
    }
    let table = try a.table("t")
    try table.record("gone")?.set("x", 7)
    try table.record("again")?.delete()
    try a.sync()
    try table.insert(["z": 3], id: "again")
    try table.record("kept")?.delete()
    try a.sync()
    let result = try await { try await a.exchange(); return try a.sync() }()
    #expect(result.changes.contains { $0.id == "gone" && $0.isDeleted })
    #expect(try a.ids() == ["again"])
    #expect(try table.record("again")?.fields == ["y": 2, "z": 3])
    #expect(try await bench.settle([a, b]))
    try bench.expectEqual([a, b])
  }

  @Test func `what others have deleted meanwhile is in the trash`() async throws {
    let (a, b) = try await twins {
      for id in ["gone", "kept"] { try $0.table("t").insert(["x": 1], id: RecordID(id)) }
    } clone: {
      try $0.table("t").record("gone")?.delete()
    }
    try a.table("t").record("gone")?.set("x", 7)
    // What is deleted here goes to no trash.
    try a.table("t").record("kept")?.delete()
    try a.sync()
    try await a.exchange()
    #expect(try a.sync().newDevice != nil)
    #expect(try a.ids() == [])
    let found = try a.trash.list()
    #expect(found.map(\.id) == ["gone"] && found.first?.fields == ["x": 7])
    #expect(try a.trash.restoreAll() == 1)
    #expect(try await bench.settle([a, b]))
    #expect(try b.ids() == ["gone"])
    try bench.expectEqual([a, b])
  }

  @Test func `changes that were not synced are committed by the sync that rejoins`() async throws {
    let (a, b) = try await twins {
      try $0.add("common")
    } clone: {
      try $0.add("of-the-clone")
    }
    try await a.exchange()
    try a.table("t").insert(["late": true], id: "late")
    let result = try a.sync()
    #expect(result.committed && result.newDevice != nil)
    #expect(try a.ids() == ["common", "of-the-clone", "late"])
    #expect(try await bench.settle([a, b]))
    #expect(try b.ids() == ["common", "of-the-clone", "late"])
  }

  @Test func `handles, watchers, live queries and indexes go on`() async throws {
    let (a, b) = try await twins {
      try $0.table("t").insert(["x": 1], id: "r")
      try $0.table("t").insert(["x": 1], id: "gone")
    } clone: {
      try $0.table("t").record("r")?.set("x", 2)
      try $0.table("t").record("gone")?.delete()
      try $0.table("u").insert(["x": 2], id: "new")
    }
    let table = try a.table("t")
    let record = try #require(try table.record("r"))
    try a.addIndex(table: "t", field: "x")
    #expect(try table.query(Query().where("x", .equals(1))).count == 2)
    var changes = a.changes.makeAsyncIterator()
    try await a.exchange()
    try a.sync()
    let change = try #require(await changes.next())
    #expect(!change.isLocal)
    #expect(try record.int("x") == 2)
    #expect(try table.query(Query().where("x", .equals(2))).map(\.id) == ["r"])
    #expect(try table.query(Query().where("x", .equals(1))).isEmpty)
    #expect(try a.table("u").count == 1)
    try record.set("x", 3)
    #expect(try await bench.settle([a, b]))
    #expect(try b.table("t").record("r")?.int("x") == 3)
  }

  /// What was set to what it is comes to nothing when it is committed, and that is told.
  @Test(arguments: [false, true])
  func `who is told in the middle of it may compact or close`(closes: Bool) async throws {
    let (a, b) = try await twins {
      try $0.table("t").insert(["x": 1], id: "r")
    } clone: {
      try $0.table("t").insert(["x": 2], id: "new")
    }
    try await a.exchange()
    try a.table("t").record("r")?.set("x", 1)
    let told = Told<Bool>()
    let observation = a.observe(on: { $0() }) { change in
      told.add(change.isLocal)
      do {
        if closes { try a.close() } else { try a.compact() }
      } catch { Issue.record(error) }
    }
    let result = try a.sync()
    observation.cancel()
    #expect(told.all == (closes ? [true] : [true, false]))
    #expect(!result.committed && a.isOpen != closes)
    if closes { #expect(bench.disk("a").heldLocks == 0) }
    let device = closes ? try bench.open("a") : a
    #expect(device.device == result.newDevice)
    #expect(try device.ids() == ["r", "new"])
    #expect(try await bench.settle([device, b]))
    try bench.expectEqual([device, b])
  }

  @Test func `one that was renamed can be cloned before it has published`() async throws {
    let (a, b) = try await twins {
      try $0.add("common")
    } clone: {
      try $0.add("of-b")
    }
    try a.add("of-a")
    try await a.pull()
    bench.clone("a", as: "d")
    let d = try bench.open("d")
    #expect(d.device == a.device)
    try d.add("of-d")
    try a.add("of-a2")
    try a.compact()
    #expect(try await bench.settle([a, d, b]))
    #expect(Set([a, b, d].map(\.device)).count == 3)
    try bench.expectEqual([a, b, d])
    #expect(try a.ids() == ["common", "of-a", "of-a2", "of-b", "of-d"])
    let outboxes = bench.disk("a").paths().filter { $0.contains("/outbox-") }
    #expect(outboxes == [], "what is published is not kept")
  }
}
