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
  /// Offsets of the frames of which a bit was put right, a seal among them.
  package private(set) var mended: [Int] = []
  package private(set) var isHeaderDamaged = false
  /// Whether its end is there: a seal, or a trailer that says where the seal was. No frame that
  /// was behind those in `parts` is lost then.
  package private(set) var isSealed = false
  /// Where the last good frame ends.
  package private(set) var end = SegmentHeader.size
  /// Bytes that were hashed to find them, without those of frames that were mended.
  package private(set) var hashed = 0
  private let seedBase: UInt64
  private var search: FrameSearch
  private var mend: BitMend

  /// `devices` are those whose segment it may be, in case the header does not tell it. Nil if its
  /// header is damaged or another datastore's, and no frame verifies for any of them.
  package init?(
    _ bytes: [UInt8], datastore: UInt128, devices: [UInt64], number: UInt64, mend: BitMend
  ) {
    self.bytes = bytes
    self.mend = mend
    search = FrameSearch(size: bytes.count)
    // A header that is damaged is not needed: all that it says is known.
    let header = try? SegmentHeader(bytes, path: "")
    isHeaderDamaged = header == nil
    // Whatever verifies in a segment of another datastore is none of ours.
    let own = header?.datastore == datastore ? header : nil
    if let own, own.number == number {
      seedBase = own.seedBase
      scan()
      return
    }
    var before = 0
    for device in devices {
      let base = FrameFormat.seedBase(datastore: datastore, device: device, number: number)
      var look = FrameSearch(size: bytes.count)
      let found = look.next(bytes, from: SegmentHeader.size, seedBase: base)
      before += look.hashed
      guard found != nil else { continue }
      seedBase = base
      scan()
      hashed += before
      return
    }
    guard let own else { return nil }
    seedBase = own.seedBase
    scan()
    hashed += before
  }

  package var budget: BitMend { mend }

  private mutating func scan() {
    // Zeros to the end are room that nobody used.
    let last = bytes.lastIndex { $0 != 0 } ?? 0
    let seal = sealOfTrailer(last)
    var place = SegmentHeader.size
    while place <= last {
      if let frame = search.frame(bytes, at: place, seedBase: seedBase) {
        guard take(frame) else { break }
        place = frame.end
        continue
      }
      let next = search.next(bytes, from: place + 1, seedBase: seedBase)
      var limit = next?.offset ?? last + 1
      if next == nil, let seal, seal > place { limit = seal }
      if let frame = mended(place..<limit, isTail: limit > last) {
        mended.append(frame.offset)
        guard take(frame) else { break }
        place = frame.end
        continue
      }
      if next == nil, seal == place {
        // Only the seal is damaged, which says nothing that the frames do not say.
        isSealed = true
        break
      }
      parts.append(.damage(place..<limit))
      place = limit
    }
    hashed = search.hashed
  }

  /// Takes a good frame; false if it is the seal, behind which there are none.
  private mutating func take(_ frame: Frame) -> Bool {
    if frame.kind == FrameKind.seal.rawValue {
      isSealed = true
      return false
    }
    parts.append(.frame(frame))
    end = frame.end
    return true
  }

  /// Where the seal is, or was, by the trailer at the end of the file.
  private func sealOfTrailer(_ last: Int) -> Int? {
    let start = last + 1 - SegmentFooter.trailerSize
    guard start >= SegmentHeader.size + FrameFormat.headerSize,
      bytes[(start + 8)...last].elementsEqual(SegmentFooter.trailerMagic)
    else { return nil }
    let offset = bytes.u64(at: start)
    guard offset >= UInt64(SegmentHeader.size), offset % UInt64(FrameFormat.alignment) == 0,
      offset <= UInt64(start - FrameFormat.headerSize)
    else { return nil }
    return Int(offset)
  }

  /// The frame that a damaged region is but for one bit.
  private mutating func mended(_ region: Range<Int>, isTail: Bool) -> Frame? {
    let offset = region.lowerBound
    let base = seedBase
    // The last frame may end with zeros.
    let limit = isTail ? min(bytes.count, region.upperBound + BitMend.bytesMax) : region.upperBound
    let room = limit - offset
    guard room >= FrameFormat.headerSize else { return nil }
    func isRight(_ bytes: [UInt8]) -> Bool {
      // Asked before anything is hashed: with a bit turned the length may be any.
      let stored = Int(bytes.u32(at: offset))
      guard stored > 0, FrameFormat.padded(FrameFormat.headerSize + stored) <= room else {
        return false
      }
      return Frame(bytes, at: offset, seedBase: base) != nil
    }
    let header = offset..<(offset + FrameFormat.headerSize)
    if mend.mend(&bytes, header, length: room, isRight) {
      return Frame(bytes, at: offset, seedBase: base)
    }
    let stored = Int(bytes.u32(at: offset))
    let start = header.upperBound
    guard stored > 0, stored <= BitMend.bytesMax,
      FrameFormat.padded(FrameFormat.headerSize + stored) <= room,
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
