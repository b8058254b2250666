import CairnDisk
import TestSupport
import Testing

/// What a power cut leaves of files on the simulated disk.
struct MemoryDiskCrashTests {
  let disk = MemoryDisk()

  /// A durable, empty file.
  private func file(_ path: String = "/f") throws -> any DiskFile {
    let file = try disk.open(path, .create)
    try disk.syncDirectory("/")
    return file
  }

  private func text(_ disk: MemoryDisk, _ path: String = "/f") -> String? {
    disk.bytes(path).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `bytes last once their file was synced`() throws {
    let file = try file()
    try file.put("synced")
    try file.sync()
    try file.put(" and not", at: 6)
    #expect(text(disk) == "synced and not")
    #expect(text(disk.crash(keep: .nothingUnsynced)) == "synced")
    #expect(text(disk.crash(keep: .everything)) == "synced and not")
    try file.sync()
    #expect(text(disk.crash(keep: .nothingUnsynced)) == "synced and not")
  }

  @Test func `a length lasts once its file was synced`() throws {
    let file = try file()
    try file.put("abcdef")
    try file.sync()
    try file.truncate(to: 3)
    #expect(text(disk.crash(keep: .nothingUnsynced)) == "abcdef")
    #expect(text(disk.crash(keep: .everything)) == "abc")
    try file.sync()
    #expect(text(disk.crash(keep: .nothingUnsynced)) == "abc")
    try file.preallocate(to: 5)
    #expect(text(disk.crash(keep: .nothingUnsynced)) == "abc")
    try file.sync()
    #expect(text(disk.crash(keep: .nothingUnsynced)) == "abc\0\0")
  }

  @Test func `a synced file without a synced name is lost`() throws {
    let file = try disk.open("/f", .create)
    try file.put("abc")
    try file.sync()
    #expect(disk.crash(keep: .nothingUnsynced).paths() == [])
    #expect(text(disk.crash(keep: .everything)) == "abc")
    try disk.syncDirectory("/")
    #expect(text(disk.crash(keep: .nothingUnsynced)) == "abc")
  }

  @Test func `any of the changes may survive alone`() throws {
    let file = try file()
    try file.put("___")
    try file.sync()
    for place in 0..<3 { try file.put("x", at: UInt64(place)) }
    let seen = Set((0..<100).map { text(disk.crash(keep: .subset($0))) })
    #expect(seen == ["___", "__x", "_x_", "_xx", "x__", "x_x", "xx_", "xxx"])
  }

  @Test func `what survives is what the seed says`() throws {
    func states() throws -> [[UInt8]?] {
      let disk = MemoryDisk()
      for name in ["/c", "/a", "/b"] {
        let file = try disk.open(name, .create)
        for place in 0..<8 { try file.put("x", at: UInt64(place)) }
      }
      return (0..<50).flatMap { seed in
        [CrashModel.subset(seed), .torn(seed)].flatMap { model in
          let crashed = disk.crash(keep: model)
          return ["/a", "/b", "/c"].map { crashed.bytes($0) }
        }
      }
    }
    let first = try states()
    #expect(try states() == first)
    #expect(Set(first).count > 20)
  }

  @Test func `what survives is the same in every process`() throws {
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
      try disk.createDirectory("/" + name)
      for number in 0..<3 { try disk.put("/\(name)/\(number)", "xyz") }
    }
    // Of the names, and then of the bytes. No order of a dictionary's may have a part in it.
    let names = disk.crash(keep: .subset(42)).paths()
    #expect(
      names == [
        "/a/0", "/b/2", "/c/1", "/d/0", "/e/0", "/e/1", "/e/2", "/g/1", "/g/2", "/h/1", "/h/2",
      ])
    for entry in try disk.list("/") { try disk.syncDirectory("/" + entry.name) }
    let crashed = disk.crash(keep: .subset(43))
    #expect(crashed.paths().count == 24)
    #expect(
      crashed.paths().filter { crashed.bytes($0) == [] } == [
        "/a/2", "/b/1", "/b/2", "/c/0", "/d/0", "/d/2", "/e/2", "/f/0", "/f/1", "/f/2", "/g/0",
        "/g/2", "/h/2",
      ])
  }

  @Test func `a torn write leaves some of its sectors whole`() throws {
    let file = try file()
    let old = [UInt8](repeating: 1, count: 2048)
    try file.write(old.span, at: 0)
    try file.sync()
    // From the middle of the first sector into the fourth.
    let new = [UInt8](repeating: 2, count: 1400)
    try file.write(new.span, at: 256)
    var patterns: Set<[UInt8]> = []
    for seed in 0..<300 as Range<UInt64> {
      let bytes = try #require(disk.crash(keep: .torn(seed)).bytes("/f"))
      #expect(bytes.count == 2048)
      #expect(bytes[..<256].allSatisfy { $0 == 1 } && bytes[1656...].allSatisfy { $0 == 1 })
      let pieces = [bytes[256..<512], bytes[512..<1024], bytes[1024..<1536], bytes[1536..<1656]]
      for piece in pieces { #expect(Set(piece).count == 1) }
      patterns.insert(pieces.map { $0.first ?? 0 })
    }
    #expect(patterns.count == 16)
  }

  @Test func `a torn write may leave its length and nothing else`() throws {
    let file = try file()
    let new = [UInt8](repeating: 2, count: 1024)
    try file.write(new.span, at: 0)
    let zeros = [UInt8](repeating: 0, count: 512)
    let twos = [UInt8](repeating: 2, count: 512)
    let seen = Set((0..<200).map { disk.crash(keep: .torn($0)).bytes("/f") })
    #expect(seen == [[], twos, zeros + twos, twos + twos, twos + zeros, zeros + zeros])
  }

  @Test func `what a failed sync did not make durable no later sync does`() throws {
    let file = try file()
    try file.put("old")
    try file.sync()
    try file.put("new")
    disk.failAt(operation: disk.operations + 1, reason: .io(errno: 5))
    disk.fails(.io(errno: 5)) { _ in try file.sync() }
    try file.sync()
    try file.sync()
    // Everybody sees it, and it is not there.
    #expect(try file.text() == "new")
    #expect(text(disk.crash(keep: .everything)) == "old")
    #expect(text(disk.crash(keep: .nothingUnsynced)) == "old")
    try file.put("+", at: 3)
    try file.sync()
    #expect(text(disk.crash(keep: .nothingUnsynced)) == "old+")
  }

  @Test func `a crashed disk is closed, unlocked and whole`() throws {
    let file = try file()
    try file.put("abc")
    let lock = try disk.lock("/LOCK")
    disk.failAt(operation: 1, reason: .noSpace, forever: true)
    let crashed = disk.crash(keep: .everything)
    #expect(crashed.openFiles == 0 && crashed.heldLocks == 0 && crashed.operations == 0)
    try crashed.lock("/LOCK").unlock()
    try crashed.put("/g", "works")
    #expect(text(crashed.crash(keep: .nothingUnsynced)) == "abc")
    // The two have nothing to do with each other.
    #expect(text(disk) == "abc" && disk.bytes("/g") == nil)
    #expect(disk.openFiles == 1 && disk.heldLocks == 1)
    lock.unlock()
  }

  @Test func `a snapshot is the disk with what is not durable`() throws {
    let file = try file()
    try file.put("old")
    try file.sync()
    try file.put("new")
    try disk.put("/g", "more")
    let copy = disk.snapshot()
    try file.put("later")
    try file.sync()
    #expect(copy.paths() == ["/f", "/g"] && text(copy) == "new" && text(copy, "/g") == "more")
    #expect(copy.openFiles == 0 && copy.usedBytes == 7)
    let crashed = copy.crash(keep: .nothingUnsynced)
    #expect(crashed.paths() == ["/f"] && text(crashed) == "old")
    try disk.setBytes("/t/d/f", [1])
    try disk.removeTree("/t")
    #expect(disk.snapshot().crash(keep: .nothingUnsynced).paths() == ["/f", "/t/d/f"])
    let reopened = try copy.open("/f", .readWrite)
    try reopened.sync()
    #expect(text(copy.crash(keep: .nothingUnsynced)) == "new")
  }
}
