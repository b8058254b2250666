import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// An installation's own file in the folder that can't be read.
@Suite struct CatalogueUnreadTests {
  @Test(arguments: [CairnError.Code.fileIO, .readOnly, .corrupt])
  func `the own list that can't be read is waited for, and then written again`(
    code: CairnError.Code
  ) async throws {
    let bench = CatalogueBench()
    let hook = HookedFolder.Switch()
    func root() -> DatastoreManager { bench.manager("a", hook) }
    try await root().with("x")
    #expect(await root().refreshError() == nil)
    let own = try #require(bench.catalogues.first)
    let other = bench.manager("c")
    try await other.with("y")
    #expect(await other.refreshError() == nil)
    hook.set { request, path throws(CairnError) in
      guard request == .read, path.hasSuffix(own) else { return }
      throw CairnError(code, "no", file: path)
    }
    // A process that has never seen its file.
    let a = root()
    for round in 1...3 {
      let report = try await a.refresh()
      #expect(report.problems.map(\.name) == [own])
      #expect(report.hasPublished == (round == 3))
      #expect(try a.ids() == ["x", "y"], "what others say is heard")
    }
    #expect(try await a.refresh().problems == [])
    // And a delete.
    try other.deleteDatastore("y")
    #expect(await other.refreshError() == nil)
    try await a.refresh()
    #expect(try a.ids() == ["x"])
  }
}
