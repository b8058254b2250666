import CairnDisk
import CairnLog
import TestSupport
import Testing

/// A snapshot with more records than the memory for its index: the hashes go to a temporary file,
/// and nothing of that is seen.
struct SnapshotSpillTests {
  private static let directory = "/spill"

  /// A snapshot that is being written on a disk of its own.
  private struct Work {
    let disk = MemoryDisk()
    var blocks: [[UInt64]]
    var limit: Int?

    init(_ blocks: [[UInt64]], limit: Int?) throws {
      (self.blocks, self.limit) = (blocks, limit)
      try disk.createDirectory(SnapshotSpillTests.directory)
    }

    var temporaries: [String] { disk.paths().filter { $0.hasSuffix(".tmp") } }

    /// Writes all of it. `between`: when the blocks are there, and nothing of the index.
    func run(between: (Work) throws -> Void = { _ in }) throws {
      let place = limit.map { limit in
        SpillPlace(
          machine: Machine(disk: disk, clock: ManualClock(), random: SeededRandom(3)),
          directory: SnapshotSpillTests.directory, records: limit)
      }
      let file = try disk.open(SnapshotSample.path, .create)
      let writer = SnapshotWriter(
        file: file, datastore: SegmentSample.header.datastore, spill: place)
      defer {
        file.close()
        writer.discard()
        writer.discard()
      }
      writer.expect(records: blocks.count)
      for (number, hashes) in blocks.enumerated() {
        try writer.add(block: [1, 2, UInt8(truncatingIfNeeded: number)], hashes: hashes)
      }
      try between(self)
      _ = try writer.finish(description: SnapshotSample.description)
      // Where removing it was not made to fail.
      if disk.strikes.isEmpty { #expect(temporaries.isEmpty, "it is gone before the end") }
    }

    var bytes: [UInt8]? { disk.bytes(SnapshotSample.path) }
  }

  /// Blocks of one to 13 records, so many records in all.
  private func blocks(
    _ count: Int, _ hash: (SeededRandom) -> UInt64 = { $0.next() }
  ) -> [[UInt64]] {
    let random = SeededRandom(UInt64(count) + 1)
    var blocks: [[UInt64]] = []
    var left = count
    while left > 0 {
      let rows = min(left, 1 + random.below(13))
      blocks.append((0..<rows).map { _ in hash(random) })
      left -= rows
    }
    return blocks
  }

  /// The same file comes of both, and nothing else stays.
  private func compare(_ blocks: [[UInt64]], limit: Int, isSpilled: Bool) throws {
    let memory = try Work(blocks, limit: nil)
    try memory.run()
    let spilled = try Work(blocks, limit: limit)
    try spilled.run { #expect($0.temporaries.isEmpty != isSpilled) }
    #expect(spilled.bytes == memory.bytes)
    #expect(spilled.temporaries.isEmpty && spilled.disk.openFiles == 0)
  }

  @Test(arguments: [0, 1, 99, 100, 101, 199, 200, 201, 299, 300, 2_500, 12_000])
  func `the bytes are those of an index that was made in memory`(records: Int) throws {
    try compare(blocks(records), limit: 100, isSpilled: records > 100)
    try compare(blocks(records), limit: 1_000_000, isSpilled: false)
  }

  @Test(arguments: [0, 1, 2, 7, 13, 700, 4_095, 4_096])
  func `whatever the limit is`(limit: Int) throws {
    try compare(blocks(5_000), limit: limit, isSpilled: true)
  }

  @Test func `every record is found, and pages that grow are counted from the file`() throws {
    // A tenth of all pages would have all of them.
    let blocks = blocks(6_000) { $0.next() / 10 }
    try compare(blocks, limit: 500, isSpilled: true)
    let work = try Work(blocks, limit: 500)
    try work.run()
    let reader = try SnapshotReader(SnapshotSample.path, disk: work.disk)
    #expect(reader.blockCount == blocks.count)
    for (block, hashes) in blocks.enumerated() {
      for (row, hash) in hashes.enumerated() {
        var probe = reader.probe(hash)
        var isFound = false
        while let place = try reader.next(&probe) { isFound = isFound || place == (block, row) }
        #expect(isFound)
      }
    }
  }

  @Test func `hashes that are all the same end in an error`() throws {
    let work = try Work(blocks(3_000) { _ in 7 }, limit: 100)
    #expect(logFailure { try work.run() } == .limit)
    #expect(work.temporaries.isEmpty && work.disk.openFiles == 0)
  }

  /// 8192 blocks, of which one has more than 65,536 records: a place has 30 bits, and one more that
  /// tells it from none.
  @Test func `slots of 8 bytes`() throws {
    let random = SeededRandom(9)
    let large = (0..<65_537).map { _ in random.next() }
    let blocks = [large] + (1..<8192).map { _ in [random.next()] }
    try compare(blocks, limit: 1_000, isSpilled: true)
    let work = try Work(blocks, limit: 1_000)
    try work.run()
    let bytes = try #require(work.bytes)
    let header = try SnapshotHeader(bytes, fileLength: UInt64(bytes.count), path: "")
    #expect(header.slotBytes == 8 && header.locatorBits == 31)
    let reader = try SnapshotReader(SnapshotSample.path, disk: work.disk)
    for block in stride(from: 1, to: 8192, by: 7) {
      var probe = reader.probe(blocks[block][0])
      let place = try reader.next(&probe)
      #expect(place?.block == block && place?.row == 0)
    }
  }

  // MARK: errors

  @Test(arguments: [DiskError.Reason.noSpace, .io(errno: 5)])
  func `a step that fails is an error of the whole, and leaves no file`(
    reason: DiskError.Reason
  ) throws {
    let blocks = blocks(700)
    let good = try Work(blocks, limit: 100)
    let before = good.disk.operations
    try good.run()
    var failed = 0
    for step in (before + 1)...good.disk.operations {
      for forever in [false, true] {
        let work = try Work(blocks, limit: 100)
        work.disk.tearFailedWrites(seed: UInt64(step))
        work.disk.failAt(operation: step, reason: reason, forever: forever)
        do {
          try work.run()
          #expect(work.bytes == good.bytes)
        } catch let error as LogError {
          guard case .disk(let disk) = error.reason else { throw error }
          #expect(disk.reason == reason)
          failed += 1
        } catch let error as DiskError {
          // The file itself was not made.
          #expect(error.reason == reason)
        }
        #expect(work.disk.openFiles == 0)
        // What can't be removed stays; and who can't write can't remove either.
        let strikes = work.disk.strikes
        if !strikes.contains(where: { $0.verb == "remove" }) { #expect(work.temporaries.isEmpty) }
      }
    }
    // Six pieces, and the file's own steps.
    #expect(failed > 16)
  }

  @Test func `a read that fails, too`() throws {
    let blocks = blocks(700)
    let good = try Work(blocks, limit: 100)
    let before = good.disk.reads
    try good.run()
    // Once for counting, then once for each group of pages; of the last piece none.
    let reads = good.disk.reads - before
    #expect(reads >= 12)
    for read in (before + 1)...(before + reads) {
      let work = try Work(blocks, limit: 100)
      work.disk.failAt(read: read, reason: .io(errno: 5))
      let reason = logFailure { try work.run() }
      guard case .disk(let error) = reason else {
        Issue.record("read \(read): \(String(describing: reason))")
        continue
      }
      #expect(error.reason == .io(errno: 5))
      #expect(work.temporaries.isEmpty && work.disk.openFiles == 0)
    }
  }

  /// A wrong index would miss records, and nobody would know.
  @Test func `what comes back changed is an error of the disk`() throws {
    let blocks = blocks(450)
    func spoil(_ body: (MemoryDisk, _ path: String) throws -> Void) throws {
      let work = try Work(blocks, limit: 100)
      let reason = logFailure {
        try work.run { work in
          #expect(work.temporaries.count == 1)
          try body(work.disk, try #require(work.temporaries.first))
        }
      }
      guard case .disk(let error) = reason else {
        Issue.record("it counts as \(String(describing: reason))")
        return
      }
      #expect(error.operation == "read back")
      #expect(work.temporaries.isEmpty)
    }
    for place in stride(from: 0, to: 4 * 800, by: 131) {
      try spoil { disk, path in try disk.corrupt(path, place, xor: 1 << UInt8(place % 8)) }
    }
    try spoil { disk, path in try disk.setBytes(path, Array((disk.bytes(path) ?? []).dropLast())) }
    try spoil { disk, path in try disk.setBytes(path, []) }
    // Pieces that are whole, and not in their places.
    try spoil { disk, path in
      let bytes = disk.bytes(path) ?? []
      try disk.setBytes(path, Array(bytes[800..<1600] + bytes[0..<800] + bytes[1600...]))
    }
  }
}
