import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A report of the list says how often the folder was called, also on the ways that are seldom
/// gone.
@Suite struct CatalogueRequestTests {
  private let bench = CatalogueBench()
  private let hook = HookedFolder.Switch()
  private let calls = Shared(0)

  /// A round of the list that says how often it has called the folder.
  private func refresh(_ manager: DatastoreManager) async throws -> CatalogueReport {
    let before = calls.withLock { $0 }
    hook.set { [calls] _, _ in calls.withLock { $0 += 1 } }
    let report = try await manager.refresh()
    hook.set(nil)
    let count = calls.withLock { $0 } - before
    #expect(report.requests == count)
    return report
  }

  /// Two have made the folder at once, and the other's identity has won.
  private func replaceIdentity() throws {
    try bench.disk.setBytes("/folder/cairn.json", FolderIdentity.encode(7))
  }

  @Test(arguments: [false, true])
  func `a folder that is told by what a datastore has published`(isHeadLost: Bool) async throws {
    let a = bench.manager("a", hook)
    try await a.with("n") { try $0.add("a") }
    try replaceIdentity()
    let head = try #require(bench.files("/folder/p-n").first { $0.hasSuffix(".head") })
    if isHeadLost { try bench.disk.remove("/folder/p-n/" + head) }
    let report = try await refresh(a)
    #expect(report.hasPublished && report.requests == (isHeadLost ? 5 : 4))
  }

  @Test func `a folder that is told by another installation's file`() async throws {
    let first = bench.manager("a", hook)
    try await first.with("n")
    _ = try await refresh(first)
    let own = try #require(bench.catalogues.first)
    let other = bench.manager("b")
    try await other.with("m")
    try await other.refresh()
    _ = try await refresh(first)
    try replaceIdentity()
    try bench.disk.remove("/folder/catalogue/" + own)
    // A process that has to look at the folder again.
    let report = try await refresh(bench.manager("a", hook))
    #expect(report.hasPublished && bench.catalogues.contains(own))
  }

  @Test func `the files of others that are read`() async throws {
    for name in ["b", "c"] {
      let other = bench.manager(name)
      try await other.with(name)
      try await other.refresh()
    }
    let a = bench.manager("a", hook)
    let report = try await refresh(a)
    #expect(report.fetchedFiles == 2 && report.requests >= 4)
    #expect(try a.ids() == ["b", "c"])
  }
}
