import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// A root that came with a container's image: its directories can't be renamed.
@Suite struct LayeredDiskTests {
  private let bench = CatalogueBench()

  // MARK: local and account's datastores

  private func names(_ directory: String) throws -> [String] {
    try bench.disk.list(directory).map(\.name)
  }

  @Test func `local datastores become an account's that has some on this device, too`()
    async throws
  {
    let (local, account) = (bench.local("l"), bench.manager("a"))
    for id in ["m", "n"] { try await local.with(id) { try $0.add("of-" + id) } }
    try await account.with("n") { try $0.add("theirs") }
    bench.disk.bindDirectories()
    #expect(try local.migrate(to: account).datastores.map(\.id) == ["m", "n"])
    #expect(bench.files("/l") == ["MIGRATION.LOCK"])
    #expect(try names("/l") == ["MIGRATION.LOCK"])
    #expect(try bench.local("l").ids() == [])
    #expect(try await account.content("m") == ["of-m"])
    #expect(try await account.content("n") == ["theirs", "of-n"])
    #expect(try account.trashedDatastores().map(\.id) == ["n"])
    #expect(try names("/a").allSatisfy { FileName.stagingToken($0) == nil })
    #expect(bench.disk.heldLocks == 0)
  }

  @Test func `what is deleted goes here, and to the trash elsewhere`() async throws {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    for (name, manager) in [("of-a", a), ("of-b", b)] {
      try await manager.with("n") { try $0.add(name) }
    }
    for _ in 0..<2 { for manager in [a, b] { try await manager.refresh() } }
    bench.disk.bindDirectories()
    try a.deleteDatastore("n")
    #expect(try names("/a").allSatisfy { $0 != "p-n" && !FileName.isTemporary($0) })
    try await a.refresh()
    #expect(try await b.refresh().deleted == ["n"])
    #expect(try names("/b").allSatisfy { $0 != "p-n" && FileName.stagingToken($0) == nil })
    let copy = try #require(try b.trashedDatastores().first)
    #expect(bench.disk.bytes(copy.directory + "/CURRENT") != nil)
    try b.restore(copy)
    #expect(try b.ids() == ["n"])
    // An image may be made of that.
    bench.disk.bindDirectories()
    try b.emptyTrash()
    #expect(try names("/b/trash") == [])
    #expect(try await b.content("n").contains("of-b"))
    #expect(bench.disk.heldLocks == 0)
  }

  @Test func `a copy comes back from the trash, also where one was being created`() async throws {
    let manager = bench.local("l")
    try await manager.with("n") { try $0.add("r") }
    try manager.trash.keep("p-n")
    try bench.disk.createDirectory("/l/p-n/log")
    bench.disk.bindDirectories()
    let copy = try #require(try manager.trashedDatastores().first)
    try manager.restore(copy)
    #expect(try names("/l") == ["p-n", "trash"] && names("/l/trash") == [])
    #expect(try await manager.content("n") == ["r"])
    #expect(bench.disk.heldLocks == 0)
  }

  @Test func `what was followed goes, and an account that is unlinked`() throws {
    for path in ["FOLLOWING", "followed/CURRENT", "followed/log/x"] {
      try bench.disk.setBytes("/f/" + path, [1])
    }
    bench.disk.bindDirectories()
    try DatastoreFollower.unsubscribe(root: "/f", bench.machine)
    #expect(try names("/f") == [])
    let accounts = try AccountWorkbench()
    let manager = try accounts.manager()
    let linked = try manager.link(accounts.account)
    try accounts.disk.setBytes(linked.root + "/p-n/CURRENT", [1])
    try accounts.disk.setBytes(linked.root + "/p-n/LOCK", [])
    accounts.disk.bindDirectories()
    try linked.unlink()
    #expect(AccountWorkbench.files(accounts.disk) == [])
    #expect(try accounts.disk.info(linked.root) == nil)
  }

  @Test func `a power cut at any step of a move leaves all of it here or there`() async throws {
    for step in 1..<2000 {
      let bench = CatalogueBench()
      bench.options.durability = .full
      for id in ["m", "n"] { try await bench.local("l").with(id) { try $0.add("of-" + id) } }
      bench.disk.bindDirectories()
      bench.disk.powerOff(before: bench.disk.operations + step)
      do { try bench.local("l").migrate(to: bench.manager("a")) } catch {}
      if !bench.disk.isOff {
        #expect(step > 50)
        return
      }
      let disk = bench.disk
      for model in CrashModel.all(seeds: 0..<2) {
        bench.use(disk.crash(keep: model))
        let (local, account) = (bench.local("l"), bench.manager("a"))
        let (atHome, moved) = (try local.ids(), try account.ids())
        let isWhole = (atHome, moved) == (["m", "n"], []) || (atHome, moved) == ([], ["m", "n"])
        #expect(isWhole, "step \(step), \(model): \(atHome) are local, \(moved) the account's")
        try local.migrate(to: account)
        for id in ["m", "n"] {
          let datastore = try account.openDatastore(id)
          #expect(try datastore.ids() == ["of-" + id], "step \(step), \(model)")
          try datastore.close()
        }
        let left = try bench.disk.list("/l").map(\.name).filter { $0.hasPrefix("p-") }
        #expect(left == [], "step \(step), \(model)")
      }
    }
  }

  // MARK: repair

  private func manager(_ disk: MemoryDisk, seed: UInt64) -> DatastoreManager {
    var options = Options()
    options.compactsAutomatically = false
    return DatastoreManager(
      root: "/r", account: nil, folder: nil, options: options,
      machine: Machine(disk: disk, clock: ManualClock(5), random: SeededRandom(seed)))
  }

  /// A damaged datastore with a snapshot and a log, and beside it a whole one.
  private func damaged(_ part: String) throws -> MemoryDisk {
    let disk = MemoryDisk()
    let manager = manager(disk, seed: 1)
    let datastore = try manager.openOrCreateDatastore("notes")
    for number in 0..<12 {
      try datastore.add("r\(number)")
      if number == 5 { _ = try datastore.compact() }
    }
    try datastore.close()
    let other = try manager.openOrCreateDatastore("other")
    try other.add("r")
    try other.close()
    try manager.shutDown()
    let left = disk.crash(keep: .everything)
    let path = try #require(
      left.paths().first { $0.hasPrefix("/r/p-notes/") && $0.hasSuffix(part) })
    if part == FileName.current {
      try left.remove(path)
      try left.syncDirectory("/r/p-notes")
    } else {
      var bytes = try #require(left.bytes(path))
      for place in 150..<190 { bytes[place] ^= 0x5A }
      try left.setBytes(path, bytes)
    }
    return left
  }

  /// The files below a directory, without the lock.
  private func image(_ disk: MemoryDisk, _ directory: String) -> [String: [UInt8]] {
    let paths = disk.paths().filter { $0.hasPrefix(directory + "/") && !$0.hasSuffix("/LOCK") }
    return Dictionary(
      uniqueKeysWithValues: paths.map {
        (String($0.dropFirst(directory.count)), disk.bytes($0) ?? [])
      })
  }

  private func ids(_ manager: DatastoreManager, _ id: String) throws -> Set<String> {
    let datastore = try manager.openDatastore(id)
    let ids = try datastore.ids()
    try datastore.close()
    return ids
  }

  @Test(arguments: [".snap", "CURRENT"])
  func `a repair puts the original away, and the root stays usable`(part: String) async throws {
    let disk = try damaged(part)
    let before = image(disk, "/r/p-notes")
    disk.bindDirectories()
    let manager = manager(disk, seed: 2)
    let report = try await manager.repairDatastore("notes")
    let original = try #require(report.original)
    #expect(image(disk, original) == before)
    #expect(try manager.trashedDatastores().map(\.directory) == [original])
    #expect(try manager.ids() == ["notes", "other"])
    #expect(try ids(manager, "other") == ["r"] && ids(manager, "notes").count >= 6)
    let names = try disk.list("/r").map(\.name)
    #expect(names.allSatisfy { FileName.stagingToken($0) == nil && $0 != FileName.journal })
    #expect(disk.heldLocks == 0)
  }

  @Test(arguments: [".snap", "CURRENT"])
  func `a power cut at any step of it loses nothing and puts nothing away twice`(
    part: String
  ) async throws {
    let base = try damaged(part)
    let before = image(base, "/r/p-notes")
    base.bindDirectories()
    let plain = base.snapshot()
    let first = manager(plain, seed: 2)
    _ = try await first.repairDatastore("notes")
    let wanted = try ids(first, "notes")
    var wasDecided = 0
    for step in 1...plain.operations {
      let disk = base.snapshot()
      disk.powerOff(before: step)
      // Whatever it says when there is no power any more.
      _ = try? await manager(disk, seed: 4).repairDatastore("notes")
      for model in CrashModel.all(seeds: 0..<2) {
        let left = disk.crash(keep: model)
        let again = manager(left, seed: 5)
        #expect(try ids(again, "other") == ["r"], "step \(step), \(model)")
        if try await !again.repairDatastore("notes").wasNeeded { wasDecided += 1 }
        let copies = try again.trashedDatastores()
        let isKept = copies.count == 1 && image(left, copies[0].directory) == before
        let isReasoned = copies.allSatisfy { $0.reason?.contains("was repaired") == true }
        let shown = try ids(again, "notes")
        guard isKept, isReasoned, shown == wanted else {
          Issue.record("step \(step), \(model): \(shown.count), \(copies.map(\.directory))")
          return
        }
      }
    }
    #expect(wasDecided > 0)
  }

  @Test func `an original that can't be put away shuts nothing`() async throws {
    let disk = try damaged(".snap")
    let before = image(disk, "/r/p-notes")
    disk.intercept { $0.verb == "rename" && $0.path == "/r/p-notes" ? .io(errno: 5) : nil }
    let manager = manager(disk, seed: 2)
    let error = await #expect(throws: CairnError.self) {
      try await manager.repairDatastore("notes")
    }
    #expect(error?.code == .fileIO)
    #expect(try ids(manager, "other") == ["r"])
    #expect(image(disk, "/r/p-notes") == before)
    #expect(try disk.list("/r").allSatisfy { FileName.stagingToken($0.name) == nil })
    #expect(disk.bytes("/r/MIGRATION") == nil)
    #expect(try manager.trashedDatastores() == [])
    disk.heal()
    #expect(try await manager.repairDatastore("notes").original != nil)
    #expect(try ids(manager, "notes").count >= 6)
  }
}
