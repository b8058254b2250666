import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// A copy of a copy of a device: what both have that nobody had published is there once.
@Suite struct CopyOfCopyTests {
  private let bench = IdentityBench()

  /// Two deltas.
  private func add(_ amount: Int64, _ item: String, to device: Datastore) throws {
    bench.clock.advance(by: 3)
    let record = try #require(try device.table("t").record("r"))
    try record.set("n", .int((try record.int("n") ?? 0) + amount))
    try device.sync()
    bench.clock.advance(by: 3)
    try record.list("l").append(.string(item))
    try device.sync()
  }

  /// A device that goes on under its name, and its copy `b`, which has added 10 and an item.
  private func scene() async throws -> Datastore {
    let a = try bench.open("a")
    try a.table("t").setRule(.sum, field: "n")
    try a.table("t").insert(["n": 1, "l": .list(["first"])], id: "r")
    try a.sync()
    try await a.exchange()
    bench.clone("a", as: "b")
    try a.add("of-a")
    try await a.exchange()
    let b = try bench.open("b")
    try #require(b.device == a.device)
    try add(10, "x", to: b)
    try b.close()
    return a
  }

  /// Opens a copy, which takes a name of its own; it publishes nothing under that yet.
  private func leave(
    _ name: String, _ edit: (Datastore) throws -> Void = { _ in }
  ) async throws -> Datastore {
    let device = try bench.open(name)
    let old = device.device
    try edit(device)
    for _ in 0..<4 where device.device == old {
      try await device.exchange()
      try device.sync()
    }
    #expect(device.device != old)
    return device
  }

  private func expect(_ sum: Int64, _ items: [Value], in devices: [Datastore]) throws {
    for device in devices {
      let record = try #require(try device.table("t").record("r"))
      #expect(try record.int("n") == sum)
      #expect(try record.list("l").values == items)
      #expect(try device.ids() == ["r", "of-a"])
    }
    try bench.expectEqual(devices)
  }

  /// `edits`: the second copy has done something more by itself.
  @Test(arguments: [false, true])
  func `what a copy and its own copy have is there once`(edits: Bool) async throws {
    let a = try await scene()
    bench.clone("b", as: "b2")
    let b = try await leave("b")
    try await b.exchange()
    let b2 = try await leave("b2") { if edits { try add(5, "y", to: $0) } }
    #expect(try await bench.settle([a, b, b2]), "\(bench.unrest)")
    #expect(Set([a.device, b.device, b2.device]).count == 3)
    #expect(a.store.vector[b.store.device] == 2)
    #expect(a.store.vector[b2.store.device] == (edits ? 2 : 0))
    try expect(edits ? 16 : 11, edits ? ["first", "x", "y"] : ["first", "x"], in: [a, b, b2])
    // What each goes on with is its own.
    try add(100, "b", to: b)
    try add(1000, "b2", to: b2)
    #expect(try await bench.settle([a, b, b2]), "\(bench.unrest)")
    #expect(try a.table("t").record("r")?.int("n") == (edits ? 1116 : 1111))
    try bench.expectEqual([a, b, b2])
  }

  @Test func `so it is with a third one, whose deltas are there under two names`() async throws {
    let a = try await scene()
    bench.clone("b", as: "b2")
    let second = try bench.open("b2")
    try add(5, "y", to: second)
    try second.close()
    bench.clone("b2", as: "b3")
    let b = try await leave("b")
    try await b.exchange()
    let b2 = try await leave("b2")
    try await b2.exchange()
    let b3 = try await leave("b3") { try add(7, "z", to: $0) }
    #expect(try await bench.settle([a, b, b2, b3]), "\(bench.unrest)")
    for device in [b, b2, b3] { #expect(a.store.vector[device.store.device] == 2) }
    try expect(23, ["first", "x", "y", "z"], in: [a, b, b2, b3])
  }

  /// A clock that runs ahead is put back, so that each copy's next delta has the same time.
  /// `isShared`: what has that time was there before the second copy was made, with one behind it
  /// that has a time of its own.
  @Test(arguments: [false, true])
  func `an equal edit that each copy has made by itself counts twice`(
    isShared: Bool
  ) async throws {
    let a = try bench.open("a")
    let now = bench.clock.now()
    bench.clock.advance(by: 1_000_000)
    try a.table("t").setRule(.sum, field: "n")
    try a.table("t").insert(["n": 1, "l": .list(["first"])], id: "r")
    try a.sync()
    try await a.exchange()
    bench.clock.set(now)
    for name in ["b", "b2"] { bench.clone("a", as: name) }
    try a.add("of-a")
    try await a.exchange()
    for name in ["b", "b2"] {
      let copy = try bench.open(name)
      try #require(copy.device == a.device)
      try copy.table("t").record("r")?.set("n", .int(11))
      try copy.sync()
      bench.clock.set(now + 1_000_100)
      if isShared { try add(5, "x", to: copy) }
      try copy.close()
      bench.clock.set(now)
    }
    if isShared { bench.clone("b", as: "b2") }
    let b = try await leave("b")
    try await b.exchange()
    let b2 = try await leave("b2")
    #expect(try await bench.settle([a, b, b2]), "\(bench.unrest)")
    #expect(a.store.vector[b.store.device] == (isShared ? 3 : 1))
    #expect(a.store.vector[b2.store.device] == (isShared ? 0 : 1))
    try expect(isShared ? 16 : 21, isShared ? ["first", "x"] : ["first"], in: [a, b, b2])
  }

  /// Only the head of the name that another copy has taken is there. `arrives`: its file comes
  /// while it is waited for.
  @Test(arguments: [false, true])
  func `a file that may have it all is waited for in a few rounds`(arrives: Bool) async throws {
    let (a, script) = (try await scene(), ScriptedFolder.Script())
    bench.clone("b", as: "b2")
    let b = try await leave("b")
    try await b.exchange()
    let file = try #require(
      bench.folder.paths().first { $0.contains("/\(b.device)-") && $0.hasSuffix(".seg") })
    script.showPlaceholders(for: String(file.suffix(40)))
    bench.scripts["b2"] = script
    let b2 = try bench.open("b2")
    let old = b2.device
    var waits = 0
    for _ in 0..<8 where b2.device == old {
      if arrives, waits == 2 { script.list(nil) }
      let report = try await b2.exchange()
      try b2.sync()
      waits += report.waiting.count { $0.reason.hasPrefix("it may be of another copy") }
    }
    #expect(b2.device != old)
    #expect(waits == (arrives ? 2 : 3))
    script.list(nil)
    #expect(try await bench.settle([a, b, b2]), "\(bench.unrest)")
    #expect(a.store.vector[b2.store.device] == (arrives ? 0 : 2))
    try expect(
      arrives ? 11 : 21, arrives ? ["first", "x"] : ["first", "x", "x"], in: [a, b, b2])
  }

  @Test func `what others have written is read for that once, however long a copy waits`()
    async throws
  {
    let (a, script) = (try await scene(), ScriptedFolder.Script())
    let c = try bench.open("c")
    try c.add("of-c")
    try await c.exchange()
    bench.scripts["b"] = script
    let b = try bench.open("b")
    try #require(b.device == a.device)
    // The app does not sync, so that it keeps its name.
    for _ in 0..<4 where b.exchanger?.isReadyToRejoin != true { try await b.exchange() }
    try #require(b.exchanger?.isReadyToRejoin == true)
    func reads() -> Int {
      script.reads.count { $0.contains("/\(c.device)-") && $0.hasSuffix(".seg") }
    }
    let before = reads()
    #expect(before > 0)
    for _ in 0..<3 { try await b.exchange() }
    #expect(reads() == before)
    #expect(try await bench.settle([a, b, c]), "\(bench.unrest)")
    #expect(try a.table("t").record("r")?.int("n") == 11)
  }

  /// A limit: nothing tells one of the other.
  @Test func `two that leave before they have seen each other add it twice`() async throws {
    let a = try await scene()
    bench.clone("b", as: "b2")
    let (b, b2) = (try await leave("b"), try await leave("b2"))
    #expect(try await bench.settle([a, b, b2]), "\(bench.unrest)")
    try expect(21, ["first", "x", "x"], in: [a, b, b2])
  }
}
