import CairnDisk
import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Sums of devices that take another name: what others have of them is not added once more.
@Suite struct RejoinSumTests {
  private let bench = IdentityBench(seed: 58)

  private func set(_ value: Value, in device: Datastore) throws {
    try device.table("t").record("r")?.set("n", value)
    try device.sync()
  }

  private func begin(_ device: Datastore) throws {
    try device.table("t").setRule(.sum, field: "n")
    try device.table("t").insert(["n": 10], id: "r")
    try device.sync()
  }

  /// A device that was retired, whose files are lost: what was in them is in its snapshot only. It
  /// had added 5 to a field, and all have that.
  private func retired() async throws -> (a: Datastore, b: Datastore, away: Datastore) {
    let (a, b, away) = (try bench.open("a"), try bench.open("b"), try bench.open("away"))
    try begin(a)
    try await bench.settle([a, b, away])
    try set(15, in: away)
    try await bench.settle([away, a, b])
    try away.compact()
    for path in bench.folder.paths()
    where path.contains("/\(away.device)") && path.hasSuffix(".seg") {
      try bench.folder.remove(path)
    }
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    try a.retireDevice(away.device)
    try await bench.settle([a, b])
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    return (a, b, away)
  }

  /// Its snapshot was of when all had the 5; a later one has one number for all that it added.
  @Test func `what was found out of its sums holds, although all is folded before the sync`()
    async throws
  {
    let (a, b, away) = try await retired()
    let name = away.device
    try a.table("t").record("r")?.delete()
    try a.table("t").insert(["n": 100], id: "r")
    try a.sync()
    try await bench.settle([a, b])
    try set(16, in: away)
    let exchange = try #require(away.exchanger)
    for _ in 0..<6 where !exchange.isReadyToRejoin {
      try away.sync()
      try await away.exchange()
    }
    try #require(exchange.isReadyToRejoin)
    try away.compact()
    #expect(away.device == name)
    for _ in 0..<6 where away.device == name {
      try away.sync()
      try await away.exchange()
    }
    #expect(away.device != name)
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    for device in [a, b, away] { #expect(try device.table("t").record("r")?.int("n") == 101) }
  }

  /// What both have in common ends in the middle of a file. At home it is folded, and CHAINS is
  /// lost: only the own file in the folder says that it is the same.
  @Test func `what two copies had before they parted counts once, wherever files end`()
    async throws
  {
    // Whoever makes the folder.
    let c = try bench.open("c")
    try c.add("c")
    try await c.exchange()
    var a = try bench.open("a")
    try begin(a)
    try set(15, in: a)
    try a.close()
    bench.clone("a", as: "b")
    for view in ["one", "two"] {
      for path in bench.folder.paths() {
        try bench.disk("folder " + view).setBytes(path, bench.folder.bytes(path) ?? [])
      }
    }
    bench.view("one", of: "a")
    bench.view("two", of: "b")
    a = try bench.open("a")
    var b = try bench.open("b")
    let name = a.device
    try #require(b.device == name)
    for (device, value) in [(a, 16), (b, 25)] as [(Datastore, Value)] {
      try set(value, in: device)
      for _ in 0..<2 { try await device.exchange() }
      #expect(device.publishedDeltas == device.committedDeltas)
    }
    try b.compact()
    for device in [a, b] { try device.close() }
    let chains = "/root/p-notes/CHAINS"
    try #require(bench.disk("b").bytes(chains) != nil)
    try bench.disk("b").remove(chains)
    try bench.merge(["one", "two"], winner: "one")
    (a, b) = (try bench.open("a"), try bench.open("b"))
    #expect(try await bench.settle([b, a, c]), "\(bench.unrest)")
    #expect(a.device == name && b.device != name)
    for device in [a, b, c] {
      #expect(try device.table("t").record("r")?.int("n") == 26)
      #expect(try device.ids() == ["c", "r"])
    }
  }
}
