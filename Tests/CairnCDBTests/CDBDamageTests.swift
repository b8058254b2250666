import Cairn
import CairnBytes
import CairnDisk
import TestSupport
import Testing

@testable import CairnCDB

/// Whatever is in a file, every call ends, and with nothing but a value or a `CairnError`.
@Suite struct CDBDamageTests {
  /// Everything that can be asked of a file. Returns how many of the calls threw.
  @discardableResult
  private func askAll(
    _ bytes: [UInt8], _ keys: [[UInt8]], format: CDBFormat? = nil, caches: [Int] = [1 << 20, 0]
  ) throws -> Int {
    var failures = 0
    func attempt(_ body: () throws -> Void) throws {
      do { try body() } catch let error as CairnError {
        #expect(error.code == .corrupt)
        #expect(error.file == "/bytes")
        failures += 1
      }
    }
    for cacheBytes in caches {
      try attempt {
        let file = try CDBFile(bytes: bytes, format: format, cacheBytes: cacheBytes)
        for key in keys {
          try attempt { _ = try file.value(for: key) }
          try attempt { _ = try file.values(for: key) }
        }
        try attempt { _ = try CDBSample.all(file) }
        try attempt { _ = try file.statistics() }
      }
    }
    return failures
  }

  private static let keys = ["one", "two", "", "empty", "x"].map(CDBSample.bytes)

  @Test(arguments: ["cdb", "cdb64"])
  func `a file that is cut anywhere is no file`(_ format: String) throws {
    let bytes = try CDBSample.golden("few.\(format)")
    for length in 0..<bytes.count {
      let caches = length % 5 == 0 ? [1 << 20, 0] : [1 << 20]
      let failures = try askAll(Array(bytes.prefix(length)), Self.keys, caches: caches)
      #expect(failures > 0, "cut at \(length)")
    }
    #expect(try askAll(bytes, Self.keys) == 0)
  }

  @Test(arguments: [("cdb", [UInt8(0x01), 0x80, 0xFF]), ("cdb64", [0xFF])])
  func `any byte may be another`(_ format: String, _ changes: [UInt8]) throws {
    let bytes = try CDBSample.golden("few.\(format)")
    var noticed = 0
    for offset in bytes.indices {
      for change in changes {
        var copy = bytes
        copy[offset] ^= change
        // Those that count most: records and tables.
        let caches = copy.count - offset < 300 ? [1 << 20, 0] : [1 << 20]
        noticed += try askAll(copy, Self.keys, caches: caches) > 0 ? 1 : 0
      }
    }
    #expect(noticed > 100)
  }

  /// What a search says: a value, that there is none, or what is wrong, and where.
  private enum Answer: Equatable {
    case value([UInt8]?)
    case error(CairnError.Code, UInt64?)
  }

  private func answers(_ bytes: [UInt8], cacheBytes: Int) -> [Answer] {
    do throws(CairnError) {
      let file = try CDBFile(bytes: bytes, cacheBytes: cacheBytes)
      return Self.keys.map { key in
        do throws(CairnError) {
          return .value(try file.value(for: key))
        } catch { return .error(error.code, error.offset) }
      }
    } catch { return [.error(error.code, error.offset)] }
  }

  @Test(arguments: ["cdb", "cdb64"])
  func `what lies in memory is searched as what does not`(_ format: String) throws {
    let bytes = try CDBSample.golden("few.\(format)")
    // So short a file is in memory as soon as it is open.
    let isInMemory = try unsafe CDBFile(bytes: bytes).bytes.start != nil
    #expect(isInMemory)
    var seen: [Answer] = []
    for offset in bytes.indices {
      for change: UInt8 in [0x01, 0xFF] {
        var copy = bytes
        copy[offset] ^= change
        let inMemory = answers(copy, cacheBytes: 1 << 20)
        #expect(inMemory == answers(copy, cacheBytes: 0), "byte \(offset)")
        seen += inMemory
      }
    }
    #expect(seen.contains { if case .value(.some) = $0 { true } else { false } })
    #expect(seen.contains(.value(nil)))
    #expect(seen.contains { if case .error(.corrupt, .some) = $0 { true } else { false } })
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `any bytes may be a file`(_ seed: UInt64) throws {
    let random = SeededRandom(seed)
    for length in [0, 1, 2047, 2048, 2049, 4096, 9000] {
      for format in [nil] + CDBFormat.allCases {
        try askAll(random.bytes(length), Self.keys, format: format)
        try askAll([UInt8](repeating: 0, count: length), Self.keys, format: format)
        try askAll([UInt8](repeating: 0xFF, count: length), Self.keys, format: format)
      }
    }
  }

  /// One table, for the keys whose hash ends with the byte of the empty key's.
  private func file(tail: [UInt8], table: UInt32, slots: UInt32) -> [UInt8] {
    var bytes: [UInt8] = []
    for number in 0..<256 {
      bytes.put(table)
      bytes.put(number == 5 ? slots : UInt32(0))
    }
    return bytes + tail
  }

  @Test func `a table without an empty slot is gone through once`() throws {
    var tail: [UInt8] = []
    for _ in 0..<64 {
      tail.put(UInt32(5381))
      tail.put(UInt32(2048))
    }
    let file = try CDBFile(bytes: file(tail: tail, table: 2048, slots: 64))
    // What all slots point to is the table itself: a key of 5381 bytes.
    #expect(try file.value(for: []) == nil)
    #expect(try file.values(for: []) == [])
  }

  @Test func `records that lie over one another are damage, and not copied without end`() throws {
    let count: UInt32 = 2000
    let (table, end) = (2048 + 8 * count, 2048 + 16 * count)
    var tail: [UInt8] = []
    // Each record reaches to the end of the file.
    for number in 0..<count {
      tail.put(UInt32(0))
      tail.put(end - (2048 + 8 * number) - 8)
    }
    for number in 0..<count {
      tail.put(UInt32(5381))
      tail.put(2048 + 8 * number)
    }
    let file = try CDBFile(bytes: file(tail: tail, table: table, slots: count))
    let error = #expect(throws: CairnError.self) { try file.values(for: []) }
    #expect(error?.code == .corrupt)
  }

  /// A store of a file as other tools write them.
  private func store(_ bytes: [UInt8], _ disk: MemoryDisk) throws -> CDBStore<String, [UInt8]> {
    let file = try disk.open("/s", .create)
    try file.write(bytes.span, at: 0)
    file.close()
    let store = CDBStore<String, [UInt8]>(
      "/s", keys: .text, values: .raw, machine: CDBSample.machine(disk),
      delay: ManualDelay().delay)
    try store.open()
    return store
  }

  @Test(arguments: [("cdb", 8), ("cdb64", 16)])
  func `where a table without slots would be ends no records`(
    _ format: String, _ pairSize: Int
  ) throws {
    let records = try CDBSample.records(CDBSample.golden("few.txt"))
    var bytes = try CDBSample.golden("few.\(format)")
    let isEmpty = bytes[(pairSize / 2)..<pairSize].allSatisfy { $0 == 0 }
    try #require(isEmpty)
    // Table 0 would be where the first record is.
    bytes[0] = 0
    bytes[1] = UInt8(pairSize)
    let walked = try CDBSample.all(CDBFile(bytes: bytes))
    #expect(walked.count == 5 && CDBSample.isEqual(walked, records))
    let disk = MemoryDisk()
    let store = try store(bytes, disk)
    try store.set([7], for: "new")
    #expect(try store.save() == true)
    let saved = try CDBSample.all(CDBFile(disk: disk, path: "/s"))
    let wanted: [CDBSample.Record] = records + [(key: CDBSample.bytes("new"), value: [7])]
    #expect(saved.count == 6 && CDBSample.isEqual(saved, wanted))
  }

  @Test func `a store does not save a file of which it would lose records`() throws {
    var tail: [UInt8] = []
    // A slot for the empty key, and behind it the record, where no walk comes.
    for word: UInt32 in [5381, 2056, 0, 1] { tail.put(word) }
    let bytes = file(tail: tail + [7], table: 2048, slots: 1)
    let disk = MemoryDisk()
    let store = try store(bytes, disk)
    #expect(try store[""] == [7])
    try store.set([8], for: "new")
    let error = #expect(throws: CairnError.self) { try store.save() }
    #expect(error?.code == .corrupt)
    #expect(error?.offset == 2056)
    #expect(store.changedKeys == ["new"])
    #expect(try CDBSample.content("/s", disk) == bytes)
    #expect(try disk.list("/").map(\.name) == ["s"])
  }

  @Test func `tables and records that lie nowhere are damage`() throws {
    var slot: [UInt8] = []
    slot.put(UInt32(5381))
    for position: UInt32 in [1, 2047, 2056, 0xFFFF_FFFF] {
      var tail = slot
      tail.put(position)
      let file = try CDBFile(bytes: file(tail: tail, table: 2048, slots: 1))
      let error = #expect(throws: CairnError.self) { try file.value(for: []) }
      #expect(error?.code == .corrupt)
    }
    for (table, slots): (UInt32, UInt32) in [
      (2048, 2), (2049, 1), (0, 1), (0xFFFF_FFFF, 1), (2048, 0xFFFF_FFFF),
    ] {
      let error = #expect(throws: CairnError.self) {
        try CDBFile(bytes: file(tail: slot + slot, table: table, slots: slots))
      }
      #expect(error?.code == .corrupt)
    }
  }

  @Test func `a record that reaches behind the end is damage`() throws {
    var tail: [UInt8] = []
    tail.put(UInt32(0))
    tail.put(UInt32(0xFFFF_FFFF))
    tail.put(UInt32(5381))
    tail.put(UInt32(2048))
    let bytes = file(tail: tail, table: 2056, slots: 1)
    let file = try CDBFile(bytes: bytes)
    let error = #expect(throws: CairnError.self) { try file.value(for: []) }
    #expect(error?.code == .corrupt)
    #expect(error?.offset == 2048)
    #expect(throws: CairnError.self) { try CDBSample.all(file) }
  }

  @Test func `a file that is cut under its reader is an error`() throws {
    let place = try TemporaryDirectory()
    let random = SeededRandom(9)
    let records = (0..<3000).map { (key: CDBSample.bytes("\($0)"), value: random.bytes(40)) }
    let path = place.path("f")
    let writer = try CDBWriter(path)
    for record in records { try writer.add(record.key, record.value) }
    try writer.finish()
    let file = try CDBFile(path)
    // One is in memory already.
    #expect(try file.value(for: records[0].key) == records[0].value)
    let handle = try PosixDisk().open(path, .readWrite)
    try handle.truncate(to: 20_000)
    var codes: Set<CairnError.Code> = []
    var found = 0
    for record in records {
      do throws(CairnError) {
        if try file.value(for: record.key) == record.value { found += 1 }
      } catch { codes.insert(error.code) }
    }
    #expect(codes == [.corrupt])
    #expect(found < records.count)
    let walk = #expect(throws: CairnError.self) { try CDBSample.all(file) }
    #expect(walk?.code == .corrupt)
  }

  @Test func `a read that fails is said, and the next one works`() throws {
    let disk = MemoryDisk()
    _ = try CDBSample.file([([1], [2])], disk: disk)
    let file = try CDBFile(disk: disk, path: "/f", cacheBytes: 0)
    disk.failAt(read: disk.reads + 1, reason: .io(errno: 5))
    let error = #expect(throws: CairnError.self) { try file.value(for: [1]) }
    #expect(error?.code == .fileIO)
    #expect(try file.value(for: [1]) == [2])
  }
}
