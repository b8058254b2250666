import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// What a crash leaves of a datastore that was being created holds no place, and is no copy.
@Suite struct MigrationLeftoverTests {
  private static func leave(_ place: String, on disk: MemoryDisk) throws {
    for part in ["", "/log", "/snap"] { try disk.createDirectory(place + part) }
  }

  @Test func `in the account's place it is in nobody's way, and does not go to the trash`()
    async throws
  {
    let bench = CatalogueBench()
    let (local, a) = (bench.local("l"), bench.manager("a"))
    try await local.with("m") { try $0.add("r") }
    try Self.leave("/a/p-m", on: bench.disk)
    #expect(try local.migrate(to: a).datastores.map(\.id) == ["m"])
    #expect(try await a.content("m") == ["r"])
    #expect(try a.trashedDatastores() == [] && bench.files("/a/trash") == [])
  }

  @Test func `a power cut at any step of a move into its place loses nothing`() async throws {
    var step = 0
    while true {
      step += 1
      let bench = CatalogueBench()
      bench.options.durability = .full
      try await bench.local("l").with("m") { try $0.add("r") }
      try Self.leave("/a/p-m", on: bench.disk)
      bench.disk.powerOff(before: bench.disk.operations + step)
      do { try bench.local("l").migrate(to: bench.manager("a")) } catch {
        try #require(bench.disk.isOff, "\(error)")
      }
      if !bench.disk.isOff { break }
      let disk = bench.disk
      for model in CrashModel.all(seeds: 0..<2) {
        bench.use(disk.crash(keep: model))
        let a = bench.manager("a")
        try bench.local("l").migrate(to: a)
        try #require(try a.ids() == ["m"], "step \(step), \(model)")
        let moved = try a.openDatastore("m")
        #expect(try moved.ids() == ["r"], "step \(step), \(model)")
        try moved.close()
        #expect(try a.trashedDatastores() == [], "step \(step), \(model)")
      }
    }
    #expect(step > 20)
  }

  @Test func `what is merged back from the trash takes its place`() async throws {
    let bench = CatalogueBench()
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n") { try $0.add("r") }
    try await b.with("n")
    for _ in 0..<2 { for manager in [a, b] { try await manager.refresh() } }
    try a.deleteDatastore("n")
    try await a.refresh()
    #expect(try await b.refresh().deleted == ["n"])
    let copy = try #require(try b.trashedDatastores().first)
    let place = b.directory(of: "n", generation: try b.generation(of: "n"))
    try Self.leave(place, on: bench.disk)
    try b.restore(copy)
    #expect(try b.trashedDatastores().map(\.directory) == [copy.directory])
    #expect(try await b.content("n") == ["r"])
  }

  @Test func `what has become a part of another one goes to the trash once nobody uses it`()
    throws
  {
    let disk = MemoryDisk()
    try disk.setBytes("/r/p-x/CURRENT", [1])
    let staging = MigrationStaging(
      root: "/r", token: 7,
      machine: Machine(disk: disk, clock: ManualClock(5), random: SeededRandom(1)))
    let item = MigrationJournal.Item(directory: "p-y", source: "p-x")
    let lock = try disk.lock("/r/p-x/LOCK")
    #expect(code { try staging.install(item) } == .alreadyOpen)
    #expect(disk.bytes("/r/p-x/CURRENT") == [1])
    lock.unlock()
    for _ in 0..<2 { try staging.install(item) }
    #expect(disk.paths() == ["/r/trash/5/p-x/CURRENT", "/r/trash/5/p-x/LOCK"])
    #expect(disk.heldLocks == 0)
  }

  @Test func `what is put back from the trash takes its place unless it is in use, or damaged`()
    async throws
  {
    let bench = CatalogueBench()
    let local = bench.local("l")
    try await local.with("n") { try $0.add("r") }
    try local.trash.keep("p-n")
    let copy = try #require(try local.trashedDatastores().first)
    try Self.leave("/l/p-n", on: bench.disk)
    // Another process is creating it.
    let lock = try bench.disk.lock("/l/p-n/LOCK")
    #expect(code { try local.restore(copy) } == .alreadyOpen)
    lock.unlock()
    // One that has lost its CURRENT.
    let segment = "/l/p-n/log/" + FileName.segment(1)
    try bench.disk.setBytes(segment, [1])
    #expect(code { try local.restore(copy) } == .exists)
    #expect(bench.disk.bytes(segment) == [1])
    try bench.disk.remove(segment)
    #expect(try local.trashedDatastores() == [copy])
    try local.restore(copy)
    #expect(try local.ids() == ["n"] && local.trashedDatastores() == [])
    #expect(try await local.content("n") == ["r"])
    #expect(bench.disk.heldLocks == 0)
  }
}
