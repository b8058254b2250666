import Cairn
import CairnCDB
import CairnDisk
import TestSupport
import Testing

@Suite struct CDBFileTests {
  private static let names = ["few", "none", "many"]

  @Test(arguments: names, CDBFormat.allCases)
  func `files of other tools are written to the byte`(
    _ name: String, _ format: CDBFormat
  ) throws {
    let records = try CDBSample.records(CDBSample.golden("\(name).txt"))
    #expect(
      try CDBSample.file(records, format) == CDBSample.golden("\(name).\(format.rawValue)"))
  }

  @Test(arguments: names, CDBFormat.allCases)
  func `files of other tools are read`(_ name: String, _ format: CDBFormat) throws {
    let text = try CDBSample.golden("\(name).txt")
    let records = try CDBSample.records(text)
    for cacheBytes in [1 << 20, 0] {
      let file = try CDBFile(
        bytes: CDBSample.golden("\(name).\(format.rawValue)"), cacheBytes: cacheBytes)
      #expect(file.format == (format == .cdb ? .cdb : .cdb64))
      #expect(try CDBSample.text(CDBSample.all(file)) == text)
      for record in records {
        let all = records.filter { $0.key == record.key }.map(\.value)
        #expect(try file.values(for: record.key) == all)
        #expect(try file.value(for: record.key) == all.first)
        let length = try file.withValue(for: record.key.span) { span throws(CairnError) in
          span.count
        }
        #expect(length == all.first?.count)
        #expect(try file.contains(record.key))
      }
      #expect(try file.value(for: CDBSample.bytes("not there")) == nil)
      #expect(try file.values(for: CDBSample.bytes("nor that")) == [])
      let statistics = try file.statistics()
      #expect(statistics.records == records.count)
      #expect(statistics.keys == Set(records.map(\.key)).count)
      #expect(statistics.keyBytes == records.reduce(0) { $0 + UInt64($1.key.count) })
      #expect(statistics.valueBytes == records.reduce(0) { $0 + UInt64($1.value.count) })
      #expect(statistics.distances.reduce(0, +) == records.count)
    }
  }

  private static func place(_ bytes: Span<UInt8>) -> Int {
    unsafe bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
  }

  @Test(arguments: CDBFormat.allCases)
  func `a value is shown where it lies, and not copied`(_ format: CDBFormat) throws {
    let disk = MemoryDisk()
    let writer = try CDBWriter("/s", machine: CDBSample.machine(disk), format: format)
    for key: UInt8 in 0..<9 { try writer.add([key], [1, 2, 3, key]) }
    try writer.finish()
    let file = try CDBFile(disk: disk, path: "/s")
    let store = CDBStore<[UInt8], [UInt8]>(
      "/s", keys: .bytes, values: .raw, machine: CDBSample.machine(disk),
      delay: ManualDelay().delay)
    try store.open()
    for key: UInt8 in 0..<9 {
      let name = [key]
      // One within the other: two copies could not lie in the same place.
      let places = try file.withValue(for: name.span) { value throws(CairnError) -> [Int?] in
        [Self.place(value), try file.withValue(for: name.span) { Self.place($0) }]
      }
      #expect(places?.count == 2 && places?.first == places?.last)
      let stored = try store.withStoredValue(for: name) { value throws(CairnError) -> [Int?] in
        [Self.place(value), try store.withStoredValue(for: name) { Self.place($0) }]
      }
      #expect(stored?.count == 2 && stored?.first == stored?.last)
    }
  }

  @Test func `a value may be larger than every buffer, and may be given in parts`() throws {
    let random = SeededRandom(5)
    let large = random.bytes(700_000)
    let disk = MemoryDisk()
    for format in CDBFormat.allCases {
      let writer = try CDBWriter("/f", machine: CDBSample.machine(disk), format: format)
      try writer.add([1], large)
      try writer.add([2], parts: [[7], [], Array(large.prefix(300_000)), [8]])
      try writer.finish()
      let file = try CDBFile(disk: disk, path: "/f", cacheBytes: 100_000)
      #expect(try file.value(for: [1]) == large)
      #expect(try file.value(for: [2]) == [7] + large.prefix(300_000) + [8])
      #expect(try CDBSample.all(file).map(\.value.count) == [700_000, 300_002])
    }
  }

  @Test func `a file that gets too large for 32 bits goes over to 64`() throws {
    let random = SeededRandom(6)
    let records = CDBSample.random(300, random)
    let exact = try CDBSample.file(records, .cdb).count
    let disk = MemoryDisk()
    for (limit, format) in [(exact, CDBFormat.cdb), (exact - 1, .cdb64), (3000, .cdb64)] {
      let writer = try CDBWriter(
        "/f", machine: CDBSample.machine(disk), largest32: UInt64(limit))
      for record in records { try writer.add(record.key, record.value) }
      let size = try writer.finish()
      let bytes = try CDBSample.content("/f", disk)
      #expect(bytes == (try CDBSample.file(records, format)))
      #expect(size == UInt64(bytes.count))
      #expect(try disk.list("/").map(\.name) == ["f"])
    }
  }

  @Test func `a format that is asked for is kept to`() throws {
    let disk = MemoryDisk()
    let writer = try CDBWriter(
      "/f", machine: CDBSample.machine(disk), format: .cdb, largest32: 2048 + 2 * (8 + 2 + 16))
    try writer.add([1], [1])
    try writer.add([2], [2])
    let error = #expect(throws: CairnError.self) { try writer.add([3], [3]) }
    #expect(error?.code == .sizeLimit)
    // What was added before is not lost.
    try writer.finish()
    #expect(try CDBSample.all(CDBFile(disk: disk, path: "/f")).count == 2)
  }

  @Test func `a writer that fails or is dropped leaves the file that was there`() throws {
    let disk = MemoryDisk()
    let machine = CDBSample.machine(disk)
    let first = try CDBWriter("/f", machine: machine)
    try first.add([1], [1])
    try first.finish()
    let before = try CDBSample.content("/f", disk)
    do {
      let dropped = try CDBWriter("/f", machine: machine)
      try dropped.add([2], [2])
    }
    #expect(try disk.list("/").map(\.name) == ["f"])
    let failing = try CDBWriter("/f", machine: machine)
    try failing.add([2], [2])
    disk.capacity = disk.usedBytes
    let full = #expect(throws: CairnError.self) { try failing.finish() }
    #expect(full?.code == .diskSpace)
    #expect(full?.file == "/f")
    let ended = #expect(throws: CairnError.self) { try failing.add([3], [3]) }
    #expect(ended?.code == .closed)
    #expect(try disk.list("/").map(\.name) == ["f"])
    #expect(try CDBSample.content("/f", disk) == before)
  }

  @Test func `a closed file says so, and goes on until it is`() throws {
    let file = try CDBFile(bytes: CDBSample.golden("few.cdb"))
    let cursor = try file.records()
    _ = try cursor.next()
    let result = try file.withValue(for: CDBSample.bytes("one").span) {
      span throws(CairnError) -> Int in
      file.close()
      return span.count
    }
    #expect(result == 5)
    let bodies: [() throws -> Void] = [
      { _ = try file.value(for: [1]) }, { _ = try file.values(for: [1]) },
      { _ = try cursor.next() }, { _ = try file.statistics() },
    ]
    for body in bodies {
      let error = #expect(throws: CairnError.self) { try body() }
      #expect(error?.code == .closed)
    }
  }

  @Test func `what is missing or no file says so`() throws {
    let place = try TemporaryDirectory()
    let missing = #expect(throws: CairnError.self) { try CDBFile(place.path("none")) }
    #expect(missing?.code == .notFound)
    let directory = #expect(throws: CairnError.self) { try CDBFile(place.path) }
    #expect(directory?.code == .fileIO)
    let nowhere = #expect(throws: CairnError.self) { try CDBWriter(place.path("no/where")) }
    #expect(nowhere?.code == .notFound)
  }

  @Test func `a file that only its owner may read stays one`() throws {
    let place = try TemporaryDirectory()
    let path = place.path("f")
    try PosixDisk().open(path, .createPrivate).close()
    let writer = try CDBWriter(path)
    try writer.add([1], [2])
    try writer.finish()
    try PosixDisk().open(path, .readPrivate).close()
    #expect(try CDBFile(path).value(for: [1]) == [2])
  }
}
