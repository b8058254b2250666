import CairnBytes
import CairnDisk
import CairnLog
import TestSupport

/// A snapshot of blocks that mean nothing, on a disk of its own.
struct SnapshotSample {
  static let path = "/s.snap"
  static let description = Array("what is in it".utf8)

  let disk = MemoryDisk()
  let blocks: [[UInt8]]
  /// Row by row.
  let hashes: [UInt64]

  /// The blocks can be packed, but for one of `loose`.
  init(
    blocks count: Int = 3, loose: Int? = nil, description: [UInt8] = SnapshotSample.description,
    floor: UInt16 = FormatVersion.floor
  ) throws {
    let random = SeededRandom(7)
    blocks = (0..<count).map { number in
      if number == loose { return random.bytes(600) }
      return (0..<600).map { UInt8(truncatingIfNeeded: $0 / 50 + number) }
    }
    hashes = (0..<count * 3).map { _ in random.next() }
    let writer = SnapshotWriter(
      file: try disk.open(Self.path, .create), datastore: SegmentSample.header.datastore)
    for (number, block) in blocks.enumerated() {
      try writer.add(block: block, hashes: Array(hashes[number * 3..<number * 3 + 3]))
    }
    _ = try writer.finish(description: description, floor: floor)
  }

  var bytes: [UInt8] { disk.bytes(Self.path) ?? [] }

  func header() throws -> SnapshotHeader {
    try SnapshotHeader(bytes, fileLength: UInt64(bytes.count), path: Self.path)
  }

  /// Where a block begins.
  func offset(of block: Int) throws -> Int {
    Int(bytes.u64(at: Int(try header().directoryOffset) + 8 + block * 8))
  }

  /// Replaces bytes of the file.
  func change(_ body: (inout [UInt8]) throws -> Void) throws {
    var copy = bytes
    try body(&copy)
    try disk.setBytes(Self.path, copy)
  }

  /// Makes a block say that it has another length unpacked, with a checksum that fits.
  func declare(_ rawLength: Int, of block: Int) throws {
    let start = try offset(of: block)
    try change { bytes in
      let stored = start + 16..<start + 16 + Int(bytes.u32(at: start + 4))
      bytes.set(UInt32(rawLength), at: start)
      let seed = SnapshotHeader.blockSeed(number: block, rawLength: rawLength)
      bytes.set(XXH3.hash64(bytes, stored, seed: seed), at: start + 8)
    }
  }

  /// Spoils more of a block than can be mended.
  func spoil(block: Int) throws {
    let start = try offset(of: block)
    try change { bytes in for place in 20..<40 { bytes[start + place] ^= 0x5A } }
  }

  func reader() throws -> SnapshotReader { try SnapshotReader(Self.path, disk: disk) }

  func salvage(budget: UInt64 = 40 << 30) throws -> SnapshotSalvage {
    try SnapshotSalvage(
      Self.path, disk: disk, datastore: SegmentSample.header.datastore,
      mend: BitMend(budget: budget))
  }
}
