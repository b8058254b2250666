import Cairn
import CairnBytes
import CairnCDB
import CairnDisk
import TestSupport
import Testing

/// Files whose places need more than 32 bits. Nearly all of one is a hole, which takes no room.
@Suite struct CDBLargeFileTests {
  /// Where the second record begins.
  private static let far: UInt64 = 5 << 30

  /// Whether files may be that long where tests are; in memory, say, they may not.
  static let isPossible: Bool = {
    guard let place = try? TemporaryDirectory(),
      let file = try? PosixDisk().open(place.path("f"), .create)
    else { return false }
    defer { file.close() }
    return (try? file.truncate(to: far + 4096)) != nil
  }()

  private static func hash(_ key: [UInt8]) -> UInt64 {
    key.reduce(5381) { ($0 &* 33) ^ UInt64($1) }
  }

  /// A record with a value of 5 GiB, and behind it two of another key, and the tables.
  private func write(_ path: String) throws {
    let (near, other) = (CDBSample.bytes("near"), CDBSample.bytes("far"))
    let header: UInt64 = 4096
    var head: [UInt8] = []
    head.put(UInt64(near.count))
    head.put(Self.far - header - 16 - UInt64(near.count))
    head += near
    var slots: [(hash: UInt64, position: UInt64)] = [(Self.hash(near), header)]
    var tail: [UInt8] = []
    for value in ["first", "second"] {
      slots.append((Self.hash(other), Self.far + UInt64(tail.count)))
      tail.put(UInt64(other.count))
      tail.put(UInt64(value.utf8.count))
      tail += other + CDBSample.bytes(value)
    }
    var pointers: [UInt8] = []
    for number: UInt64 in 0..<256 {
      let mine = slots.filter { $0.hash & 255 == number }
      pointers.put(Self.far + UInt64(tail.count))
      pointers.put(UInt64(mine.count * 2))
      var table = [(hash: UInt64, position: UInt64)](repeating: (0, 0), count: mine.count * 2)
      for slot in mine {
        var place = Int((slot.hash >> 8) % UInt64(table.count))
        while table[place].position != 0 { place = (place + 1) % table.count }
        table[place] = slot
      }
      for slot in table {
        tail.put(slot.hash)
        tail.put(slot.position)
      }
    }
    let file = try PosixDisk().open(path, .create)
    defer { file.close() }
    try file.truncate(to: Self.far)
    try file.write(pointers.span, at: 0)
    try file.write(head.span, at: header)
    try file.write(tail.span, at: Self.far)
  }

  @Test(.enabled(if: CDBLargeFileTests.isPossible), arguments: [0, CDBFile.defaultCacheBytes])
  func `what lies behind 4 GiB is found and walked to`(_ cacheBytes: Int) throws {
    let place = try TemporaryDirectory()
    try write(place.path("f"))
    let file = try CDBFile(place.path("f"), cacheBytes: cacheBytes)
    #expect(file.format == .cdb64)
    #expect(file.size > Self.far)
    let key = CDBSample.bytes("far")
    #expect(try file.value(for: key) == CDBSample.bytes("first"))
    #expect(try file.values(for: key) == ["first", "second"].map(CDBSample.bytes))
    #expect(try file.contains(CDBSample.bytes("near")))
    #expect(try file.value(for: CDBSample.bytes("nowhere")) == nil)
    let statistics = try file.statistics()
    #expect((statistics.records, statistics.keys) == (3, 2))
    #expect(statistics.valueBytes > UInt64(UInt32.max))
    var options = CDBOptions()
    options.cacheBytes = cacheBytes
    let store = CDBStore<String, [UInt8]>(
      place.path("f"), keys: .text, values: .raw, options: options)
    try store.open()
    #expect(try store.allKeys() == ["near", "far"])
    #expect(try store["far"] == CDBSample.bytes("first"))
  }

  @Test(.enabled(if: CDBLargeFileTests.isPossible), arguments: [0, CDBFile.defaultCacheBytes])
  func `what takes no room in a file, and all that there is in memory, is refused`(
    _ cacheBytes: Int
  ) throws {
    let place = try TemporaryDirectory()
    try write(place.path("f"))
    let file = try CDBFile(place.path("f"), cacheBytes: cacheBytes)
    let store = CDBStore<String, [UInt8]>(place.path("f"), keys: .text, values: .raw)
    try store.open()
    let bodies: [() throws -> Void] = [
      { _ = try file.value(for: CDBSample.bytes("near")) }, { _ = try file.records().next() },
      { _ = try store["near"] },
    ]
    for body in bodies {
      let error = #expect(throws: CairnError.self) { try body() }
      #expect(error?.code == .sizeLimit)
    }
  }
}
