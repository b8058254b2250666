import Cairn
import CairnDisk
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

  /// Its own file has the number that it had at the time of the backup, or is missing there.
  @Test(arguments: [false, true])
  func `what a restored root says is heard, though it had said more before`(
    restoresFolder: Bool
  ) async throws {
    let home = MemoryDisk(clock: bench.clock)
    let (a, b) = (bench.manager("a", on: home), bench.manager("b"))
    try await a.with("n")
    try await a.refresh()
    let path = "/folder/catalogue/" + (try #require(bench.catalogues.first))
    let (backup, before) = (home.snapshot(), bench.disk.snapshot())
    for id in ["m", "o", "p", "q"] {
      bench.clock.advance(by: 5)
      try await a.with(id)
      try await a.refresh()
    }
    #expect(try revision(path) == 5)
    try await b.refresh()
    #expect(try b.ids() == ["m", "n", "o", "p", "q"])
    bench.clock.advance(by: 5)
    if restoresFolder { try restoreFolder(from: before) } else { try bench.disk.remove(path) }
    let restored = bench.manager("a", on: backup)
    try await restored.with("y")
    try await restored.refresh()
    #expect(try revision(path) == 2)
    #expect(try await b.refresh().fetchedFiles == 1)
    #expect(try b.ids() == ["m", "n", "o", "p", "q", "y"])
    bench.clock.advance(by: 5)
    try restored.deleteDatastore("y")
    try await restored.refresh()
    #expect(try revision(path) == 3)
    #expect(try await b.refresh().heldDeletes == [])
    #expect(try b.ids() == ["m", "n", "o", "p", "q"])
    // So it stays when its file has come to the number that is known, and beyond.
    for (id, number) in [("u", 4), ("v", 5), ("w", 6)] as [(String, UInt64)] {
      bench.clock.advance(by: 5)
      try await restored.with(id)
      try await restored.refresh()
      #expect(try revision(path) == number)
      try await b.refresh()
      #expect(try b.ids().filter { $0 < "r" } == ["m", "n", "o", "p", "q"])
    }
    #expect(try b.ids() == ["m", "n", "o", "p", "q", "u", "v", "w"])
    #expect(try await b.refresh().isIdle)
  }

  private func revision(_ path: String) throws -> UInt64 {
    try CatalogueFile(try #require(bench.disk.bytes(path)), name: path).revision
  }

  private func restoreFolder(from old: MemoryDisk) throws {
    for path in bench.disk.paths() where path.hasPrefix("/folder/") {
      try bench.disk.remove(path)
    }
    for path in old.paths() where path.hasPrefix("/folder/") {
      try bench.disk.setBytes(path, try #require(old.bytes(path)))
    }
  }
}
