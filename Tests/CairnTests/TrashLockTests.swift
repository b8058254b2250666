import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

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

  @Test func `what is merged back does not go from the trash meanwhile`() async throws {
    let (_, b) = try await bench.deletePhoto(hasArrived: true)
    let copy = try #require(try b.trashedDatastores().first)
    bench.clock.advance(by: 31 * 86_400_000)
    let trash = b.trash
    let (results, isOver) = (Told<CairnError.Code?>(), Flag())
    bench.disk.intercept { step in
      guard step.path.hasPrefix("/b/m"), isOver.raise() else { return nil }
      trash.purge()
      results.add(code { try b.emptyTrash() })
      results.add(code { try b.emptyTrash(of: copy) })
      return nil
    }
    try b.restore(copy)
    bench.disk.heal()
    #expect(results.all == [.alreadyOpen, .alreadyOpen])
    #expect(try b.trashedDatastores().map(\.directory) == [copy.directory])
    let restored = try b.openDefaultDatastore()
    #expect(try restored.content(of: "r") == sample(1))
    try restored.close()
    try b.emptyTrash()
    #expect(try b.trashedDatastores() == [] && bench.files("/b/trash") == [])
  }

  @Test func `what is removed from the trash just now is not put back`() async throws {
    let (disk, manager) = (bench.disk, bench.local("l"))
    try await manager.with("n") { try $0.add("r") }
    try manager.trash.keep("p-n")
    let copy = try #require(try manager.trashedDatastores().first)
    let file = copy.directory + "/" + FileName.lock
    let lock = try disk.lock(file)
    #expect(code { try manager.restore(copy) } == .alreadyOpen)
    lock.unlock()
    // By who removes it where it is, and was killed.
    let current = copy.directory + "/" + FileName.current
    let isOver = Flag()
    disk.intercept { step in
      guard step.verb == "lock", step.path == file, isOver.raise() else { return nil }
      #expect(throws: Never.self) { try disk.remove(current) }
      return nil
    }
    #expect(code { try manager.restore(copy) } == .notFound)
    disk.heal()
    #expect(isOver.isUp && disk.heldLocks == 0)
    #expect(try disk.info("/l/p-n") == nil)
  }

  /// It would be made anew, with nothing in it, and nothing would come back.
  @Test func `what goes just before it is opened is not there any more`() async throws {
    let (_, b) = try await bench.deletePhoto(hasArrived: true)
    let copy = try #require(try b.trashedDatastores().first)
    bench.clock.advance(by: 31 * 86_400_000)
    let (trash, isOver) = (b.trash, Flag())
    bench.disk.intercept { step in
      guard step.path == "/b/" + FileName.migrationLock, isOver.raise() else { return nil }
      trash.purge()
      return nil
    }
    #expect(code { try b.restore(copy) } == .notFound)
    bench.disk.heal()
    #expect(isOver.isUp)
    #expect(try b.ids() == [])
    #expect(bench.disk.heldLocks == 0)
    trash.purge()
    #expect(bench.files("/b/trash") == [])
  }
}
