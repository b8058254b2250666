import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// A snapshot is joined by its vector alone, which does not say of which history it is.
@Suite struct ForkSnapshotTests {
  /// Publishes so much that who is behind rather joins a snapshot, and that snapshot.
  private func outgrow(_ device: Datastore) async throws {
    let random = SeededRandom(7)
    for round in 0..<40 {
      let bytes = Value.bytes(random.bytes(50_000))
      if round == 0 {
        try device.table("t").insert(["bytes": bytes], id: "big")
      } else {
        try device.table("t")["big"].set("bytes", bytes)
      }
      try device.sync()
      try await device.exchange()
    }
    try device.compact()
    #expect(try await device.exchange().publishedSnapshot)
  }

  /// Where small files are merged, the first one behind what is here has some of that, too.
  @Test(arguments: [0, Tuning().smallFileBytes])
  func `a reader of the branch that lost finds out before it joins a snapshot of the other one`(
    smallFileBytes: UInt64
  ) async throws {
    let scene = try await ForkScene(smallFileBytes: smallFileBytes)
    let bench = scene.bench
    try await scene.work(scene.a, "a", count: 1)
    try await scene.readers[0].pull()
    try await scene.work(scene.b, "b", count: 1)
    try await outgrow(scene.b)
    try scene.merge(winner: "two")
    let (c, d) = (scene.readers[0], scene.readers[1])
    let report = try await c.pull()
    #expect(report.isRejoining && !report.fetchedSnapshot)
    // It has nothing but what both branches have.
    let other = try await d.pull()
    #expect(other.fetchedSnapshot && !other.isRejoining)
    #expect(try await bench.settle(scene.all), "\(bench.unrest)")
    try bench.expectEqual(scene.all)
    #expect(try c.ids() == ["a0", "b0", "big", "common", "r"])
    let record = try #require(try c.table("t").record("r"))
    #expect(try record.int("n") == 120)
    #expect(try Set(record.list("l").values) == ["x", "a0", "b0"])
  }

  @Test func `a file that can't be read keeps a snapshot away for some rounds and no longer`()
    async throws
  {
    let (bench, script) = (IdentityBench(seed: 3), ScriptedFolder.Script())
    bench.options.tuning.smallFileBytes = 0
    bench.scripts["b"] = script
    let a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    let b = try bench.open("b")
    try await b.pull()
    try #require(try b.ids() == ["a0"])
    let last = b.store.vector[a.store.device]
    try await outgrow(a)
    let names = bench.folder.paths().map { String($0.split(separator: "/").last ?? "") }
    let next = try #require(names.first { FileName.published($0)?.first == last + 1 })
    script.hide(next)
    var fetched: [Bool] = []
    for _ in 0..<Exchange.patience { fetched.append(try await b.exchange().fetchedSnapshot) }
    #expect(fetched == [false, false, true])
    try b.sync()
    #expect(try b.ids() == ["a0", "big"])
    #expect(script.reads.count { $0.hasSuffix(next) } == 5, "once more in rounds without it")
  }
}
