import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

struct SnapshotDamageTests {
  private func sample() throws -> [UInt8] {
    let rows = (0..<20).map { index in
      SampleRow(
        .packed(1, UInt64(index)), presence: stamp(1, index + 1),
        [("n", .int(Int64(index)), .settled), ("t", .string("the text \(index)"), .settled)])
    }
    var description = SnapshotDescription()
    description.vector = VersionVector([stamp(1, 20).dot])
    return try BlockSample.snapshot(
      [("t", rows)], datastore: SnapshotFileTests.datastore, description: description)
  }

  private func check(_ bytes: [UInt8]) throws {
    let disk = MemoryDisk()
    try disk.setBytes("/s.snap", bytes)
    _ = try SnapshotCheck.run("/s.snap", datastore: SnapshotFileTests.datastore, disk: disk) {
      _, _ in
    }
  }

  /// Pages are thousands of zeros alike: there, one bit of each byte is enough.
  @Test func `every flipped bit is found by a full read`() throws {
    let bytes = try sample()
    try check(bytes)
    let directory = Int(bytes.u64(at: 48))
    let description = Int(bytes.u64(at: 64))
    let disk = MemoryDisk()
    try disk.setBytes("/s.snap", bytes)
    var missed: [Int] = []
    for offset in bytes.indices {
      let isPage = (directory..<description).contains(offset)
      for bit in isPage ? [offset % 8] : Array(0..<8) {
        try disk.corrupt("/s.snap", offset, xor: 1 << UInt8(bit))
        do {
          _ = try SnapshotCheck.run("/s.snap", datastore: SnapshotFileTests.datastore, disk: disk) {
            _, _ in
          }
          missed.append(offset)
        } catch {}
        try disk.corrupt("/s.snap", offset, xor: 1 << UInt8(bit))
      }
    }
    #expect(missed.isEmpty)
  }

  @Test func `every truncation is found at open`() throws {
    let bytes = try sample()
    for length in stride(from: 0, to: bytes.count, by: 7) {
      let disk = MemoryDisk()
      try disk.setBytes("/s.snap", Array(bytes[..<length]))
      #expect(throws: LogError.self, "\(length)") { try SnapshotReader("/s.snap", disk: disk) }
    }
    let disk = MemoryDisk()
    try disk.setBytes("/s.snap", bytes + [0])
    #expect(throws: LogError.self) { try SnapshotReader("/s.snap", disk: disk) }
  }

  @Test func `lies in the header under a good checksum never trap`() throws {
    let random = SeededRandom(22)
    let bytes = try sample()
    for _ in 0..<4_000 {
      var bent = bytes
      let offset = 32 + random.below(48)
      if random.coin() {
        bent.set([0, 1, UInt64.max, 1 << 63, random.next()][random.below(5)], at: offset / 8 * 8)
      } else {
        bent[offset] = UInt8(truncatingIfNeeded: random.next())
      }
      bent.set(XXH3.hash64(bent, 0..<120), at: 120)
      _ = try? check(bent)
    }
  }

  @Test func `lies in pages and blocks under good checksums never trap`() throws {
    let random = SeededRandom(23)
    let bytes = try sample()
    let index = Int(bytes.u64(at: 56))
    let directory = Int(bytes.u64(at: 48))
    for _ in 0..<400 {
      var bent = bytes
      let start = random.coin() ? index : directory
      let slot = random.below(8) == 0 ? random.below(511) : 0
      if start == directory {
        bent.set(random.next() >> UInt64(random.below(64)), at: start + 8 + slot * 8)
      } else {
        for slot in 0..<1_022 {
          bent.set(UInt32(truncatingIfNeeded: random.next()), at: start + 8 + slot * 4)
        }
      }
      bent.set(XXH3.hash64(bent, (start + 8)..<(start + 4_096), seed: 0), at: start)
      _ = try? check(bent)
    }
  }

  /// It is not looked for again once such a file is the datastore's own.
  @Test func `a match that is no bytes back is found by a full read`() throws {
    let row = SampleRow(
      .packed(1, 1), presence: stamp(1, 1),
      [("t", .string(String(repeating: "\0", count: 200)), .settled)])
    var description = SnapshotDescription()
    description.vector = VersionVector([stamp(1, 1).dot])
    var bytes = try BlockSample.snapshot(
      [("t", [row])], datastore: SnapshotFileTests.datastore, description: description)
    try check(bytes)
    let start = SnapshotHeader.size
    let rawLength = Int(bytes.u32(at: start))
    let stored = start + 16..<start + 16 + Int(bytes.u32(at: start + 4))
    let raw = try LZ4.unpack(bytes, stored, count: rawLength)
    let places = stored.dropLast().filter { place in
      guard bytes[place] == 1, bytes[place + 1] == 0 else { return false }
      var bent = bytes
      bent[place] = 0
      return (try? LZ4.unpack(bent, stored, count: rawLength, isOwn: true)) == raw
    }
    bytes[try #require(places.first)] = 0
    let seed = SnapshotHeader.blockSeed(number: 0, rawLength: rawLength)
    bytes.set(XXH3.hash64(bytes, stored, seed: seed), at: start + 8)
    let error = #expect(throws: StoreError.self) { try check(bytes) }
    #expect(error?.log?.reason == .corrupt)
  }

  @Test func `foreign and newer files are told apart from damaged ones`() throws {
    let bytes = try sample()
    func reason(_ bytes: [UInt8]) throws -> LogError.Reason? {
      let disk = MemoryDisk()
      try disk.setBytes("/s.snap", bytes)
      do {
        _ = try SnapshotReader("/s.snap", disk: disk)
        return nil
      } catch { return error.reason }
    }
    var magic = bytes
    magic[0] ^= 1
    #expect(try reason(magic) == .foreign)
    var floor = bytes
    floor[10] = 3
    floor.set(XXH3.hash64(floor, 0..<120), at: 120)
    #expect(try reason(floor) == .needsNewerVersion(3))
    #expect(try reason(Array(bytes.dropLast())) == .truncated)
    #expect(try reason(bytes + [0]) == .corrupt)
  }

  /// Reading the list passes over the device; changing it would not.
  @Test func `a state that only a change would refuse is found by a full read`() throws {
    let first = stamp(7, 1)
    var list = ListState([.string("a"), .string("b")], stamp: first, isCreated: false)
    list.insert(.string("c"), at: 1)
    let collected = list.collect()
    let edit = try #require(collected)
    list.commit(edit, stamp: stamp(7, 2), context: VersionVector([stamp(7, 2).dot]))
    var register = Register(.list([.string("a"), .string("b")]), stamp: first)
    register.lists = [list]
    let state = RecordState(
      presences: [Presence(stamp: first, born: [])], fields: ["l": register])
    var bytes: [UInt8] = []
    RecordStateCoding.encode(state, into: &bytes)
    func snapshot(_ bytes: [UInt8]) throws -> [UInt8] {
      var row = SampleRow(.packed(1, 1))
      row.stateBytes = bytes
      return try BlockSample.snapshot([("t", [row])], datastore: SnapshotFileTests.datastore)
    }
    try check(snapshot(bytes))
    let device = try #require(bytes.indices.last { bytes[$0] == 7 && bytes[$0 + 1] == 0 })
    bytes[device] = 0
    let shown = try RecordStateCoding.listItems(of: "l", bytes, 0..<bytes.count)
    #expect(shown == [.string("a"), .string("c"), .string("b")])
    let error = #expect(throws: StoreError.self) { try check(snapshot(bytes)) }
    #expect(error?.log?.reason == .corrupt)
  }
}
