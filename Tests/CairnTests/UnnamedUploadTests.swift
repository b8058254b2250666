import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Files that went up and that no head names, of a copy that takes another name: what is in them
/// counts once.
@Suite struct UnnamedUploadTests {
  private let bench = IdentityBench()
  private let script = ScriptedFolder.Script()

  private func addTen(_ device: Datastore, _ item: String) throws {
    let record = try #require(try device.table("t").record("r"))
    try record.set("n", .int((try record.int("n") ?? 0) + 10))
    try record.list("l").append(.string(item))
    try device.sync()
  }

  /// A device and its copy, which has uploaded a delta without a head for it. Then the device has
  /// written one that says what it has seen of a third one.
  private func scene() async throws -> (a: Datastore, b: Datastore, c: Datastore) {
    bench.options.graceSeconds = 3600
    bench.scripts["b"] = script
    let a = try bench.open("a")
    try a.table("t").setRule(.sum, field: "n")
    try a.table("t").insert(["n": 100, "l": .list(["x"])], id: "r")
    try a.sync()
    try await a.exchange()
    bench.clone("a", as: "b")
    let b = try bench.open("b")
    try #require(b.device == a.device)
    try addTen(b, "of-b")
    script.write { path, _ in path.hasSuffix(".seg") ? .unanswered : .whole }
    #expect(await b.exchangeError()?.code == .timeout)
    script.write(nil)
    let c = try bench.open("c")
    try c.add("c")
    try await c.exchange()
    try await a.pull()
    try await a.exchange()
    #expect(try await a.exchange().isIdle)
    return (a, b, c)
  }

  private func own(_ device: String) throws -> (head: Head, files: [String]) {
    let path = "/folder/p-notes/\(device).head"
    let head = try Head(try #require(bench.folder.bytes(path)), name: path, datastore: nil)
    let files = bench.folder.paths().filter {
      $0.contains("/\(device)-") && $0.hasSuffix(".seg")
    }
    return (head, files.sorted())
  }

  @Test(arguments: [false, true])
  func `what a copy had uploaded before another one wrote the head is there once`(
    restarts: Bool
  ) async throws {
    var (a, b, c) = try await scene()
    let name = a.device
    let before = try own(name)
    try #require(before.files.count == before.head.segments.count + 1)
    for _ in 0..<4 where b.device == name { try await b.pull() }
    #expect(b.device != name)
    let after = try own(name)
    #expect(after.head.last == before.head.last + 1 && after.files == before.files)
    #expect(after.head.segments.count == after.files.count)
    if restarts {
      try a.close()
      a = try bench.open("a")
      try b.close()
      b = try bench.open("b")
    }
    #expect(try await bench.settle([a, b, c]), "\(bench.unrest)")
    try bench.expectEqual([a, b, c])
    let record = try #require(try c.table("t").record("r"))
    #expect(try record.int("n") == 110)
    #expect(try record.list("l").values == ["x", "of-b"])
    #expect(Set([name, a.device, b.device, c.device]).count == 4)
    #expect(try own(name).files == before.files)
  }

  @Test func `a round that only looks leaves the head, and the copy its name`() async throws {
    let (_, b, _) = try await scene()
    let name = b.device
    let before = try own(name)
    let exchange = try #require(b.exchanger)
    for _ in 0..<2 {
      let report = try await exchange.run(publishes: false)
      #expect(report.isRejoining && report.waiting.map(\.name) == [name + ".head"])
      try b.sync()
      #expect(b.device == name && b.committedDeltas == before.head.last + 1)
    }
    #expect(try own(name).head == before.head)
  }

  /// Neither of two copies has written a head for what it uploaded, and of one file half has
  /// arrived: the copy that finds it takes another name, since more may have been published.
  @Test func `what a copy had uploaded is there once, though all heads are its own`() async throws {
    let mine = ScriptedFolder.Script()
    bench.options.graceSeconds = 3600
    (bench.scripts["a"], bench.scripts["b"]) = (mine, script)
    var a = try bench.open("a")
    let name = a.device
    try a.table("t").setRule(.sum, field: "n")
    try a.table("t").insert(["n": 1, "l": .list(["x"])], id: "r")
    try a.sync()
    try await a.exchange()
    bench.clone("a", as: "b")
    var b = try bench.open("b")
    // From here on it is sure of its name.
    try await b.exchange()
    bench.clock.advance(by: 5)
    try addTen(a, "of-a")
    mine.write { path, _ in path.hasSuffix(".seg") ? .unanswered : .whole }
    #expect(await a.exchangeError()?.code == .timeout)
    mine.write(nil)
    for item in ["of-b", "more"] {
      bench.clock.advance(by: 5)
      try addTen(b, item)
    }
    script.write { path, _ in path.hasSuffix(".seg") ? .partUnanswered(40) : .whole }
    #expect(await b.exchangeError()?.code == .timeout)
    script.write(nil)
    let before = try own(name)
    let next = before.head.last + 1
    for last in [next, next + 1] {
      let start = "/folder/p-notes/\(name)-\(next)-\(last)-"
      try #require(before.files.filter { $0.hasPrefix(start) }.count == 1)
    }
    try a.close()
    a = try bench.open("a")
    for _ in 0..<8 where a.device == name { try await a.pull() }
    #expect(a.device != name)
    #expect(try own(name).head.last == next && a.committedDeltas == 0)
    try b.close()
    b = try bench.open("b")
    #expect(try await bench.settle([a, b]), "\(bench.unrest)")
    #expect(Set([name, a.device, b.device]).count == 3)
    try bench.expectEqual([a, b])
    let record = try #require(try a.table("t").record("r"))
    #expect(try record.int("n") == 31)
    let values = try record.list("l").values
    #expect(Set(values) == ["x", "of-a", "of-b", "more"] && values.count == 4)
  }
}
