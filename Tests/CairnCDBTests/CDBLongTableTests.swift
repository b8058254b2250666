import Cairn
import CairnBytes
import TestSupport
import Testing

@testable import CairnCDB

/// Hash tables as no writer makes them: full, with their slots in any order.
@Suite struct CDBLongTableTests {
  /// Different keys whose hashes belong to the first table.
  private static func keys(_ count: Int) -> [[UInt8]] {
    var keys: [[UInt8]] = []
    var number = 0
    while keys.count < count {
      let key = Array(String(number, radix: 16).utf8)
      number += 1
      if CDBHash.full(key.span) & 255 == 0 { keys.append(key) }
    }
    return keys
  }

  /// A file with a record for each of these keys, all in one table, which has so many slots more.
  /// `mixes`: half of the hashes of a cdb64 have 32 bits.
  private static func file(
    _ keys: [[UInt8]], _ format: CDBFormat, holes: Int, mixes: Bool = false, _ random: SeededRandom
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    func put(_ number: UInt64) {
      if format == .cdb {
        bytes.put(UInt32(truncatingIfNeeded: number))
      } else {
        bytes.put(number)
      }
    }
    var slots = [(hash: UInt64, position: UInt64)](repeating: (0, 0), count: holes)
    var records: [(key: [UInt8], position: UInt64)] = []
    var position = UInt64(format.headerSize)
    for key in keys {
      records.append((key, position))
      let full = CDBHash.full(key.span)
      let isNarrow = format == .cdb || mixes && random.coin()
      slots.append((isNarrow ? full & 0xFFFF_FFFF : full, position))
      position += UInt64(format.pairSize + key.count + 2)
    }
    var generator = random
    slots.shuffle(using: &generator)
    for table in 0..<256 {
      put(position + (table == 0 ? 0 : UInt64(slots.count * format.pairSize)))
      put(table == 0 ? UInt64(slots.count) : 0)
    }
    for record in records {
      put(UInt64(record.key.count))
      put(2)
      bytes += record.key + [7, 7]
    }
    for slot in slots {
      put(slot.hash)
      put(slot.position)
    }
    return bytes
  }

  /// The same slot by slot.
  private func place(
    _ file: CDBFile, _ record: CDBRecord, _ key: [UInt8]
  ) throws -> CDBPlaces.Place? {
    let first = try file.find(key.span)
    let full = CDBHash.full(key.span)
    var hashes = [file.layout.format.hash(full)]
    if let other = CDBFile.otherHash(full, file.layout.format) { hashes.append(other) }
    for hash in hashes {
      var probe = CDBProbe(file.layout, hash: hash)
      let slots = probe.left
      while probe.left > 0 {
        let (found, position) = try file.pair(at: probe.slot)
        if position == 0 { break }
        if found == hash, position == record.position {
          return (Int(clamping: slots - probe.left), first == record)
        }
        probe.advance()
      }
    }
    return nil
  }

  @Test(arguments: 0..<6, [CDBFormat.cdb, .cdb64])
  func `a record is found where its slot is, whatever order they are in`(
    seed: Int, _ format: CDBFormat
  ) throws {
    let random = SeededRandom(UInt64(seed))
    let some = Self.keys(400)
    // Some have several values.
    let keys = some + (0..<200).map { _ in some[random.below(40)] }
    let bytes = Self.file(
      keys, format, holes: [0, 1, 3][seed % 3], mixes: seed % 2 == 1, random)
    let file = try CDBFile(bytes: bytes, format: format)
    var walk = CDBWalk(file)
    var places = CDBPlaces(file)
    var count = 0
    while let record = try walk.next() {
      let key = try walk.copy(record.keyStart, record.keyLength)
      let (mine, right) = (try places.place(of: record, key), try place(file, record, key))
      #expect(mine?.distance == right?.distance, "record \(count)")
      #expect(mine?.isFirst == right?.isFirst, "record \(count)")
      count += 1
    }
    #expect(count == keys.count)
  }

  @Test func `a walk over a full table looks at each slot a few times`() throws {
    let keys = Self.keys(2000)
    let file = try CDBFile(bytes: Self.file(keys, .cdb, holes: 0, SeededRandom(1)))
    var walk = CDBWalk(file)
    var places = CDBPlaces(file)
    while let record = try walk.next() {
      let key = try walk.copy(record.keyStart, record.keyLength)
      #expect(try places.place(of: record, key)?.isFirst == true)
    }
    #expect(places.steps < 10_000)
    let statistics = try file.statistics()
    #expect(statistics.keys == 2000 && statistics.records == 2000)
    #expect(try file.tally().keys == 2000)
  }

  @Test func `a key with very many values is one key`() throws {
    let records = (0..<3000).map { number in
      (key: CDBSample.bytes("k"), value: CDBSample.bytes("\(number)"))
    }
    let file = try CDBFile(bytes: CDBSample.file(records))
    var walk = CDBWalk(file)
    var places = CDBPlaces(file)
    while let record = try walk.next() { _ = try places.place(of: record, CDBSample.bytes("k")) }
    #expect(places.steps < 256 * 258)
    let statistics = try file.statistics()
    #expect(statistics.keys == 1 && statistics.records == 3000)
    #expect(statistics.distances == [Int](repeating: 1, count: 10) + [2990])
  }

  // MARK: holes

  /// A cdb64 of one record, whose slot lies 280 slots behind where its look-ups begin, among slots
  /// that point elsewhere; so many slots in the first table, and such a key length where these
  /// others point to.
  private func hollow(slots: UInt64, keyLength: UInt64) -> HollowFile {
    let key = Self.keys(1)[0]
    let full = CDBHash.full(key.span)
    let (first, made) = (UInt64(4096), UInt64(4096 + 16 + key.count))
    let start = made + 16 + keyLength
    var (header, record, other): ([UInt8], [UInt8], [UInt8]) = ([], [], [])
    for table in 0..<256 {
      header.put(start + (table == 0 ? 0 : slots * 16))
      header.put(table == 0 ? slots : 0)
    }
    record.put(UInt64(key.count))
    record.put(keyLength + 16)
    record += key
    other.put(keyLength)
    other.put(UInt64(0))
    var parts = [0: header, first: record, made: other]
    let begin = (full >> 8) % slots
    for distance in 0..<UInt64(300) {
      var slot: [UInt8] = []
      slot.put(distance == 280 ? full : (distance + 1) << 40)
      slot.put(distance == 280 ? first : made)
      parts[start + (begin + distance) % slots * 16] = slot
    }
    return HollowFile(length: start + slots * 16, parts: parts)
  }

  @Test func `a key in a hole that is longer than any memory is an error`() throws {
    let hollow = hollow(slots: 300, keyLength: 200 << 30)
    let file = try CDBFile(file: hollow, path: "hollow", format: .cdb64, cacheBytes: 0)
    let error = #expect(throws: CairnError.self) { try file.statistics() }
    #expect(error?.code == .sizeLimit)
    #expect(hollow.longestRead < HollowFile.readMost)
  }

  @Test func `of the empty slots of a table nothing is kept`() throws {
    let hollow = hollow(slots: 1 << 16, keyLength: 3)
    let file = try CDBFile(file: hollow, path: "hollow", format: .cdb64, cacheBytes: 1 << 24)
    let (slots, used) = try CDBLongTable.read(file, 0)
    #expect(slots.count == 300 && used.count <= 2)
    let statistics = try file.statistics()
    #expect(statistics.records == 1 && statistics.distances.last == 1)
  }
}
