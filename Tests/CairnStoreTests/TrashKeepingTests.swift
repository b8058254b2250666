import CairnDisk
import CairnLog
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

/// What the trash of a datastore keeps, and how long.
@Suite struct TrashKeepingTests {
  private let clock = ManualClock()
  private let random = SeededRandom(1)
  private let disk: MemoryDisk

  init() throws {
    disk = MemoryDisk(clock: clock)
    try disk.createDirectory("/s")
  }

  private func trash(bytes: Int = 1 << 20) -> RecordTrash {
    var options = StoreOptions()
    options.trashMilliseconds = 1000
    options.trashBytes = bytes
    return RecordTrash(
      store: "/s", datastore: 7, options: options,
      machine: Machine(disk: disk, clock: clock, random: random))
  }

  private func record(_ id: String, bytes: Int = 10) -> KeptRecord {
    let content = FieldValue.bytes([UInt8](repeating: 7, count: bytes))
    return KeptRecord(
      dot: Dot(device: DeviceID(rawValue: 9), sequence: 1), time: clock.now(), table: "t",
      id: RecordName(id), fields: [KeptRecord.Field(name: "b", value: content)])
  }

  private func ids(_ trash: RecordTrash) throws -> [String] {
    let (files, problems) = try trash.contents()
    #expect(problems.isEmpty)
    return files.flatMap { $0.records.map(\.id.text) }
  }

  @Test(arguments: [1_700_000_000_000, 0, -5] as [Int64])
  func `what goes in one millisecond is kept side by side`(time: Int64) throws {
    clock.set(time)
    for id in ["first", "second", "third"] { try trash().keep([record(id)], durable: true) }
    #expect(try ids(trash()) == ["first", "second", "third"])
  }

  @Test func `what is too old is neither shown nor kept, and not a moment before`() throws {
    try trash().keep([record("r")], durable: true)
    clock.advance(by: 1000)
    trash().purge()
    #expect(try ids(trash()) == ["r"])
    clock.advance(by: 1)
    // Not even before it is removed: the contents of its attachments may be gone.
    #expect(try ids(trash()) == [])
    #expect(disk.paths().count == 1)
    trash().purge()
    #expect(disk.paths().isEmpty)
  }

  @Test func `a clock that was set back keeps what there is`() throws {
    try trash().keep([record("later")], durable: true)
    clock.advance(by: -1_000_000)
    trash().purge()
    #expect(try ids(trash()) == ["later"])
    try trash().keep([record("earlier")], durable: true)
    // In the order in which they went.
    #expect(try ids(trash()) == ["later", "earlier"])
    clock.advance(by: 1_000_001)
    trash().purge()
    #expect(try ids(trash()) == ["later", "earlier"])
  }

  @Test func `what comes after a clock that was ahead goes after its own time`() throws {
    clock.advance(by: 1_000_000)
    try trash().keep([record("ahead")], durable: true)
    clock.advance(by: -1_000_000)
    for id in ["a", "b"] {
      try trash().keep([record(id)], durable: true)
      clock.advance(by: 500)
    }
    #expect(try ids(trash()) == ["ahead", "a", "b"])
    clock.advance(by: 1)
    #expect(try ids(trash()) == ["ahead", "b"])
    #expect(disk.paths().count == 3)
    trash().purge()
    #expect(disk.paths().count == 2)
    // The first that goes where there are too many bytes is the one that came first.
    let size = disk.usedBytes / 2
    let small = trash(bytes: size + 1)
    small.purge()
    #expect(try ids(small) == ["b"])
  }

  @Test(arguments: [UInt64.max, UInt64(Int64.max)])
  func `a file with the last number there is keeps no other from coming`(number: UInt64) throws {
    try disk.setBytes("/s/trash/" + FileName.deleted(number), [1])
    for id in ["a", "b"] { try trash().keep([record(id)], durable: true) }
    let (files, problems) = try trash().contents()
    #expect(files.flatMap { $0.records.map(\.id.text) } == ["a", "b"] && problems.count == 1)
  }

  @Test func `a record that is too large is counted, and the others are kept`() throws {
    let trash = trash(bytes: 250)
    try trash.keep(
      [record("a"), record("large", bytes: 300), record("b")], durable: true)
    #expect(try ids(trash) == ["a", "b"])
    #expect(try trash.contents().files.map(\.notKept) == [1])
    // All that is kept fits into what may be there.
    #expect(disk.usedBytes <= 250)
  }

  /// All that goes at once may be more than there is memory for.
  @Test func `records for which there is no room are counted as they come, and not held`() throws {
    var one: [UInt8] = []
    DeletedFile.put(record("1000"), into: &one)
    let trash = trash(bytes: 64 + 10 * one.count)
    var records = trash.room()
    for number in 0..<1000 {
      records.add(record("\(1000 + number)"))
      #expect(records.bytes == 64 + min(number + 1, 10) * one.count)
      #expect(records.parts.map(\.content.count) == [min(number + 1, 10) * one.count])
    }
    #expect(records.count == 10)
    #expect(records.notKept == 990)
    _ = try trash.keep(records, durable: true)
    let file = DeletedFile(
      datastore: 7, time: clock.now(), notKept: 990,
      records: (1000..<1010).map { record("\($0)") })
    #expect(try trash.contents().files == [file])
    #expect(disk.paths().map { disk.bytes($0) } == [file.encoded()])
  }

  @Test func `if there is room for none, it is told how many there were`() throws {
    let trash = trash(bytes: 100)
    var records = trash.room()
    #expect(records.isEmpty)
    records.add(record("large", bytes: 300))
    #expect(!records.isEmpty && records.parts.isEmpty)
    _ = try trash.keep(records, durable: true)
    #expect(try trash.contents().files.map(\.notKept) == [1])
  }

  /// Puts some records there, a file each; says how large a file is.
  private func fill(_ names: [String]) throws -> Int {
    for id in names {
      try trash().keep([record(id)], durable: true)
      clock.advance(by: 1)
    }
    let size = disk.usedBytes / names.count
    #expect(disk.usedBytes == size * names.count, "all are of one size")
    return size
  }

  @Test(arguments: 0...4)
  func `the oldest files go until the others fit`(count: Int) throws {
    let names = ["a", "b", "c", "d"]
    let size = try fill(names)
    let exact = trash(bytes: max(1, size * count))
    exact.purge()
    #expect(try ids(exact) == Array(names.suffix(count)))
    #expect(disk.usedBytes == size * count)
    // One byte less is one file less.
    if count > 0 {
      let less = trash(bytes: size * count - 1)
      less.purge()
      #expect(try ids(less) == Array(names.suffix(count - 1)))
    }
  }

  @Test func `a new file takes the place of the oldest one alone`() throws {
    let size = try fill(["a", "b", "c"])
    // What a new one needs is reckoned a little too large.
    let trash = trash(bytes: size * 3 + 64)
    try trash.keep([record("d")], durable: true)
    #expect(try ids(trash) == ["b", "c", "d"])
    clock.advance(by: 1)
    try trash.keep([record("e")], durable: true)
    #expect(try ids(trash) == ["c", "d", "e"])
  }

  /// Records of which none shares its file with another one.
  private func large(_ numbers: Range<Int>) -> [KeptRecord] {
    numbers.map { record("\($0)", bytes: 60_000) }
  }

  @Test func `one delete more takes the place of the oldest records, not of all, and counts them`()
    throws
  {
    var one: [UInt8] = []
    for record in large(10..<11) { DeletedFile.put(record, into: &one) }
    let trash = trash(bytes: 20 * (64 + one.count))
    try trash.keep(large(10..<30), durable: true)
    #expect(try ids(trash) == (10..<30).map(String.init))
    #expect(try trash.contents().files.allSatisfy { $0.notKept == 0 })
    for last in 30..<33 {
      clock.advance(by: 1)
      try trash.keep(large(last..<(last + 1)), durable: true)
      #expect(try ids(trash) == ((last - 19)...last).map(String.init))
      #expect(try trash.contents().files.last?.notKept == 1)
    }
    #expect(try trash.contents().files.reduce(0) { $0 + $1.notKept } == 3)
    // What was told is told on when what says so goes as well.
    clock.advance(by: 1)
    try trash.keep(large(40..<60), durable: true)
    #expect(try ids(trash) == (40..<60).map(String.init))
    #expect(try trash.contents().files.reduce(0) { $0 + $1.notKept } == 23)
    #expect(disk.usedBytes <= 20 * (64 + one.count))
  }

  @Test func `what could not be written takes nobody's place`() throws {
    var one: [UInt8] = []
    for record in large(10..<11) { DeletedFile.put(record, into: &one) }
    let trash = trash(bytes: 20 * (64 + one.count))
    try trash.keep(large(10..<30), durable: true)
    disk.intercept { $0.verb == "sync" && $0.path == "/s/trash" ? .io(errno: 5) : nil }
    #expect(throws: StoreError.self) { try trash.keep(large(40..<45), durable: true) }
    disk.heal()
    #expect(try ids(trash) == (10..<30).map(String.init))
    // Where the disk is full there is no other room.
    disk.capacity = disk.usedBytes + 1000
    try trash.keep(large(40..<45), durable: true)
    #expect(try ids(trash) == (Array(15..<30) + Array(40..<45)).map(String.init))
    #expect(try trash.contents().files.reduce(0) { $0 + $1.notKept } == 5)
  }

  @Test func `what was too old when it made room is not counted`() throws {
    var one: [UInt8] = []
    for record in large(10..<11) { DeletedFile.put(record, into: &one) }
    let trash = trash(bytes: 20 * (64 + one.count))
    try trash.keep(large(10..<30), durable: true)
    clock.advance(by: 2000)
    try trash.keep(large(30..<31), durable: true)
    #expect(try ids(trash) == ["30"])
    #expect(try trash.contents().files.map(\.notKept) == [0])
  }

  @Test func `of what goes together all files go again if one can't be written`() throws {
    let names = Lock(0)
    disk.intercept { operation in
      guard operation.verb == "sync", operation.path == "/s/trash" else { return nil }
      let count = names.withLock { count in
        count += 1
        return count
      }
      return count == 2 ? .io(errno: 5) : nil
    }
    #expect(throws: StoreError.self) { try trash().keep(large(10..<13), durable: true) }
    #expect(names.withLock { $0 } == 2)
    disk.heal()
    #expect(disk.paths().isEmpty)
    #expect(try trash().keep(large(10..<13), durable: true).count == 3)
    #expect(try ids(trash()) == ["10", "11", "12"])
  }

  @Test func `what went together is removed together up to its time`() throws {
    try trash().keep(large(10..<13), durable: true)
    let time = clock.now()
    clock.advance(by: 1)
    try trash().keep([record("later")], durable: true)
    try trash().empty(through: time)
    #expect(try ids(trash()) == ["later"])
  }

  /// What was to be deleted stays: each new try would leave one more.
  @Test func `a file of which the name is not durable goes again`() throws {
    disk.intercept { $0.verb == "sync" && $0.path == "/s/trash" ? .io(errno: 5) : nil }
    #expect(throws: StoreError.self) { try trash().keep([record("a")], durable: true) }
    disk.heal()
    #expect(disk.paths().isEmpty)
    try trash().keep([record("a")], durable: true)
    #expect(try ids(trash()) == ["a"])
  }

  /// Somebody wanted it gone.
  @Test func `what is removed up to a time does not come back with a power cut`() throws {
    try trash().keep([record("a")], durable: true)
    let time = clock.now()
    clock.advance(by: 1)
    try trash().keep([record("b")], durable: true)
    try trash().empty(through: time)
    #expect(try ids(trash()) == ["b"])
    #expect(disk.crash(keep: .nothingUnsynced).paths().count == 1)
  }

  /// Of what waits for its time the trash must not: a power cut would leave the delete alone.
  @Test(arguments: [StoreOptions.Durability.full, .periodic(milliseconds: 1000), .none])
  func `it is durable before a delete is, unless nothing is`(
    durability: StoreOptions.Durability
  ) throws {
    let author = try StoreDevice(1)
    try author.store.insert("r", ["n": 7])
    try author.store.sync()
    let insert = try author.store.pack()
    try author.store.delete("r")
    try author.store.sync()
    let delete = try author.store.pack(after: 1)
    let device = try StoreDevice(2) {
      $0.durability = durability
      $0.trashMilliseconds = 1 << 40
    }
    try device.store.sync(packs: [insert])
    let syncs = Lock(0)
    device.disk.intercept { operation in
      if operation.verb == "sync", operation.path.hasPrefix(StoreDevice.directory + "/trash") {
        syncs.withLock { $0 += 1 }
      }
      return nil
    }
    try device.store.sync(packs: [delete])
    device.disk.intercept(nil)
    #expect(try device.store.deletedRecords().records.map(\.id.text) == ["r"])
    let count = syncs.withLock { $0 }
    if durability == StoreOptions.Durability.none {
      #expect(count == 0, "nobody waits for a disk")
      return
    }
    // The file, and its name.
    #expect(count == 2)
    try device.store.flush()
    try device.crash(.nothingUnsynced)
    #expect(try device.store.get("r") == nil)
    #expect(try device.store.deletedRecords().records.map(\.id.text) == ["r"])
  }

  @Test(arguments: [false, true])
  func `deletes of others that can't be logged cost nobody a place, unless the disk is full`(
    isFull: Bool
  ) throws {
    let author = try StoreDevice(1)
    for id in ["old", "r"] { try author.store.insert(id, ["n": 7]) }
    try author.store.sync()
    let inserts = try author.store.pack()
    try author.store.delete("old")
    try author.store.sync()
    let first = try author.store.pack(after: 1)
    try author.store.delete("r")
    try author.store.sync()
    let second = try author.store.pack(after: 2)
    let device = try StoreDevice(2) {
      $0.trashMilliseconds = 1 << 40
      // For one of the two.
      $0.trashBytes = 150
    }
    for pack in [inserts, first] { try device.store.sync(packs: [pack]) }
    device.disk.intercept { operation in
      let isLog = operation.verb == "write" && operation.path.hasSuffix(".seg")
      return isLog ? isFull ? .noSpace : .io(errno: 5) : nil
    }
    #expect(throws: StoreError.self) { try device.store.sync(packs: [second]) }
    device.disk.heal()
    let left = try device.store.deletedRecords()
    #expect(left.records.map(\.id.text) == (isFull ? [] : ["old"]))
    #expect(left.notKept == (isFull ? 1 : 0))
    try device.store.sync(packs: [second])
    let (records, notKept, _) = try device.store.deletedRecords()
    #expect(records.map(\.id.text) == ["r"] && notKept == 1)
  }
}

extension RecordTrash {
  /// Keeps records that go together, and go.
  @discardableResult
  fileprivate func keep(_ records: [KeptRecord], durable: Bool) throws -> [String] {
    var all = room()
    for record in records { all.add(record) }
    let kept = try keep(all, durable: durable)
    remove(kept.outdated)
    return kept.paths
  }
}
