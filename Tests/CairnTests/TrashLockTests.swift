import Cairn
import CairnDisk
import CairnLog
import TestSupport
import Testing

/// One at a time moves datastores into a root, what comes back from the trash among them.
@Suite struct TrashLockTests {
  private let bench = CatalogueBench()

  @Test func `nothing is merged back while somebody else moves datastores there`() async throws {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    for (name, manager) in [("of-a", a), ("of-b", b)] {
      try await manager.with("n") { try $0.add(name) }
    }
    for _ in 0..<2 { for manager in [a, b] { try await manager.refresh() } }
    try a.deleteDatastore("n")
    try await a.refresh()
    #expect(try await b.refresh().deleted == ["n"])
    let copy = try #require(try b.trashedDatastores().first)
    let lock = try bench.disk.lock("/b/" + FileName.migrationLock)
    #expect(code { try b.restore(copy) } == .retryLater)
    #expect(try b.ids() == [])
    #expect(try b.trashedDatastores() == [copy])
    lock.unlock()
    try b.restore(copy)
    #expect(try b.ids() == ["n"])
  }
}
