import CairnBytes
import CairnLog

extension FileKind {
  /// The bytes with every checksum made right, so that what a checksum would have caught gets
  /// behind it. What is too short stays as it is.
  package func repaired(_ bytes: [UInt8]) -> [UInt8] {
    var copy = bytes
    switch self {
    case .current: FileKind.sum(&copy, to: 88)
    case .segment: FileKind.repairSegment(&copy)
    case .snapshot: FileKind.repairSnapshot(&copy)
    case .published:
      FileKind.sum(&copy, to: 104)
      FileKind.sum128(&copy)
    case .head, .catalogue: FileKind.sum128(&copy)
    case .publication:
      if copy.count > 64 + 16 {
        copy.set(UInt32(copy.count - 64), at: 48)
        var head = Array(copy[56..<(copy.count - 8)])
        FileKind.sum128(&head)
        copy.replaceSubrange(56..<(copy.count - 8), with: head)
      }
      FileKind.sum(&copy, to: copy.count - 8)
    case .installation: FileKind.repairInstallation(&copy)
    case .info, .accounts, .credentials, .migration, .chains, .role, .deleted,
      .held:
      FileKind.sum(&copy, to: copy.count - 8)
    case .identity: break
    }
    return copy
  }

  /// Puts the hash of the first `end` bytes behind them.
  private static func sum(_ bytes: inout [UInt8], to end: Int) {
    guard end >= 0, end + 8 <= bytes.count else { return }
    bytes.set(XXH3.hash64(bytes, 0..<end), at: end)
  }

  /// Puts the hash of all before the last 16 bytes there.
  private static func sum128(_ bytes: inout [UInt8]) {
    guard bytes.count >= 16 else { return }
    let end = bytes.count - 16
    let hash = XXH3.hash128(bytes, 0..<end)
    bytes.set(UInt64(truncatingIfNeeded: hash), at: end)
    bytes.set(UInt64(truncatingIfNeeded: hash >> 64), at: end + 8)
  }

  /// Header, then each frame where the one before it ends; the hash in a seal that is not packed.
  private static func repairSegment(_ bytes: inout [UInt8]) {
    sum(&bytes, to: 56)
    guard let header = try? SegmentHeader(bytes, path: "") else { return }
    var offset = SegmentHeader.size
    while offset + FrameFormat.headerSize <= bytes.count {
      let stored = Int(bytes.u32(at: offset))
      let start = offset + FrameFormat.headerSize
      guard stored > 0, FrameFormat.padded(stored) <= bytes.count - start else { return }
      if bytes[offset + 4] == FrameKind.seal.rawValue, bytes[offset + 5] == 0, stored >= 32 {
        let hash = XXH3.hash128(bytes, 0..<offset)
        bytes.set(UInt64(truncatingIfNeeded: hash), at: start + stored - 16)
        bytes.set(UInt64(truncatingIfNeeded: hash >> 64), at: start + stored - 8)
      }
      let seed = FrameFormat.seed(base: header.seedBase, offset: UInt64(offset))
      bytes.set(
        Frame.checksum(bytes, at: offset, storedLength: stored, seed: seed),
        at: offset + FrameFormat.checksumOffset)
      offset = start + FrameFormat.padded(stored)
    }
  }

  /// Header, pages, the blocks that the directory names, the description.
  private static func repairSnapshot(_ bytes: inout [UInt8]) {
    sum(&bytes, to: 120)
    let length = UInt64(bytes.count)
    guard let header = try? SnapshotHeader(bytes, fileLength: length, path: "") else { return }
    var starts: [UInt64] = []
    for (number, page) in stride(
      from: Int(header.directoryOffset), to: Int(header.indexOffset), by: 4096
    ).enumerated() {
      for slot in 0..<SnapshotHeader.offsetsPerPage where starts.count < Int(header.blockCount) {
        starts.append(bytes.u64(at: page + 8 + slot * 8))
      }
      bytes.set(XXH3.hash64(bytes, (page + 8)..<(page + 4096), seed: UInt64(number)), at: page)
    }
    for (number, page) in stride(
      from: Int(header.indexOffset), to: Int(header.descriptionOffset), by: 4096
    ).enumerated() {
      bytes.set(XXH3.hash64(bytes, (page + 8)..<(page + 4096), seed: UInt64(number)), at: page)
    }
    starts.append(header.directoryOffset)
    for number in starts.indices.dropLast() {
      let (start, end) = (starts[number], starts[number + 1])
      guard start >= 128, start < end, end <= header.directoryOffset, end - start > 16 else {
        continue
      }
      let stored = (Int(start) + 16)..<Int(end)
      bytes.set(UInt32(stored.count), at: Int(start) + 4)
      let seed = SnapshotHeader.blockSeed(
        number: number, rawLength: Int(bytes.u32(at: Int(start))))
      bytes.set(XXH3.hash64(bytes, stored, seed: seed), at: Int(start) + 8)
    }
    let description = Int(header.descriptionOffset)
    let size = Int(header.descriptionLength)
    bytes.set(
      XXH3.hash64(bytes, description..<(description + size), seed: UInt64(size)),
      at: description + size)
  }

  /// The catalogues inside, as far as their lengths lead to them, then the file.
  private static func repairInstallation(_ bytes: inout [UInt8]) {
    guard bytes.count > 64 else { return }
    var reader = ByteReader(bytes, 48..<(bytes.count - 8))
    var parts: [Range<Int>] = []
    if let own = try? reader.blob() {
      parts.append(own)
      let count = (try? reader.count(minimumSize: 2)) ?? 0
      for _ in 0..<count {
        guard (try? reader.blob()) != nil, let file = try? reader.blob() else { break }
        parts.append(file)
      }
    }
    for range in parts {
      var part = Array(bytes[range])
      sum128(&part)
      bytes.replaceSubrange(range, with: part)
    }
    sum(&bytes, to: bytes.count - 8)
  }
}
