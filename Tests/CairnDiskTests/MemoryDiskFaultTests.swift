import CairnDisk
import Synchronization
import TestSupport
import Testing

/// Counting, failing and filling up.
struct MemoryDiskFaultTests {
  let disk = MemoryDisk()

  /// Ten steps.
  private func work(_ disk: MemoryDisk) throws {
    try disk.createDirectory("/d")
    let file = try disk.open("/d/f", .create)
    defer { file.close() }
    try file.preallocate(to: 100)
    try file.put("abc")
    try file.sync()
    try file.truncate(to: 50)
    try disk.rename("/d/f", to: "/d/g")
    try disk.syncDirectory("/d")
    try disk.remove("/d/g")
  }

  @Test func `every step that changes or syncs is counted and nothing else`() throws {
    try work(disk)
    #expect(disk.operations == 10)
    #expect(disk.reads == 0)
    try disk.setBytes("/f", [1, 2])
    let file = try disk.open("/f", .read)
    _ = try file.size()
    _ = try file.read(at: 0, count: 1)
    _ = try disk.list("/")
    _ = try disk.info("/f")
    _ = disk.bytes("/f")
    file.adviseRandom()
    file.close()
    #expect(disk.operations == 10)
    #expect(disk.reads == 5)
  }

  @Test(arguments: 1...10)
  func `the step of a number fails once`(step: Int) throws {
    disk.failAt(operation: step, reason: .denied)
    disk.fails(.denied) { _ in try work(disk) }
    // A directory whose name could not be synced is taken back.
    #expect(disk.operations == (step == 2 ? 3 : step))
    #expect(disk.openFiles == 0)
    // What was there before it failed is in the way of a second try, and no more.
    try disk.removeTree("/d")
    try work(disk)
  }

  @Test(arguments: 1...10)
  func `the steps from a number on fail for ever`(step: Int) throws {
    disk.failAt(operation: step, reason: .io(errno: 5), forever: true)
    disk.fails(.io(errno: 5)) { _ in try work(disk) }
    disk.fails(.io(errno: 5)) { try $0.createDirectory("/e") }
    _ = try disk.list("/")
    disk.heal()
    try disk.createDirectory("/e")
  }

  @Test func `reads fail by their own numbers`() throws {
    try disk.setBytes("/f", [1])
    disk.failAt(read: 2, reason: .io(errno: 5))
    let file = try disk.open("/f", .read)
    disk.fails(.io(errno: 5)) { _ in _ = try file.read(at: 0, count: 1) }
    #expect(try file.read(at: 0, count: 1) == [1])
    disk.failAt(read: 4, reason: .tooManyOpen, forever: true)
    disk.fails(.tooManyOpen) { _ = try $0.open("/f", .read) }
    disk.fails(.tooManyOpen) { _ = try $0.list("/") }
    try disk.createDirectory("/d")
  }

  @Test func `what is read is kept for whoever asks for it, failed reads among it`() throws {
    try disk.setBytes("/f", [1])
    _ = try disk.list("/")
    #expect(disk.readLog == [])
    disk.logReads()
    disk.failAt(read: 3, reason: .io(errno: 5))
    let file = try disk.open("/f", .read)
    disk.fails(.io(errno: 5)) { _ in _ = try file.read(at: 0, count: 1) }
    #expect(
      disk.readLog == [
        MemoryDiskRead(number: 2, verb: "open", path: "/f"),
        MemoryDiskRead(number: 3, verb: "read", path: "/f"),
      ])
  }

  @Test func `what was ordered is a strike once it has come to pass`() throws {
    try disk.setBytes("/f", [1])
    disk.failAt(operation: 1, reason: .denied)
    disk.failAt(operation: 50, reason: .denied)
    disk.failAt(read: 1, reason: .io(errno: 5))
    #expect(disk.strikeCount == 0)
    disk.fails(.denied) { try $0.createDirectory("/d") }
    disk.fails(.io(errno: 5)) { _ = try $0.open("/f", .read) }
    let step = MemoryDiskStrike(number: 1, isRead: false, verb: "make the directory", path: "/d")
    let read = MemoryDiskStrike(number: 1, isRead: true, verb: "open", path: "/f")
    #expect(disk.strikes == [step, read])
    // Without power it is the power that fails.
    disk.intercept { _ in .denied }
    disk.powerOff(before: 2)
    disk.fails(.io(errno: 5)) { try $0.createDirectory("/e") }
    #expect(disk.strikeCount == 2)
  }

  @Test(arguments: 1...10)
  func `without power nothing works and nothing changes`(step: Int) throws {
    disk.powerOff(before: step)
    disk.fails(.io(errno: 5)) { _ in try work(disk) }
    #expect(disk.isOff)
    let before = disk.snapshot()
    disk.fails(.io(errno: 5)) { _ = try $0.list("/") }
    disk.fails(.io(errno: 5)) { try $0.createDirectory("/e") }
    #expect(disk.operations == step)
    #expect(disk.fingerprint() == before.fingerprint())
    // Not even a sync that fails for want of power loses what might have survived.
    if step == 6 {
      try disk.crash(keep: .everything).open("/d/f", .read).close()
      #expect(disk.crash(keep: .everything).bytes("/d/f")?.prefix(3) == [0x61, 0x62, 0x63])
    }
  }

  @Test func `an interceptor sees each step before it is done and may refuse it`() throws {
    let seen = Lock<[String]>([])
    let before = Lock<[Int?]>([])
    disk.intercept { [unowned disk] operation in
      seen.withLock { $0.append("\(operation.number) \(operation.verb) \(operation.path)") }
      before.withLock { $0.append(disk.crash(keep: .everything).bytes("/d/f")?.count) }
      return operation.verb == "rename" ? .denied : nil
    }
    disk.fails(.denied) { _ in try work(disk) }
    #expect(
      seen.withLock { $0 } == [
        "1 make the directory /d", "2 sync /", "3 create /d/f", "4 reserve space for /d/f",
        "5 write /d/f", "6 sync /d/f", "7 truncate /d/f", "8 rename /d/f",
      ])
    #expect(before.withLock { $0 } == [nil, nil, nil, 0, 100, 100, 100, 50])
    #expect(disk.paths() == ["/d/f"])
  }

  @Test func `a full disk takes nothing of a write`() throws {
    disk.capacity = 10
    let file = try disk.open("/f", .create)
    try file.put("12345678")
    disk.fails(.noSpace) { _ in try file.put("xyz", at: 8) }
    disk.fails(.noSpace) { _ in try file.put("xyz", at: 6 + 2) }
    disk.fails(.noSpace) { _ in try file.preallocate(to: 11) }
    disk.fails(.noSpace) { _ in try file.truncate(to: 11) }
    #expect(try file.text() == "12345678" && disk.usedBytes == 8)
    try file.put("ab")
    try file.put("90", at: 8)
    #expect(disk.usedBytes == 10)
    let crashed = disk.crash(keep: .everything)
    #expect(crashed.capacity == 10 && crashed.usedBytes == 10)
    // What is there can be written over on a disk that is more than full.
    disk.capacity = 5
    try file.put("xyz", at: 7)
    try file.truncate(to: 9)
    #expect(try file.text() == "ab34567xy")
  }

  @Test func `space comes back with the last name and handle`() throws {
    disk.capacity = 10
    try disk.put("/f", "1234567890")
    let file = try disk.open("/f", .readWrite)
    try disk.remove("/f")
    disk.fails(.noSpace) { try $0.put("/g", "x") }
    file.close()
    #expect(disk.usedBytes == 0)
    let other = try disk.open("/g", .readWrite)
    try other.put("1234567890")
    try other.truncate(to: 4)
    try disk.put("/h", "123456")
    try disk.rename("/h", to: "/g")
    #expect(disk.usedBytes == 10)
    other.close()
    #expect(disk.usedBytes == 6)
    disk.capacity = nil
    try disk.put("/i", "more than there was")
  }

  @Test func `handles and locks are counted`() throws {
    var files = try (0..<3).map { try disk.open("/\($0)", .create) }
    let lock = try disk.lock("/LOCK")
    #expect(disk.openFiles == 3 && disk.heldLocks == 1)
    files[0].close()
    files[0].close()
    files.removeLast()
    lock.unlock()
    #expect(disk.openFiles == 1 && disk.heldLocks == 0)
    try disk.remove("/LOCK")
    try disk.syncDirectory("/")
    #expect(disk.openFiles == 1 && disk.usedBytes == 0)
  }

  @Test func `what is gone for good takes no memory`() throws {
    for number in 0..<20 {
      try disk.createDirectory("/d/e")
      try disk.put("/d/e/\(number)", "x")
      let file = try disk.open("/d/e/\(number)", .read)
      try disk.remove("/d/e/\(number)")
      try disk.syncDirectory("/d/e")
      #expect(try file.text() == "x")
      file.close()
      try disk.removeTree("/d")
      // A power cut would bring back the directory, and nothing else.
      #expect(disk.crash(keep: .nothingUnsynced).keptNodes == 3)
      try disk.syncDirectory("/")
      #expect(disk.keptNodes == 1)
    }
  }

  @Test func `damage is on the medium`() throws {
    try disk.setBytes("/d/f", [1, 2, 3])
    try disk.corrupt("/d/f", 1, xor: 0xFF)
    #expect(disk.bytes("/d/f") == [1, 0xFD, 3])
    #expect(disk.crash(keep: .nothingUnsynced).bytes("/d/f") == [1, 0xFD, 3])
    let file = try disk.open("/d/f", .readWrite)
    try disk.setBytes("/d/f", [7])
    #expect(try file.read(at: 0, count: 9) == [7])
    #expect(disk.usedBytes == 1)
    #expect(disk.crash(keep: .nothingUnsynced).bytes("/d/f") == [7])
    #expect(throws: DiskError.self) { try disk.corrupt("/no", 0, xor: 1) }
    #expect(disk.bytes("/no") == nil && disk.bytes("/d") == nil)
  }

  @Test func `what is neither file nor directory is refused`() throws {
    try disk.setOther("/d/link")
    disk.fails(.notRegular) { _ = try $0.open("/d/link", .read) }
    disk.fails(.notRegular) { _ = try $0.lock("/d/link") }
    disk.fails(.exists) { _ = try $0.open("/d/link", .create) }
    #expect(try disk.list("/d").map(\.info.kind) == [.other])
    #expect(try disk.crash(keep: .nothingUnsynced).info("/d/link")?.kind == .other)
    try disk.remove("/d/link")
    #expect(try disk.list("/d").isEmpty)
  }

  @Test func `times are the clock's`() throws {
    let clock = ManualClock(5000)
    let disk = MemoryDisk(clock: clock)
    try disk.put("/f", "abc")
    clock.advance(by: -2000)
    try disk.put("/g", "abc")
    clock.set(9000)
    #expect(try disk.list("/").map(\.info.modified) == [5000, 3000])
  }

  @Test func `paths are sorted by bytes and say every file`() throws {
    for path in ["/b/x", "/a", "/b-c", "/B/y/z"] { try disk.setBytes(path, [1]) }
    try disk.createDirectory("/empty")
    #expect(disk.paths() == ["/B/y/z", "/a", "/b-c", "/b/x"])
  }
}
