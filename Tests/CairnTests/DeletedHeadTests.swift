import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// What is left in the folder of deleted datastores: heads that are elsewhere just then, and files
/// of installations that are gone.
@Suite struct DeletedHeadTests {
  private let bench = CatalogueBench()

  /// Taken for no head at all, it and its snapshots would stay there for good.
  @Test func `a head that is elsewhere when its datastore is deleted goes when it is back`()
    async throws
  {
    let a = bench.manager("a")
    try await a.with("n") { try $0.add("a") }
    try await a.refresh()
    let files = bench.files("/folder/p-n")
    let head = try #require(files.first { $0.hasSuffix(".head") })
    let (path, placeholder) = ("/folder/p-n/" + head, "/folder/p-n/." + head + ".icloud")
    let bytes = try #require(bench.disk.bytes(path))
    try bench.disk.remove(path)
    try bench.disk.setBytes(placeholder, [1, 2, 3])
    try a.deleteDatastore("n")
    for round in 1...3 {
      let report = try await a.refresh()
      #expect(report.problems == [] && report.removedFiles == 0, "round \(round)")
      // The third round goes by: tries become ever more seldom.
      #expect(report.waiting.map(\.name) == (round < 3 ? ["p-n/" + head] : []), "round \(round)")
    }
    #expect(bench.files("/folder/p-n").count == files.count)
    try bench.disk.remove(placeholder)
    try bench.disk.setBytes(path, bytes)
    for _ in 0..<4 { try await a.refresh() }
    #expect(bench.files("/folder/p-n") == [])
  }

  /// As the page about datastores says.
  @Test func `files of an installation that is gone stay, and may be removed by hand`()
    async throws
  {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    var (lost, own) = ("", "")
    try await a.with("n") {
      try $0.add("of-a")
      lost = $0.device
    }
    try await b.with("n") {
      try $0.add("of-b")
      own = $0.device
    }
    for _ in 0..<2 { for manager in [a, b] { try await manager.refresh() } }
    try bench.disk.removeTree("/a")
    try b.deleteDatastore("n")
    for _ in 0..<4 { try await b.refresh() }
    bench.clock.advance(by: 31 * 24 * 3600 * 1000)
    for _ in 0..<4 { try await b.refresh() }
    let left = bench.files("/folder/p-n")
    #expect(left.contains { $0.hasPrefix(lost) } && !left.contains { $0.hasPrefix(own) })
    try bench.disk.removeTree("/folder/p-n")
    let c = bench.manager("c")
    try await c.refresh()
    #expect(try c.ids() == [], "the list knows that it is deleted, not the directory")
    try await b.with("n") { try $0.add("new") }
    try await b.refresh()
    try await c.refresh()
    #expect(try await c.content("n") == ["new"])
  }
}
