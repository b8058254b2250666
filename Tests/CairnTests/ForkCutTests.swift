import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// A reader of the branch that lost, and a cut on the other one, which leaves it out.
@Suite struct ForkCutTests {
  /// What has become of what the reader wrote when it finds the branch that has won.
  enum Written: CaseIterable { case published, committed, pending }

  /// With `later` deltas the reader knows one of the name that the cut has on the other branch.
  @Test(arguments: Written.allCases, [0, 2])
  func `what a reader wrote beside a cut of the branch that won is there in the end`(
    written: Written, later: Int
  ) async throws {
    let scene = try await ForkScene()
    let bench = scene.bench
    try await scene.work(scene.a, "a", count: 1)
    var c = scene.readers[0]
    try await c.pull()
    if written != .pending { try c.add("of-c") }
    if written == .published { try await c.exchange() }
    try await scene.work(scene.a, "later", count: later)
    _ = try await c.exchanger?.run(publishes: false)
    try c.sync()
    try #require(try c.ids().contains("later1") == (later == 2))
    let name = c.device
    try await scene.work(scene.b, "b", count: 1)
    try scene.b.askToForget()
    try scene.b.sync()
    try #require(scene.b.store.cuts.cuts.map(\.isSealed) == [true])
    try await scene.b.exchange()
    try scene.merge(winner: "two")
    c = scene.readers[0]
    if written == .pending {
      // Nothing of it is known when it is decided how to go on.
      try await c.exchange()
      try #require(c.exchanger?.isReadyToRejoin == true)
      try c.table("t").insert([:], id: "of-c")
      try c.sync()
    }
    #expect(try await bench.settle(scene.all), "\(bench.unrest)")
    try bench.expectEqual(scene.all)
    let names = ["a0", "b0", "common", "of-c", "r"] + (0..<later).map { "later\($0)" }
    #expect(try c.ids() == Set(names))
    #expect(try c.table("t").record("r")?.int("n") == Int64(120 + 10 * later))
    // Only what was written in sight of that name has seen the cut.
    #expect((c.device == name) == (written == .pending && later == 2))
  }

  @Test func `beside a cut that is still open a reader of the branch that lost waits`()
    async throws
  {
    let scene = try await ForkScene()
    let bench = scene.bench
    try await scene.work(scene.a, "a", count: 1)
    try await scene.readers[0].pull()
    try scene.readers[0].add("of-c")
    try scene.readers[1].add("of-d")
    try await scene.readers[1].exchange()
    try await scene.work(scene.b, "b", count: 1)
    try await scene.b.pull()
    try scene.b.askToForget()
    try scene.b.sync()
    try #require(scene.b.store.cuts.cuts.map(\.isSealed) == [false])
    try await scene.b.exchange()
    try scene.merge(winner: "two")
    let c = scene.readers[0]
    let name = c.device
    for _ in 0..<2 {
      let report = try await c.exchange()
      #expect(report.isRejoining)
      #expect(report.waiting.contains { $0.reason.contains("written without having seen that") })
      try c.sync()
      #expect(c.device == name)
    }
    #expect(try await bench.settle(scene.all), "\(bench.unrest)")
    try bench.expectEqual(scene.all)
    #expect(c.device != name)
    #expect(try c.ids() == ["a0", "b0", "common", "of-c", "of-d", "r"])
  }
}
