package import CairnBytes

/// The frame: one commit's bytes in a local log, with a header of 40 bytes, padded to 8.
///
///     0  stored length u32   4  kind u8   5  flags u8   6  zero u16
///     8  unpacked length u32   12  durable through u32
///     16  device u64   24  sequence u64   32  XXH3-64 of bytes 0..<32 and the stored bytes
package enum FrameFormat {
  package static let headerSize = 40
  /// Room for a header.
  package static let emptyHeader = [UInt8](repeating: 0, count: headerSize)
  package static let alignment = 8
  package static let checksumOffset = 32
  package static let flagPacked: UInt8 = 1
  package static let flagsKnown: UInt8 = 1
  /// Unpacked bytes of one frame; more than any delta or pack can have.
  package static let rawBytesMax = 80 << 20
  /// Payloads smaller than this are never packed: LZ4 does not pay below it.
  package static let packFrom = 192

  package static func padded(_ count: Int) -> Int {
    (count + alignment - 1) & ~(alignment - 1)
  }

  /// Binds a frame to its place: a moved, stale or foreign frame never verifies.
  package static func seed(base: UInt64, offset: UInt64) -> UInt64 {
    base ^ (offset &+ 1) &* 0x9E37_79B9_7F4A_7C15
  }

  package static func seedBase(datastore: UInt128, device: UInt64, number: UInt64) -> UInt64 {
    var place: [UInt8] = []
    place.put(UInt64(truncatingIfNeeded: datastore))
    place.put(UInt64(truncatingIfNeeded: datastore >> 64))
    place.put(device)
    place.put(number)
    return XXH3.hash64(place)
  }
}

/// What a frame holds. Embedded in the format: DO NOT CHANGE THESE NUMBERS.
package enum FrameKind: UInt8, Sendable {
  /// A delta of this device, in the segment's own dictionary.
  case delta = 1
  /// Packs of other devices' deltas as they came, each with a dictionary of its own.
  case pack = 2
  /// The last frame of a sealed segment.
  case seal = 0x7F
}

/// A frame's header and place, checked.
package struct Frame: Equatable, Sendable {
  package var offset: Int
  package var kind: UInt8
  package var flags: UInt8
  package var stored: Range<Int>
  package var rawLength: Int
  package var durableThrough: UInt32
  package var device: UInt64
  package var sequence: UInt64

  package var end: Int { offset + FrameFormat.padded(FrameFormat.headerSize + stored.count) }

  /// The frame at `offset`, or nil if the bytes there are none. `bytes` is the part of the file
  /// from `base` on.
  package init?(_ bytes: [UInt8], at offset: Int, base: Int = 0, seedBase: UInt64) {
    guard offset >= 0, offset % FrameFormat.alignment == 0,
      bytes.count - offset >= FrameFormat.headerSize
    else { return nil }
    let storedLength = Int(bytes.u32(at: offset))
    let flags = bytes[offset + 5]
    let rawLength = Int(bytes.u32(at: offset + 8))
    let start = offset + FrameFormat.headerSize
    // With its padding: the next frame starts within the file, or at its end.
    guard storedLength > 0, FrameFormat.padded(storedLength) <= bytes.count - start,
      bytes.u16(at: offset + 6) == 0, rawLength <= FrameFormat.rawBytesMax,
      flags != 0 || rawLength == storedLength
    else { return nil }
    let checksum = bytes.u64(at: offset + FrameFormat.checksumOffset)
    guard
      checksum == Frame.checksum(
        bytes, at: offset, storedLength: storedLength,
        seed: FrameFormat.seed(base: seedBase, offset: UInt64(base + offset)))
    else { return nil }
    self.offset = offset
    kind = bytes[offset + 4]
    self.flags = flags
    stored = start..<(start + storedLength)
    self.rawLength = rawLength
    durableThrough = bytes.u32(at: offset + 12)
    device = bytes.u64(at: offset + 16)
    sequence = bytes.u64(at: offset + 24)
  }

  /// Header without the checksum itself, then the stored bytes.
  package static func checksum(
    _ bytes: [UInt8], at offset: Int, storedLength: Int, seed: UInt64
  ) -> UInt64 {
    let header = XXH3.hash64(bytes, offset..<(offset + FrameFormat.checksumOffset), seed: seed)
    let start = offset + FrameFormat.headerSize
    return XXH3.hash64(bytes, start..<(start + storedLength), seed: header)
  }

  /// The payload, unpacked.
  package func payload(_ bytes: [UInt8]) throws(DecodeError) -> [UInt8] {
    guard flags & ~FrameFormat.flagsKnown == 0 else { throw .newer("unknown frame flags") }
    if flags & FrameFormat.flagPacked == 0 { return [UInt8](bytes[stored]) }
    return try LZ4.unpack(bytes, stored, count: rawLength)
  }
}
