import CairnBytes
import CairnLog

/// A segment's bytes with every checksum made right.
package enum SegmentRepair {
  /// Header, then each frame where the one before it ends; the hash in a seal that is not packed.
  package static func run(_ bytes: inout [UInt8]) {
    Checksums.sum(&bytes, to: 56)
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
}
