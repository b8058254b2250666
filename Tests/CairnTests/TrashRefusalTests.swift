import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Managers that put nothing back from the trash: one behind a follower, and one that was shut
/// down.
@Suite struct TrashRefusalTests {
  /// What an earlier use of a root may have left there.
  private static let left = ["/trash", "/trash/5", "/trash/5/p-notes"]

  @Test func `nothing comes out of the trash into a follower's root`() async throws {
    let bench = try FolderWorkbench()
    bench.options.durability = .none
    _ = try await bench.publisher("a")
    let follower = try await bench.follow()
    try await follower.pull()
    let (root, manager) = (bench.root("follower"), follower.datastore.manager)
    for path in Self.left { try bench.makeDirectory(root + path) }
    let names = Set(try bench.names(root))
    let copy = try #require(try manager.trashedDatastores().first)
    #expect(copy.id == "notes")
    #expect(failure { try manager.restore(copy) }?.code == .readOnly)
    #expect(try manager.trashedDatastores() == [copy])
    #expect(Set(try bench.names(root)) == names)
    try follower.close()
  }

  @Test func `a manager that was shut down puts nothing back and repairs nothing`() async throws {
    let bench = CatalogueBench()
    let manager = bench.local("l")
    try await manager.with("n")
    for path in Self.left { try bench.disk.createDirectory("/l" + path) }
    let copy = try #require(try manager.trashedDatastores().first)
    try manager.shutDown()
    #expect(failure { try manager.restore(copy) }?.code == .shutdown)
    #expect(try manager.trashedDatastores() == [copy])
    for dryRun in [true, false] {
      let error = await #expect(throws: CairnError.self) {
        _ = try await manager.repairDatastore("n", dryRun: dryRun)
      }
      #expect(error?.code == .shutdown)
    }
  }
}
