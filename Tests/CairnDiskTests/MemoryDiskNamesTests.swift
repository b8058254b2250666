import CairnDisk
import TestSupport
import Testing

/// What a power cut leaves of names on the simulated disk.
struct MemoryDiskNamesTests {
  let disk = MemoryDisk()

  init() throws {
    try disk.setBytes("/a/old", Array("old".utf8))
    try disk.createDirectory("/b")
  }

  private func kept(_ models: [CrashModel]) -> Set<[String]> {
    Set(models.map { disk.crash(keep: $0).paths() })
  }

  private var seeds: [CrashModel] { CrashModel.all(seeds: 0..<60) }

  @Test func `a rename lasts once the directory was synced`() throws {
    try disk.rename("/a/old", to: "/a/new")
    #expect(kept([.nothingUnsynced]) == [["/a/old"]])
    #expect(kept([.everything]) == [["/a/new"]])
    // In one step: never both, never neither.
    #expect(kept(seeds) == [["/a/old"], ["/a/new"]])
    try disk.syncDirectory("/")
    #expect(kept([.nothingUnsynced]) == [["/a/old"]])
    try disk.syncDirectory("/a")
    #expect(kept(seeds) == [["/a/new"]])
  }

  @Test func `a replaced file comes back until the directory was synced`() throws {
    try disk.put("/a/next", "next")
    try disk.syncDirectory("/a")
    let file = try disk.open("/a/next", .readWrite)
    try file.sync()
    try disk.rename("/a/next", to: "/a/old")
    #expect(kept([.nothingUnsynced]) == [["/a/next", "/a/old"]])
    #expect(disk.crash(keep: .nothingUnsynced).bytes("/a/old") == Array("old".utf8))
    #expect(disk.crash(keep: .everything).bytes("/a/old") == Array("next".utf8))
    try disk.syncDirectory("/a")
    #expect(kept(seeds) == [["/a/old"]])
    #expect(disk.crash(keep: .nothingUnsynced).bytes("/a/old") == Array("next".utf8))
  }

  @Test func `a removed file comes back until the directory was synced`() throws {
    try disk.remove("/a/old")
    #expect(disk.paths() == [])
    // Another directory's sync is no help, nor does it forget what is not its own.
    try disk.syncDirectory("/b")
    #expect(kept(seeds) == [["/a/old"], []])
    #expect(disk.crash(keep: .nothingUnsynced).bytes("/a/old") == Array("old".utf8))
    try disk.syncDirectory("/a")
    #expect(kept(seeds) == [[]])
  }

  @Test func `changes of names survive independently`() throws {
    try disk.put("/a/1", "")
    try disk.put("/a/2", "")
    try disk.remove("/a/old")
    #expect(kept(seeds).count == 8)
    // A second name does not need the first to have survived.
    try disk.syncDirectory("/a")
    try disk.put("/a/3", "")
    try disk.rename("/a/3", to: "/a/4")
    let rest = ["/a/1", "/a/2"]
    #expect(kept(seeds) == [rest, rest + ["/a/3"], rest + ["/a/4"]])
  }

  @Test func `a move between directories is two changes`() throws {
    try disk.rename("/a/old", to: "/b/new")
    #expect(disk.paths() == ["/b/new"])
    #expect(kept(seeds) == [["/a/old"], ["/b/new"], ["/a/old", "/b/new"], []])
    try disk.syncDirectory("/b")
    #expect(kept(seeds) == [["/b/new"], ["/a/old", "/b/new"]])
    try disk.syncDirectory("/a")
    #expect(kept(seeds) == [["/b/new"]])
  }

  @Test func `a moved directory has one name at most`() throws {
    try disk.setBytes("/a/d/f", [1])
    try disk.rename("/a/d", to: "/b/d")
    for model in seeds {
      let crashed = disk.crash(keep: model)
      let names = crashed.paths().filter { $0.hasSuffix("/d/f") }
      #expect(names.count <= 1)
      #expect(crashed.usedBytes == 3 + names.count)
    }
    #expect(kept([.nothingUnsynced]) == [["/a/d/f", "/a/old"]])
    #expect(kept([.everything]) == [["/a/old", "/b/d/f"]])
  }

  @Test func `a directory is durable once it is made`() throws {
    try disk.createDirectory("/x/y/z")
    #expect(try disk.crash(keep: .nothingUnsynced).info("/x/y/z")?.kind == .directory)
  }

  @Test func `a directory that was half made is made durable by the next try`() throws {
    let other = MemoryDisk()
    other.powerOff(before: 2)
    #expect(throws: DiskError.self) { try other.createDirectory("/x") }
    other.heal()
    #expect(try other.info("/x") != nil)
    #expect(try other.crash(keep: .nothingUnsynced).info("/x") == nil)
    try other.createDirectory("/x/y")
    #expect(try other.crash(keep: .nothingUnsynced).info("/x/y") != nil)
  }

  @Test func `a directory whose name could not be synced is gone, and made anew`() throws {
    disk.failAt(operation: disk.operations + 2, reason: .io(errno: 5))
    #expect(throws: DiskError.self) { try disk.createDirectory("/x") }
    #expect(try disk.info("/x") == nil)
    try disk.createDirectory("/x/y")
    #expect(try disk.crash(keep: .nothingUnsynced).info("/x/y") != nil)
  }

  @Test func `a failed sync of a directory makes no name durable ever`() throws {
    try disk.put("/a/new", "")
    disk.failAt(operation: disk.operations + 1, reason: .io(errno: 5))
    disk.fails(.io(errno: 5)) { try $0.syncDirectory("/a") }
    try disk.syncDirectory("/a")
    #expect(disk.paths() == ["/a/new", "/a/old"])
    #expect(kept(seeds) == [["/a/old"]])
  }

  @Test func `a removed tree comes back from the outside in`() throws {
    try disk.setBytes("/t/d/f", [1])
    try disk.removeTree("/t")
    #expect(disk.paths() == ["/a/old"])
    #expect(kept([.nothingUnsynced]) == [["/a/old", "/t/d/f"]])
    try disk.syncDirectory("/")
    #expect(kept(seeds) == [["/a/old"]])
  }
}
