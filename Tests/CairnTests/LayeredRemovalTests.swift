import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Directories that can't be renamed go, and go to the trash, also where a file that is removed
/// while it is open keeps its directory, and whatever a crash or another process does meanwhile.
@Suite struct LayeredRemovalTests {
  private let bench = CatalogueBench()

  private func names(_ directory: String) throws -> [String] {
    try bench.disk.list(directory).map(\.name)
  }

  /// As by fuse-overlayfs.
  private func bind() {
    bench.disk.bindDirectories()
    bench.disk.keepOpenFiles()
  }

  // MARK: files that are open

  @Test func `a local datastore is deleted, and a copy of an account's removed`() async throws {
    let (local, account) = (bench.local("l"), bench.manager("a"))
    for manager in [local, account] { try await manager.with("n") { try $0.add("r") } }
    bind()
    try local.deleteDatastore("n")
    #expect(try names("/l") == [])
    try account.uncacheDatastore("n")
    #expect(try names("/a").allSatisfy { $0 != "p-n" && !FileName.isTemporary($0) })
    #expect(try await account.content("n") == ["r"])
    #expect(bench.disk.heldLocks == 0)
  }

  @Test func `what others have deleted goes to the trash, and from there`() async throws {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    for (name, manager) in [("of-a", a), ("of-b", b)] {
      try await manager.with("n") { try $0.add(name) }
    }
    for _ in 0..<2 { for manager in [a, b] { try await manager.refresh() } }
    bind()
    try a.deleteDatastore("n")
    try await a.refresh()
    #expect(try await b.refresh().deleted == ["n"])
    #expect(try names("/b").allSatisfy { $0 != "p-n" && FileName.stagingToken($0) == nil })
    #expect(try b.trashedDatastores().map(\.id) == ["n"])
    // An image may be made of that.
    bind()
    try b.emptyTrash()
    #expect(try names("/b/trash") == [])
    #expect(bench.disk.heldLocks == 0)
  }

  @Test func `a copy comes back from the trash`() async throws {
    let manager = bench.local("l")
    try await manager.with("n") { try $0.add("r") }
    try manager.trash.keep("p-n")
    bind()
    let copy = try #require(try manager.trashedDatastores().first)
    try manager.restore(copy)
    #expect(try names("/l") == ["p-n", "trash"] && names("/l/trash") == [])
    #expect(try await manager.content("n") == ["r"])
    #expect(bench.disk.heldLocks == 0)
  }

  @Test func `a repair puts the original away, and the root stays usable`() async throws {
    let manager = bench.local("l")
    for id in ["m", "n"] { try await manager.with(id) { try $0.add("of-" + id) } }
    try bench.disk.remove("/l/p-n/CURRENT")
    bind()
    let original = try #require(try await manager.repairDatastore("n").original)
    #expect(try manager.trashedDatastores().map(\.directory) == [original])
    #expect(bench.disk.bytes("/l/" + FileName.journal) == nil)
    for id in ["m", "n"] { #expect(try await manager.content(id) == ["of-" + id]) }
    #expect(try names("/l").allSatisfy { FileName.stagingToken($0) == nil })
    #expect(bench.disk.heldLocks == 0)
  }

  // MARK: crashes

  /// The files below a directory, without the lock.
  private func image(_ disk: MemoryDisk, _ directory: String) -> [String: [UInt8]] {
    let paths = disk.paths().filter { $0.hasPrefix(directory + "/") && !$0.hasSuffix("/LOCK") }
    return Dictionary(
      uniqueKeysWithValues: paths.map {
        (String($0.dropFirst(directory.count)), disk.bytes($0) ?? [])
      })
  }

  /// The disk as it is before the step of that number of a repair; nil if it has less.
  private func killed(_ base: MemoryDisk, before number: Int) async throws -> MemoryDisk? {
    let bench = CatalogueBench(seed: 2)
    let (disk, left) = (base.snapshot(), Shared<MemoryDisk?>(nil))
    disk.intercept { step in
      if step.number == number { _ = left.exchange(disk.snapshot()) }
      return nil
    }
    bench.use(disk)
    bench.options.durability = .full
    _ = try await bench.local("l").repairDatastore("n")
    disk.heal()
    return left.exchange(nil)
  }

  @Test(arguments: [false, true])
  func `a kill at any step of a repair, and a power cut after somebody completed it, lose nothing`(
    isBound: Bool
  ) async throws {
    let bench = CatalogueBench()
    bench.options.durability = .full
    try await bench.local("l").with("n") { try $0.add("r") }
    try bench.disk.remove("/l/p-n/CURRENT")
    bench.crash(.everything)
    if isBound { bench.disk.bindDirectories() }
    let base = bench.disk
    let before = image(base, "/l/p-n")
    var number = 1
    while let left = try await killed(base, before: number) {
      let next = CatalogueBench(seed: 3)
      next.options.durability = .full
      next.use(left)
      // Whoever uses the root completes what was decided.
      _ = try next.local("l").ids()
      next.crash(.nothingUnsynced)
      let copies = try next.local("l").trashedDatastores().map(\.directory)
      let isKept = (copies + ["/l/p-n"]).contains { image(next.disk, $0) == before }
      #expect(isKept, "step \(number): \(next.files("/l"))")
      number += 1
    }
    #expect(number > 20)
  }

  private func remove(_ manager: DatastoreManager) throws {
    guard manager.isLocal else { return try manager.uncacheDatastore("n") }
    try manager.deleteDatastore("n")
  }

  @Test(arguments: [false, true])
  func `of a removal that a power cut interrupts nothing is left that can't be removed again`(
    isLocal: Bool
  ) async throws {
    var again = 0
    for step in 1..<500 {
      let bench = CatalogueBench()
      bench.options.durability = .full
      let first = isLocal ? bench.local("r") : bench.manager("r")
      try await first.with("n") { try $0.add("x") }
      bench.crash(.everything)
      bench.disk.bindDirectories()
      bench.disk.powerOff(before: bench.disk.operations + step)
      do { try remove(isLocal ? bench.local("r") : bench.manager("r")) } catch {
        try #require(bench.disk.isOff, "\(error)")
      }
      if !bench.disk.isOff {
        #expect(step > 5 && again > 0)
        return
      }
      let disk = bench.disk
      for model in CrashModel.all(seeds: 0..<8) {
        bench.use(disk.crash(keep: model))
        let manager = isLocal ? bench.local("r") : bench.manager("r")
        let isWhole = bench.disk.bytes("/r/p-n/CURRENT") != nil
        let second = code { try remove(manager) }
        #expect(second == nil || second == .notFound, "step \(step), \(model)")
        if second == nil, !isWhole { again += 1 }
        let left = bench.files("/r/p-n")
        #expect(left.allSatisfy { $0 == FileName.lock }, "step \(step), \(model): \(left)")
        let created = try manager.openOrCreateDatastore("n")
        #expect(try created.ids() == [], "step \(step), \(model)")
        try created.close()
      }
    }
  }

  // MARK: what others do, and what is in the way

  @Test func `nobody empties the trash of a copy that is being put back`() async throws {
    let manager = bench.local("l")
    try await manager.with("n") { try $0.add("r") }
    try manager.trash.keep("p-n")
    bench.disk.bindDirectories()
    let copy = try #require(try manager.trashedDatastores().first)
    let (results, isOver) = (Told<CairnError.Code?>(), Flag())
    bench.disk.intercept { step in
      guard step.path.hasPrefix("/l/m"), isOver.raise() else { return nil }
      results.add(code { try manager.emptyTrash() })
      results.add(code { try manager.emptyTrash(of: copy) })
      return nil
    }
    try manager.restore(copy)
    bench.disk.heal()
    #expect(results.all == [.alreadyOpen, .alreadyOpen])
    #expect(try names("/l") == ["p-n", "trash"] && names("/l/trash") == [])
    #expect(try await manager.content("n") == ["r"])
  }

  /// As a link to another volume.
  @Test func `what can't be copied stays where it is`() async throws {
    let manager = bench.local("l")
    try await manager.with("n") { try $0.add("r") }
    try bench.disk.setOther("/l/p-n/link")
    let before = image(bench.disk, "/l/p-n")
    bench.disk.bindDirectories()
    #expect(code { try manager.trash.keep("p-n") } == .fileIO)
    #expect(image(bench.disk, "/l/p-n") == before)
    #expect(try bench.disk.info("/l/p-n/link") != nil)
    #expect(try names("/l") == ["p-n", "trash"] && names("/l/trash") == [])
    #expect(try await manager.content("n") == ["r"])
  }
}
