import Cairn
import TestSupport
import Testing

/// A file of the list that is older than what is known costs one look, and no more.
@Suite struct CatalogueOldFileTests {
  private let bench = CatalogueBench()

  @Test func `an older file that has come back is read once, and rounds are idle again`()
    async throws
  {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n")
    try await a.refresh()
    let name = try #require(bench.catalogues.first)
    let path = "/folder/catalogue/" + name
    try await b.refresh()
    let old = try #require(bench.disk.bytes(path))
    try await a.with("m")
    try await a.refresh()
    bench.clock.advance(by: 5)
    try await b.refresh()
    bench.clock.advance(by: 5)
    try bench.disk.setBytes(path, old)
    #expect(try await b.refresh().fetchedFiles == 1)
    let next = try await b.refresh()
    #expect(next.isIdle && next.requests == 1, "\(next)")
    #expect(try b.ids() == ["m", "n"])
    #expect(try await bench.manager("b").refresh().fetchedFiles == 0, "the next process knows it")
  }
}
