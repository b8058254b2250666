import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

struct SnapshotFileTests {
  static let datastore: UInt128 = 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100

  private func base(_ bytes: [UInt8]) throws -> BaseSnapshot {
    let disk = MemoryDisk()
    try disk.setBytes("/s.snap", bytes)
    return try BaseSnapshot(
      number: 1, reader: try SnapshotReader("/s.snap", disk: disk), budget: 1 << 20)
  }

  private func check(_ bytes: [UInt8]) throws -> SnapshotCheck.Result {
    let disk = MemoryDisk()
    try disk.setBytes("/s.snap", bytes)
    return try SnapshotCheck.run("/s.snap", datastore: Self.datastore, disk: disk) { _, _ in }
  }

  static func names(_ count: Int, _ random: SeededRandom) -> [RecordName] {
    (0..<count).map { index in
      switch index % 3 {
      case 0: .packed(random.next(), random.next())
      case 1: packed(index)
      // No id has more than 64 bytes.
      default:
        .text(String(("\(index)-" + String(repeating: "n", count: 60 - index % 50)).prefix(64)))
      }
    }.sorted()
  }

  @Test(arguments: [0, 1, 2, 700, 5_000])
  func `every record is found and no other`(count: Int) throws {
    let random = SeededRandom(UInt64(count))
    let names = Self.names(count, random)
    let rows = names.enumerated().map {
      SampleRow($1, settled: $0 % 5 == 0 ? [] : [("n", .int(Int64($0))), ("t", .string("x\($0)"))])
    }
    let bytes = try BlockSample.snapshot([("t", rows)], datastore: Self.datastore)
    var base = try base(bytes)
    #expect(base.description.recordCount == count)
    for (index, name) in names.enumerated() {
      let place = try #require(try base.find(name, table: 0))
      let block = try base.block(Int(place.block))
      #expect(block.name(Int(place.row)) == name)
      let content = block.content(Int(place.row), base.fields)
      #expect(content["n"] == (index % 5 == 0 ? nil : .int(Int64(index))))
    }
    let known = Set(names)
    for index in 0..<3_000 {
      let other: RecordName =
        index % 2 == 0 ? .packed(random.next(), random.next()) : .text("no-\(index)")
      if !known.contains(other) { #expect(try base.find(other, table: 0) == nil) }
    }
    let result = try check(bytes)
    #expect(result.rows == count && result.bytes == UInt64(bytes.count))
  }

  @Test func `ids of 64 characters and tables that share ids`() throws {
    let long = (0..<300).map { index -> RecordName in
      .text(String((String(index + 1_000) + String(repeating: "=", count: 64)).prefix(64)))
    }.sorted()
    func rows(_ value: String) -> [SampleRow] {
      long.map { SampleRow($0, settled: [("from", .string(value))]) }
    }
    let bytes = try BlockSample.snapshot(
      [("a", rows("a")), ("b", rows("b"))], datastore: Self.datastore)
    var base = try base(bytes)
    for (number, table) in ["a", "b"].enumerated() {
      #expect(base.tableNumber(table) == number)
      for name in long {
        let place = try #require(try base.find(name, table: number))
        let block = try base.block(Int(place.block))
        #expect(block.content(Int(place.row), base.fields) == ["from": .string(table)])
      }
    }
    #expect(base.tableNumber("c") == nil)
    #expect(try check(bytes).blocks == base.reader.blockCount)
  }

  /// A disk with a snapshot of several blocks.
  private func many(_ names: [RecordName]) throws -> MemoryDisk {
    let text = String(repeating: "some text ", count: 8)
    let bytes = try BlockSample.snapshot(
      [("t", names.map { SampleRow($0, settled: [("t", .string(text))]) })],
      datastore: Self.datastore)
    let disk = MemoryDisk()
    try disk.setBytes("/s.snap", bytes)
    return disk
  }

  @Test func `a small budget changes nothing but work`() throws {
    let names = Self.names(4_000, SeededRandom(3))
    let disk = try many(names)
    var base = try BaseSnapshot(
      number: 1, reader: try SnapshotReader("/s.snap", disk: disk), budget: 100)
    #expect(base.reader.blockCount > 5)
    for name in names.shuffled() { #expect(try base.find(name, table: 0) != nil) }
  }

  @Test func `filling stops at the budget, and keeps what was asked for before`() throws {
    let names = Self.names(4_000, SeededRandom(3))
    let disk = try many(names)
    // Blocks have 62 KiB at most.
    var base = try BaseSnapshot(
      number: 1, reader: try SnapshotReader("/s.snap", disk: disk), budget: 150_000)
    let last = base.reader.blockCount - 1
    #expect(last > 4)
    _ = try base.block(last)
    try base.fill()
    #expect(!base.isWhole)
    let before = disk.reads
    _ = try base.block(last)
    _ = try base.block(0)
    #expect(disk.reads == before, "both are kept")
    var whole = try BaseSnapshot(
      number: 1, reader: try SnapshotReader("/s.snap", disk: disk), budget: 64 << 20)
    try whole.fill()
    #expect(whole.isWhole)
  }

  @Test func `opening reads the ends, a look-up two pages and a block`() throws {
    let names = Self.names(5_000, SeededRandom(4))
    let bytes = try BlockSample.snapshot(
      [("t", names.map { SampleRow($0, settled: [("n", .int(1))]) })], datastore: Self.datastore)
    let disk = MemoryDisk()
    try disk.setBytes("/s.snap", bytes)
    var base = try BaseSnapshot(
      number: 1, reader: try SnapshotReader("/s.snap", disk: disk), budget: 1 << 20)
    let before = disk.reads
    _ = try base.find(names[77], table: 0)
    #expect(disk.reads - before <= 3)
    let after = disk.reads
    _ = try base.find(names[77], table: 0)
    #expect(disk.reads == after)
  }

  @Test func `nothing is kept for a block before one is, and a full read keeps none`() throws {
    let disk = try many(Self.names(4_000, SeededRandom(5)))
    var base = try BaseSnapshot(
      number: 1, reader: try SnapshotReader("/s.snap", disk: disk), budget: 1 << 20)
    for number in 0..<base.reader.blockCount { _ = try base.readUnkept(number) }
    #expect(base.places.isEmpty && !base.isWhole)
    _ = try base.block(2)
    #expect(base.places.count == base.reader.blockCount)
    #expect(base.places.indices.filter { base.places[$0] > 0 } == [2])
  }

  /// A load of new records reads blocks for hashes that are like theirs, anywhere in the file.
  @Test func `of blocks that are read in vain an eighth of the budget is kept`() throws {
    let names = Self.names(4_000, SeededRandom(6))
    let strangers = names.indices.map { RecordName.text("stranger-\($0)") }
    let text = String(repeating: "some text ", count: 8)
    let hashed = names.indices.filter { $0 % 2 == 1 }.map { (names[$0], strangers[$0]) }
    let bytes = try BlockSample.snapshot(
      [("t", names.map { SampleRow($0, settled: [("t", .string(text))]) })],
      datastore: Self.datastore, hashed: Dictionary(uniqueKeysWithValues: hashed))
    let disk = MemoryDisk()
    try disk.setBytes("/s.snap", bytes)
    var base = try BaseSnapshot(
      number: 1, reader: try SnapshotReader("/s.snap", disk: disk), budget: 1 << 20)
    for stranger in strangers { #expect(try base.find(stranger, table: 0) == nil) }
    let kept = base.places.indices.filter { base.places[$0] > 0 }
    let keptBytes = try kept.reduce(0) { try $0 + base.readUnkept($1).bytes.count }
    // Blocks have 62 KiB at most.
    #expect(((1 << 17) - (62 << 10)...(1 << 17)).contains(keptBytes) && !base.isWhole)
    let before = disk.reads
    for stranger in strangers.suffix(10) { _ = try base.find(stranger, table: 0) }
    #expect(disk.reads - before >= 5)
    for index in names.indices where index % 2 == 0 {
      #expect(try base.find(names[index], table: 0) != nil)
    }
    #expect(base.isWhole)
  }

  @Test func `records whose hashes are the same end in an error, not in a loop`() throws {
    let file = try MemoryDisk().open("/s.snap", .create)
    let writer = SnapshotWriter(file: file, datastore: 1)
    try writer.add(block: [1, 2, 3], hashes: [UInt64](repeating: 42, count: 3_000))
    #expect(throws: LogError.self) { try writer.finish(description: []) }
  }
}
