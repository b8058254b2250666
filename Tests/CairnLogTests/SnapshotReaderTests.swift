import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

/// A snapshot file, whatever its blocks mean.
struct SnapshotReaderTests {
  @Test func `blocks come back as they were written`() throws {
    let sample = try SnapshotSample(blocks: 40, loose: 2)
    let reader = try sample.reader()
    #expect(reader.blockCount == 40)
    #expect(reader.description == SnapshotSample.description)
    for (number, block) in sample.blocks.enumerated() {
      #expect(try reader.block(number) == block)
    }
    for (row, hash) in sample.hashes.enumerated() {
      // Twice, as a page is kept.
      for _ in 0..<2 {
        var probe = reader.probe(hash)
        var found = false
        while let place = try reader.next(&probe) {
          found = found || place == (row / 3, row % 3)
        }
        #expect(found)
      }
    }
  }

  private func write(_ hashes: [UInt64], to disk: MemoryDisk) throws {
    let writer = SnapshotWriter(
      file: try disk.open(SnapshotSample.path, .create),
      datastore: SegmentSample.header.datastore)
    try writer.add(block: [1, 2, 3], hashes: hashes)
    _ = try writer.finish(description: [])
  }

  /// On average they fit into three pages.
  @Test func `hashes that lie close together get more pages, unless they are one`() throws {
    let random = SeededRandom(5)
    let disk = MemoryDisk()
    let hashes = (0..<2_000).map { _ in random.next() / 10 }
    try write(hashes, to: disk)
    let reader = try SnapshotReader(SnapshotSample.path, disk: disk)
    for (row, hash) in hashes.enumerated() {
      var probe = reader.probe(hash)
      var rows: [Int] = []
      while let place = try reader.next(&probe) { rows.append(place.row) }
      #expect(rows.contains(row))
    }
    let error = #expect(throws: LogError.self) {
      try write([UInt64](repeating: 7, count: 2_000), to: MemoryDisk())
    }
    #expect(error?.reason == .limit)
  }

  @Test func `more records than a snapshot may have are refused, and none before that`() throws {
    let disk = MemoryDisk()
    let writer = SnapshotWriter(
      file: try disk.open(SnapshotSample.path, .create),
      datastore: SegmentSample.header.datastore, recordsMax: 5)
    try writer.add(block: [1], hashes: [1, 2, 3])
    let error = #expect(throws: LogError.self) {
      try writer.add(block: [2], hashes: [4, 5, 6])
    }
    #expect(error?.reason == .limit)
    // What was refused has left nothing: there is still room for two.
    try writer.add(block: [3], hashes: [4, 5])
    _ = try writer.finish(description: [])
    let reader = try SnapshotReader(SnapshotSample.path, disk: disk)
    #expect(reader.blockCount == 2)
    #expect(try reader.block(1) == [3])
  }

  @Test func `a description longer than any reader takes is refused, and nothing written`() throws {
    let disk = MemoryDisk()
    let writer = SnapshotWriter(
      file: try disk.open(SnapshotSample.path, .create),
      datastore: SegmentSample.header.datastore)
    try writer.add(block: [1], hashes: [1])
    let most = SnapshotHeader.descriptionBytesMax
    let error = #expect(throws: LogError.self) {
      try writer.finish(description: [UInt8](repeating: 0, count: most + 1))
    }
    #expect(error?.reason == .limit && error?.path == SnapshotSample.path)
    let detail =
      "the tables and devices take 67108865 bytes in a snapshot, which holds at most 67108864 of "
      + "them; the log keeps everything, and can't be folded until tables or devices are fewer"
    #expect(error?.detail == detail)
    #expect(disk.bytes(SnapshotSample.path) == [])
    _ = try writer.finish(description: SnapshotSample.description)
    let reader = try SnapshotReader(SnapshotSample.path, disk: disk)
    #expect(reader.description == SnapshotSample.description)
    #expect(try reader.block(0) == [1])
  }

  @Test func `a file that gets shorter while it is open is an error`() throws {
    let sample = try SnapshotSample(blocks: 2)
    let reader = try sample.reader()
    let file = try sample.disk.open(SnapshotSample.path, .readWrite)
    try file.truncate(to: UInt64(try sample.offset(of: 1) + 10))
    // The directory is gone, too.
    #expect(logFailure { _ = try reader.block(0) } == .truncated)
    #expect(logFailure { try reader.verifyPages() } == .truncated)

    let other = try SnapshotSample(blocks: 2)
    let second = try other.reader()
    #expect(try second.block(0) == other.blocks[0])
    let rest = try other.disk.open(SnapshotSample.path, .readWrite)
    try rest.truncate(to: UInt64(try other.offset(of: 1) + 10))
    #expect(logFailure { _ = try second.block(1) } == .truncated)
  }

  /// The first block begins with a zero and a match that is one byte back.
  @Test func `a match that is no bytes back is looked for in what others wrote`() throws {
    let sample = try SnapshotSample()
    let stored = try sample.offset(of: 0) + 16
    #expect(Array(sample.bytes[stored..<stored + 4]) == [0x1F, 0, 1, 0])
    try sample.change { bytes in bytes[stored + 2] = 0 }
    try sample.declare(600, of: 0)
    #expect(logFailure { _ = try sample.reader().block(0) } == .corrupt)
    let own = try SnapshotReader(SnapshotSample.path, disk: sample.disk, isOwn: true)
    #expect(try own.block(0) == sample.blocks[0])
  }

  @Test func `a block that is not as long as it says is an error`() throws {
    let sample = try SnapshotSample()
    try sample.declare(601, of: 1)
    #expect(logFailure { _ = try sample.reader().block(1) } == .corrupt)
    #expect(try sample.reader().block(2) == sample.blocks[2])
    try sample.declare(SnapshotHeader.blockBytesMax + 1, of: 1)
    #expect(logFailure { _ = try sample.reader().block(1) } == .limit)
  }

  /// A header whose parts follow each other as they should, and zeros behind it.
  private func claim(
    blocks: UInt32, blockBytes: UInt64, pages: UInt32 = 1, slotBytes: UInt8 = 4, rows: UInt64
  ) throws -> LogError.Reason? {
    var header = SnapshotHeader(datastore: SegmentSample.header.datastore)
    header.blockCount = blocks
    header.recordCount = rows
    header.indexPages = pages
    (header.rowBits, header.locatorBits, header.slotBytes) = (1, 30, slotBytes)
    header.directoryOffset = UInt64(SnapshotHeader.size) + blockBytes
    let directoryPages = (UInt64(blocks) + 510) / 511
    header.indexOffset = header.directoryOffset + directoryPages * 4096
    header.descriptionOffset = header.indexOffset + UInt64(pages) * 4096
    do {
      let read = try SnapshotHeader(
        header.encoded(), fileLength: header.fileLength, path: SnapshotSample.path)
      #expect(read == header)
      return nil
    } catch { return error.reason }
  }

  @Test func `a header that counts more than its file can hold is refused before anything is made`()
    throws
  {
    // A block has 17 bytes at least.
    #expect(try claim(blocks: 3, blockBytes: 51, rows: 3) == nil)
    #expect(try claim(blocks: 3, blockBytes: 50, rows: 3) == .corrupt)
    let many = UInt32(Int32.max)
    #expect(try claim(blocks: many, blockBytes: 0, pages: 1 << 22, rows: 1 << 31) == .corrupt)
    // And a row.
    #expect(try claim(blocks: 3, blockBytes: 1 << 20, rows: 2) == .corrupt)
    #expect(try claim(blocks: .max, blockBytes: 1 << 40, rows: 0) == .corrupt)
    // Of a page's slots one is empty.
    for (slotBytes, slots) in [(UInt8(4), UInt64(1022)), (8, 511)] {
      let most = 3 * (slots - 1)
      #expect(
        try claim(blocks: 2, blockBytes: 99, pages: 3, slotBytes: slotBytes, rows: most) == nil)
      #expect(
        try claim(blocks: 2, blockBytes: 99, pages: 3, slotBytes: slotBytes, rows: most + 1)
          == .corrupt)
    }
    #expect(try claim(blocks: 2, blockBytes: 99, rows: .max) == .corrupt)
    #expect(try claim(blocks: 0, blockBytes: 0, rows: 0) == nil)
  }
}
