import CairnDisk
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// How much of a datastore's trash goes when it has become too large: the oldest, and no more than
/// has to.
@Suite struct TrashRoomTests {
  private let clock = ManualClock()
  private let disk: MemoryDisk

  init() throws {
    disk = MemoryDisk(clock: clock)
    try disk.createDirectory("/s")
  }

  private func trash(bytes: Int) -> RecordTrash {
    var options = StoreOptions()
    options.trashMilliseconds = 1_000_000
    options.trashBytes = bytes
    return RecordTrash(
      store: "/s", datastore: 7, options: options,
      machine: Machine(disk: disk, clock: clock, random: SeededRandom(1)))
  }

  private func record(_ id: String) -> KeptRecord {
    let content = FieldValue.bytes([UInt8](repeating: 7, count: 100))
    return KeptRecord(
      dot: Dot(device: DeviceID(rawValue: 9), sequence: 1), time: clock.now(), table: "t",
      id: RecordName(id), fields: [KeptRecord.Field(name: "b", value: content)])
  }

  private func ids(_ trash: RecordTrash) throws -> [String] {
    let (files, problems) = try trash.contents()
    #expect(problems.isEmpty)
    return files.flatMap { $0.records.map(\.id.text) }
  }

  /// Puts some records there, a file each; says how large a file is.
  private func fill(_ names: [String]) throws -> Int {
    for id in names {
      try trash(bytes: 1 << 20).keep([record(id)], durable: true)
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
}
