import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Copies of a device that was retired, or backups of it, which return one after the other: what
/// they have in common is there once.
@Suite struct ReturnedCopyTests {
  private let bench = IdentityBench()

  private func add(_ amount: Int64, in device: Datastore) throws {
    bench.clock.advance(by: 3)
    let record = try #require(try device.table("t").record("r"))
    try record.set("n", .int((try record.int("n") ?? 0) + amount))
    try device.sync()
  }

  private func append(_ item: Value, in device: Datastore) throws {
    bench.clock.advance(by: 3)
    try #require(try device.table("t").record("r")).list("l").append(item)
    try device.sync()
  }

  /// A device, and the name of another one, `d`, which it has retired without having seen two
  /// deltas of it: those came into a copy of the folder that only `d` saw, and are there now.
  private func retired() async throws -> (a: Datastore, name: String) {
    let (a, d) = (try bench.open("a"), try bench.open("d"))
    try a.table("t").setRule(.sum, field: "n")
    try a.table("t").insert(["n": 10, "l": .list(["a"])], id: "r")
    try a.sync()
    #expect(try await bench.settle([a, d]))
    try add(1, in: d)
    #expect(try await bench.settle([d, a]))
    let name = d.device
    try d.close()
    bench.use(bench.folder.snapshot(), for: "folder late")
    bench.view("late", of: "d")
    let away = try bench.open("d")
    try add(100, in: away)
    try append("x", in: away)
    for _ in 0..<2 { try await away.exchange() }
    try #require(away.publishedDeltas == away.committedDeltas)
    try away.close()
    try a.retireDevice(name)
    #expect(try await bench.settle([a]), "\(bench.unrest)")
    try #require(a.store.cuts.cuts.map(\.isSealed) == [true])
    let late = bench.disk("folder late")
    for path in late.paths() where !path.contains("/" + name) { try late.remove(path) }
    try bench.merge(["late"], winner: "late")
    return (a, name)
  }

  /// `isUnpublished`: both have something that was never published, too. `edits`: the second one
  /// has done more by itself.
  @Test(arguments: [false, true], [false, true])
  func `what a retired device brings back its copy does not bring once more`(
    isUnpublished: Bool, edits: Bool
  ) async throws {
    let (a, name) = try await retired()
    var d = try bench.open("d")
    if isUnpublished {
      // From here on it publishes nothing new.
      try await d.pull()
      try add(1000, in: d)
    }
    try d.close()
    bench.clone("d", as: "d2")
    d = try bench.open("d")
    #expect(try await bench.settle([d, a]), "\(bench.unrest)")
    #expect(d.device != name)
    let sum: Int64 = isUnpublished ? 1111 : 111
    #expect(try a.table("t").record("r")?.int("n") == sum)
    let d2 = try bench.open("d2")
    try #require(d2.device == name)
    if edits {
      try add(5, in: d2)
      try append("y", in: d2)
    }
    #expect(try await bench.settle([d2, d, a]), "\(bench.unrest)")
    #expect(Set([name, a.device, d.device, d2.device]).count == 4)
    #expect(a.store.vector[d2.store.device] == (edits ? 2 : 0))
    for device in [a, d, d2] {
      let record = try #require(try device.table("t").record("r"))
      #expect(try record.int("n") == (edits ? sum + 5 : sum))
      #expect(try record.list("l").values == (edits ? ["a", "x", "y"] : ["a", "x"]))
      // The first one's next name stands.
      #expect(
        device.store.cuts.earlierNames.values.map(\.next) == [d.store.device])
    }
    try bench.expectEqual([a, d, d2])
  }

  /// After a clock that ran ahead was put back each copy's next delta has the same time.
  @Test func `an equal edit that each of them has made by itself counts twice`() async throws {
    let (a, name) = try await retired()
    var d = try bench.open("d")
    // From here on it publishes nothing new.
    try await d.pull()
    let now = bench.clock.now()
    bench.clock.advance(by: 1_000_000)
    try add(1000, in: d)
    bench.clock.set(now)
    try d.close()
    bench.clone("d", as: "d2")
    d = try bench.open("d")
    try add(7, in: d)
    #expect(try await bench.settle([d, a]), "\(bench.unrest)")
    #expect(d.device != name)
    #expect(try a.table("t").record("r")?.int("n") == 1118)
    let d2 = try bench.open("d2")
    try #require(d2.device == name)
    try add(7, in: d2)
    #expect(try await bench.settle([d2, d, a]), "\(bench.unrest)")
    #expect(a.store.vector[d2.store.device] == 1)
    for device in [a, d, d2] {
      let record = try #require(try device.table("t").record("r"))
      #expect(try record.int("n") == 1125)
      #expect(try record.list("l").values == ["a", "x"])
    }
    try bench.expectEqual([a, d, d2])
  }
}
