import CairnBytes

/// What can still be read of a damaged log segment, whatever is wrong with it: good frames before
/// and behind bad places, frames of which one bit is wrong, put right, and the bad places.
///
/// For repairs only: opening never goes on behind damage.
package struct SegmentSalvage: Sendable {
  package enum Part: Sendable {
    case frame(Frame)
    /// Bytes that are no frame, though they may have been one or several.
    case damage(Range<Int>)
  }

  /// The file's bytes, with the bits that were put right.
  package private(set) var bytes: [UInt8]
  package private(set) var parts: [Part] = []
  /// Offsets of the frames of which a bit was put right.
  package private(set) var mended: [Int] = []
  package private(set) var isHeaderDamaged = false
  private let seedBase: UInt64
  private var mend: BitMend

  /// `devices` are those whose segment it may be, in case the header does not tell it. Nil if no
  /// frame verifies for any of them.
  package init?(
    _ bytes: [UInt8], datastore: UInt128, devices: [UInt64], number: UInt64, mend: BitMend
  ) {
    self.bytes = bytes
    self.mend = mend
    // A header that is damaged is not needed: all that it says is known.
    let header = try? SegmentHeader(bytes, path: "")
    isHeaderDamaged = header == nil
    var candidates = devices
    if let header, header.datastore == datastore, header.number == number {
      candidates = [header.device]
    }
    for device in candidates {
      let base = FrameFormat.seedBase(datastore: datastore, device: device, number: number)
      guard SegmentSalvage.next(bytes, from: SegmentHeader.size, base) != nil else { continue }
      seedBase = base
      scan()
      return
    }
    // Nothing in it, damaged or not.
    guard let header, bytes.count > SegmentHeader.size else { return nil }
    seedBase = header.seedBase
    scan()
  }

  package var budget: BitMend { mend }

  /// Where the next good frame is.
  private static func next(_ bytes: [UInt8], from start: Int, _ base: UInt64) -> Frame? {
    var offset = FrameFormat.padded(start)
    while offset + FrameFormat.headerSize <= bytes.count {
      // An offset full of zeros is none, and most of a preallocated file is.
      if bytes.u32(at: offset) != 0, let frame = Frame(bytes, at: offset, seedBase: base) {
        return frame
      }
      offset += FrameFormat.alignment
    }
    return nil
  }

  private mutating func scan() {
    var end = SegmentHeader.size
    while end < bytes.count {
      if let frame = Frame(bytes, at: end, seedBase: seedBase) {
        if frame.kind == FrameKind.seal.rawValue { return }
        parts.append(.frame(frame))
        end = frame.end
        continue
      }
      let next = SegmentSalvage.next(bytes, from: end + 1, seedBase)
      // Zeros to the end are room that nobody used.
      guard let last = bytes[end...].lastIndex(where: { $0 != 0 }) else { return }
      let region = end..<(next?.offset ?? last + 1)
      if let frame = mended(region, isTail: next == nil) {
        parts.append(.frame(frame))
        mended.append(frame.offset)
        end = frame.end
        continue
      }
      parts.append(.damage(region))
      guard let next else { return }
      end = next.offset
    }
  }

  /// The frame that a damaged region is but for one bit.
  private mutating func mended(_ region: Range<Int>, isTail: Bool) -> Frame? {
    let offset = region.lowerBound
    let base = seedBase
    guard bytes.count - offset >= FrameFormat.headerSize else { return nil }
    func isRight(_ bytes: [UInt8]) -> Bool {
      guard let frame = Frame(bytes, at: offset, seedBase: base) else { return false }
      return isTail || frame.end <= region.upperBound
    }
    let header = offset..<(offset + FrameFormat.headerSize)
    let length = min(region.count, BitMend.bytesMax)
    if mend.mend(&bytes, header, length: length, isRight) {
      return Frame(bytes, at: offset, seedBase: base)
    }
    let stored = Int(bytes.u32(at: offset))
    let start = header.upperBound
    guard stored > 0, stored <= BitMend.bytesMax, start + stored <= bytes.count,
      start + stored <= region.upperBound + FrameFormat.alignment || isTail,
      mend.mend(&bytes, start..<(start + stored), length: stored, isRight)
    else { return nil }
    return Frame(bytes, at: offset, seedBase: base)
  }

  /// The payload of the one frame that a damaged region seems to have been, by its header or by
  /// what is around it; nil if it does not look like one. Its content is not to be trusted.
  package func suspect(_ region: Range<Int>) -> [UInt8]? {
    let start = region.lowerBound + FrameFormat.headerSize
    guard start < region.upperBound, region.upperBound <= bytes.count,
      bytes[region.lowerBound + 4] == FrameKind.delta.rawValue
    else { return nil }
    let stored = Int(bytes.u32(at: region.lowerBound))
    let rawLength = Int(bytes.u32(at: region.lowerBound + 8))
    guard FrameFormat.padded(start + stored) == FrameFormat.padded(region.upperBound),
      start + stored <= bytes.count, rawLength <= FrameFormat.rawBytesMax
    else { return nil }
    let isPacked = bytes[region.lowerBound + 5] & FrameFormat.flagPacked != 0
    if !isPacked { return Array(bytes[start..<(start + stored)]) }
    // What does not unpack is no suspect.
    return try? LZ4.unpack(bytes, start..<(start + stored), count: rawLength)
  }

  /// Device and sequence in the header of a region that seems to be one frame.
  package func suspectSequence(_ region: Range<Int>) -> UInt64 {
    bytes.u64(at: region.lowerBound + 24)
  }
}
