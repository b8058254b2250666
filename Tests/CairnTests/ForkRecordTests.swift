import Testing

@testable import Cairn

/// Records and lists of a branch that lost, to which a reader has done something that it has not
/// published.
@Suite struct ForkRecordTests {
  /// The delete that it was born after is in nobody's history any more.
  @Test func `a record that a reader has made once more can be deleted`() async throws {
    let scene = try await ForkScene()
    try await scene.work(scene.a, "a", count: 2)
    try scene.a.table("t").record("common")?.delete()
    try scene.a.sync()
    try await scene.a.exchange()
    try await scene.work(scene.b, "b", count: 1)
    let reader = scene.readers[0]
    try await reader.pull()
    try #require(try reader.ids() == ["a0", "a1", "r"])
    try reader.add("common")
    try reader.table("t").record("common")?.set("text", "more")
    try reader.sync()
    try scene.merge(winner: "two")
    #expect(try await scene.bench.settle(scene.all), "\(scene.bench.unrest)")
    try scene.bench.expectEqual(scene.all)
    let c = scene.readers[0]
    // The delete is there once more, and did not mean this one.
    #expect(try c.ids() == ["a0", "a1", "b0", "common", "r"])
    #expect(try c.table("t").record("common")?.string("text") == "more")
    try c.table("t").record("common")?.delete()
    try c.sync()
    #expect(try c.ids() == ["a0", "a1", "b0", "r"])
    #expect(try await scene.bench.settle(scene.all), "\(scene.bench.unrest)")
    try scene.bench.expectEqual(scene.all)
    #expect(try scene.b.ids() == ["a0", "a1", "b0", "r"])
  }

  @Test func `all that a reader has put into a list that is not there is told`() async throws {
    let scene = try await ForkScene()
    try #require(try scene.a.table("t").record("r")).set("m", .list(["x"]))
    try scene.a.sync()
    try await scene.a.exchange()
    try await scene.work(scene.b, "b", count: 1)
    let reader = scene.readers[0]
    try await reader.pull()
    let list = try #require(try reader.table("t").record("r")).list("m")
    try #require(try list.values == ["x"])
    try list.append("p")
    try reader.sync()
    // It hangs on the own item.
    try list.append("q")
    try reader.sync()
    try scene.merge(winner: "two")
    let c = scene.readers[0]
    var told: [SyncResult.Conflict] = []
    for _ in 0..<4 {
      try await c.exchange()
      told += try c.sync().conflicts.filter { $0.field == "m" }
    }
    #expect(told.map(\.id) == ["r", "r"] && told.allSatisfy { $0.visible == nil })
    let items: [[Value?]] = [[.list(["p"])], [.list(["q"])]]
    #expect(told.map { $0.losers.map(\.value) } == items)
    #expect(try await scene.bench.settle(scene.all), "\(scene.bench.unrest)")
    try scene.bench.expectEqual(scene.all)
    #expect(try c.table("t").record("r")?.list("m").values == ["x"])
  }
}
