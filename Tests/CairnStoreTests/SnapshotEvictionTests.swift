import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// Blocks of a snapshot of which not all may be kept in memory at once, but several.
struct SnapshotEvictionTests {
  private static let budget = 200_000

  private let disk = MemoryDisk()
  private let names = (0..<4000).map { packed($0) }

  /// Blocks have 62 KiB at most, and all together some 400 KB.
  private func open() throws -> BaseSnapshot {
    let text = String(repeating: "some text ", count: 8)
    let rows = names.enumerated().map {
      SampleRow($1, settled: [("t", .string("\($0) \(text)"))])
    }
    let bytes = try BlockSample.snapshot([("t", rows)], datastore: SnapshotFileTests.datastore)
    try disk.setBytes("/s.snap", bytes)
    return try BaseSnapshot(
      number: 1, reader: try SnapshotReader("/s.snap", disk: disk), budget: Self.budget)
  }

  @Test func `whichever have to go, each block and each record is found where it is`() throws {
    var base = try open()
    let blocks = base.reader.blockCount
    try #require(blocks > 6)
    var firsts: [RecordName] = []
    var sizes: [Int] = []
    var places: [RecordName: RowPlace] = [:]
    for number in 0..<blocks {
      let block = try base.readUnkept(number)
      firsts.append(block.name(0))
      sizes.append(block.bytes.count)
      for row in 0..<block.rowCount {
        places[block.name(row)] = RowPlace(block: UInt32(number), row: UInt32(row))
      }
    }
    let random = SeededRandom(3)
    var most = 0
    for step in 0..<300 {
      if random.coin() {
        let number = random.below(blocks)
        let isKept = number < base.places.count && base.places[number] > 0
        let before = disk.reads
        let first = try base.block(number).name(0)
        #expect(first == firsts[number], "step \(step)")
        #expect(isKept == (disk.reads == before), "step \(step)")
      } else {
        let name = names[random.below(names.count)]
        let place = try base.find(name, table: 0)
        #expect(place == places[name], "step \(step)")
      }
      let now = base.places
      let kept = now.indices.filter { now[$0] > 0 }
      #expect(kept.map { Int(now[$0]) }.sorted() == Array(1..<(kept.count + 1)), "step \(step)")
      #expect(kept.reduce(0) { $0 + sizes[$1] } <= Self.budget, "step \(step)")
      // Room is made by half, and not again with each block.
      if step >= 150 { most = max(most, kept.count) }
    }
    #expect(most > 2)
  }
}
