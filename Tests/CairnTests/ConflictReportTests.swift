import Cairn
import TestSupport
import Testing

/// What a sync says of a conflict: who lost what, when that was committed, and by which rule.
@Suite struct ConflictReportTests {
  @Test func `a loser has its value, its device and the time of its own commit`() async throws {
    let bench = IdentityBench()
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    let table = try a.table("t")
    try table.setRule(.max, field: "m")
    try table.insert(["n": 1, "m": 1, "gone": 1], id: "r")
    try a.sync()
    try await a.exchange()
    try await b.pull()
    bench.clock.advance(by: 5000)
    let first = bench.clock.now()
    try table["r"].update(["n": 2, "m": 2, "gone": 2])
    try a.sync()
    try await a.exchange()
    bench.clock.advance(by: 7000)
    let second = bench.clock.now()
    try b.table("t")["r"].update(["n": 3, "m": 3, "gone": nil])
    try b.sync()
    bench.clock.advance(by: 11_000)
    try await b.exchange()
    let found = try b.sync().conflicts.sorted { $0.field < $1.field }
    #expect(found.map(\.field) == ["gone", "m", "n"])
    #expect(found.allSatisfy { $0.table == "t" && $0.id == "r" && $0.losers.count == 1 })
    #expect(found.map(\.rule) == [.remote, .max, .remote])
    #expect(found.map(\.visible) == [2, 3, 2])
    let losers = found.compactMap(\.losers.first)
    #expect(losers.map(\.value) == [nil, 2, 3])
    #expect(losers.map(\.device) == [b.device, a.device, b.device])
    #expect(losers.map(\.time.millisecondsSince1970) == [second, first, second])
  }
}
