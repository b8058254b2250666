import Cairn
import TestSupport
import Testing

/// Two roots have a trash each.
@Suite struct TrashElsewhereTests {
  private let bench = CatalogueBench()

  /// The clock stands still, so that what both put away lies there since the same moment.
  @Test func `a copy in the trash of another root takes nothing away here`() async throws {
    let (a, b, c) = (bench.manager("a"), bench.manager("b"), bench.manager("c"))
    for (name, manager) in [("of-a", a), ("of-b", b), ("of-c", c)] {
      try await manager.with("n") { try $0.add(name) }
    }
    for _ in 0..<2 { for manager in [a, b, c] { try await manager.refresh() } }
    try a.deleteDatastore("n")
    try await a.refresh()
    for manager in [b, c] { #expect(try await manager.refresh().deleted == ["n"]) }
    let (own, others) = (try b.trashedDatastores(), try c.trashedDatastores())
    try #require(own.count == 1 && own.map(\.deleted) == others.map(\.deleted))
    try b.emptyTrash(of: others[0])
    #expect(try b.trashedDatastores() == own)
    #expect(try c.trashedDatastores() == others)
    #expect(code { try b.restore(others[0]) } == .notFound)
    try b.emptyTrash(of: own[0])
    #expect(try b.trashedDatastores() == [])
    #expect(try c.trashedDatastores() == others)
  }
}
