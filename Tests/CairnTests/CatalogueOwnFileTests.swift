import TestSupport
import Testing

@testable import Cairn

/// An installation's own file in the folder: by whom it was written, and when it is written over.
@Suite struct CatalogueOwnFileTests {
  private let bench = CatalogueBench()

  /// Somebody has used a newer version of the app on this root, and is back at this one.
  @Test func `one in a newer version ends the round, and is not written over`() async throws {
    let a = bench.manager("a")
    try await a.with("n")
    try await a.refresh()
    let path = "/folder/catalogue/" + (try #require(bench.catalogues.first))
    var bytes = try #require(bench.disk.bytes(path))
    bytes[10] = 9
    let newer = bytes.resummed()
    bench.clock.advance(by: 5)
    try bench.disk.setBytes(path, newer)
    for (manager, id) in [(a, "m"), (bench.manager("a"), "o")] {
      // Something to say.
      try await manager.with(id)
      for _ in 0..<2 { #expect(await manager.refreshError()?.code == .needsNewerVersion) }
      #expect(bench.disk.bytes(path) == newer && bench.catalogues.count == 1)
    }
  }

  /// A name that is left stays in the folder as an installation that nobody is any more.
  @Test(arguments: [1, 2, 4], [false, true])
  func `an installation keeps its name however often its file could not be written`(
    failures: Int, restarts: Bool
  ) async throws {
    let hook = HookedFolder.Switch()
    var a = bench.manager("a", hook)
    try await a.with("x")
    try await a.refresh()
    let names = bench.catalogues
    #expect(names.count == 1)
    try await a.with("y")
    hook.set { request, path throws(CairnError) in
      guard request == .write, path.hasSuffix(".cat") else { return }
      throw CairnError(.diskSpace, "no room", file: path)
    }
    for _ in 0..<failures {
      #expect(await a.refreshError()?.code == .diskSpace)
      if restarts { a = bench.manager("a", hook) }
    }
    hook.set(nil)
    #expect(try await a.refresh().hasPublished)
    #expect(bench.catalogues == names)
    let b = bench.manager("b")
    try await b.refresh()
    #expect(try b.ids() == ["x", "y"])
  }

  /// As of an app that has a datastore for each document, with titles as long as they get.
  @Test func `one that is longer than others read is not written, until it is shorter`()
    async throws
  {
    let a = bench.manager("a")
    try await a.with("n")
    try await a.refresh()
    let path = "/folder/catalogue/" + (try #require(bench.catalogues.first))
    let before = try #require(bench.disk.bytes(path))
    let title = String(repeating: "t", count: CatalogueView.titleBytesMax)
    let most = CatalogueFile.bytesMax / CatalogueView.titleBytesMax
    func say(_ view: CatalogueView?) throws {
      let entry = CatalogueEntry(generation: view == nil ? 1 : 0, view: view)
      try a.installation.update { file in
        for number in 0..<most { file.say("d\(number)", entry) }
      }
    }
    try say(CatalogueView(title: title, modified: nil, deltas: 1, records: 1, size: 1))
    for manager in [a, bench.manager("a")] {
      #expect(await manager.refreshError()?.code == .sizeLimit)
      #expect(bench.disk.bytes(path) == before)
      let file = try manager.installation.read()
      #expect(!file.isPublished && file.own.revision == 1)
      #expect(file.own.entries.count == most + 1, "it is known here all the same")
    }
    try say(nil)
    #expect(try await a.refresh().hasPublished)
    #expect(try a.installation.read().own.revision == 2)
    let b = bench.manager("b")
    #expect(try await b.refresh().waiting.isEmpty)
    #expect(try b.ids() == ["n"])
  }

  /// Two may have made the folder at once: the file of the one that has lost lies there, too, and a
  /// process may live for one round only.
  @Test func `one beside a file of another identity is written for the folder's own`()
    async throws
  {
    let a = bench.manager("a")
    try await a.with("a")
    try await a.refresh()
    let lost = bench.catalogues
    try bench.disk.setBytes("/folder/cairn.json", FolderIdentity.encode(7))
    for _ in 0..<3 {
      let c = bench.manager("c")
      try await c.with("c")
      #expect(try await c.refresh().problems.map(\.name) == lost)
      let own = bench.catalogues.filter { !lost.contains($0) }
      try #require(own.count == 1)
      let bytes = try #require(bench.disk.bytes("/folder/catalogue/" + own[0]))
      #expect(try CatalogueFile(bytes, name: own[0]).folder == 7)
    }
    let d = bench.manager("d")
    try await d.refresh()
    #expect(try d.ids() == ["c"])
  }
}
