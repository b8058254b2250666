import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// What a manager does not do in a root that is another's, or not settled yet.
@Suite struct ManagerRefusalTests {
  /// Why it repairs nothing; nil if it does.
  private func repairCode(_ manager: DatastoreManager) async -> CairnError.Code? {
    do throws(CairnError) {
      _ = try await manager.repairDatastore("notes")
      return nil
    } catch { return error.code }
  }

  @Test func `an account's manager does nothing in a root where a datastore is followed`()
    async throws
  {
    let bench = try FolderWorkbench()
    let a = try await bench.publisher("a")
    let follower = try await bench.follow()
    try await follower.pull()
    try follower.close()
    try a.close()
    let (root, folder) = (try bench.tree(bench.root("follower")), try bench.tree(bench.folder))
    let manager = try bench.manager("follower")
    #expect(await manager.refreshError()?.code == .readOnly)
    #expect(await repairCode(manager) == .readOnly)
    let calls: [(String, () throws -> Void)] = [
      ("the list", { _ = try manager.listDatastores() }),
      ("open", { _ = try manager.openOrCreateDatastore("other") }),
      ("exchange the list", { try manager.startExchanging() }),
      ("delete", { try manager.deleteDatastore("notes") }),
      ("uncache", { try manager.uncacheDatastore("notes") }),
    ]
    for (what, call) in calls { #expect(code(call) == .readOnly, "\(what)") }
    manager.stopExchanging()
    #expect(try bench.tree(bench.root("follower")) == root)
    #expect(try bench.tree(bench.folder) == folder)
  }

  /// It has no folder of its own, and no directory of that name: neither is the reason.
  @Test func `a follower's manager says that it is read only`() async throws {
    let bench = try FolderWorkbench()
    try await bench.publisher("a").close()
    let follower = try await bench.follow()
    try await follower.pull()
    let manager = follower.datastore.manager
    #expect(await manager.refreshError()?.code == .readOnly)
    #expect(await repairCode(manager) == .readOnly)
    try follower.close()
  }

  @Test func `the list is not exchanged while a move is under way, and completes one`()
    async throws
  {
    let bench = CatalogueBench()
    try await bench.manager("a").with("n") { try $0.add("r") }
    let journal = MigrationJournal(
      flags: MigrationJournal.flagTarget, token: 7, other: "", items: [])
    try journal.write("/a", machine: bench.machine)
    // Somebody is at it.
    let lock = try bench.disk.lock("/a/" + FileName.migrationLock)
    let a = bench.manager("a")
    #expect(await a.refreshError()?.code == .retryLater)
    #expect(code { try a.startExchanging() } == .retryLater)
    a.stopExchanging()
    #expect(bench.catalogues == [])
    lock.unlock()
    #expect(await a.refreshError() == nil)
    #expect(!bench.files("/a").contains(FileName.journal) && bench.catalogues.count == 1)
  }

  /// Not that it was cancelled: nobody has asked for that.
  @Test(.timeLimit(.minutes(20)))
  func `a refresh that waits for the folder ends when its manager does, and says so`()
    async throws
  {
    let (bench, gate) = (CatalogueBench(), FarFolder.Gate())
    let machine = bench.machine
    let manager = DatastoreManager(
      root: "/a", account: Account(user: "ann", folder: .directory("/folder")),
      folder: { FarFolder(base: DirectoryFolder("/folder", machine: machine), gate: gate) },
      options: bench.options, machine: machine)
    gate.shut()
    let task = Task { await manager.refreshError()?.code }
    while gate.waiting == 0 { await Task.yield() }
    try manager.shutDown()
    #expect(await task.value == .shutdown)
    #expect(bench.disk.heldLocks == 0)
  }
}
