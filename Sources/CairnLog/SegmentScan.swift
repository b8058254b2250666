import CairnBytes

/// A local segment taken apart. Three things can follow the last good frame, and they have three
/// names: a clean end, a torn tail (bytes that no sync ever covered) and corruption (bytes that
/// something vouches for). Scanning only reads.
package struct SegmentScan: Sendable {
  package enum Ending: Equatable, Sendable {
    /// Nothing but preallocated zeros, or nothing at all.
    case clean
    /// The seal frame ends the file.
    case sealed
    /// `bytes` bytes that no frame vouches for: the trace of a crash between write and sync.
    case torn(bytes: Int)
    /// A region that a later frame says was durable, up to `end`.
    case corrupt(end: Int)
  }

  package let header: SegmentHeader
  package let bytes: [UInt8]
  /// Good frames in order, the seal frame not among them.
  package private(set) var frames: [Frame] = []
  package private(set) var ending: Ending = .clean
  package private(set) var footer: SegmentFooter?
  /// Where good frames end.
  package private(set) var end = SegmentHeader.size

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    header = try SegmentHeader(bytes, path: path)
    self.bytes = bytes
    let seedBase = header.seedBase
    while let frame = Frame(bytes, at: end, seedBase: seedBase) {
      if frame.kind == FrameKind.seal.rawValue {
        try finishSealed(frame, path: path)
        return
      }
      frames.append(frame)
      end = frame.end
    }
    ending = judge(seedBase)
  }

  /// The items of a footer, as far as frames were found.
  package var items: [SegmentFooter.Item] {
    frames.map {
      SegmentFooter.Item(device: $0.device, sequence: $0.sequence, offset: UInt32($0.offset))
    }
  }

  private mutating func finishSealed(_ frame: Frame, path: String) throws(LogError) {
    let found: SegmentFooter
    do throws(DecodeError) {
      found = try SegmentFooter(frame.payload(bytes))
      guard found.content == XXH3.hash128(bytes, 0..<frame.offset), found.items == items else {
        throw .malformed("the footer does not describe the frames before it")
      }
    } catch { throw LogError(error, path, at: UInt64(frame.offset), "the segment's footer") }
    var trailer: [UInt8] = []
    trailer.put(UInt64(frame.offset))
    trailer.append(contentsOf: SegmentFooter.trailerMagic)
    let trailerEnd = frame.end + SegmentFooter.trailerSize
    guard trailerEnd <= bytes.count,
      bytes.equal(frame.end..<trailerEnd, trailer, 0..<trailer.count),
      bytes[trailerEnd...].allSatisfy({ $0 == 0 })
    else {
      // A crash tore the one write that seals: the segment is not sealed, and no frame is lost.
      ending = .torn(bytes: tornBytes)
      return
    }
    footer = found
    ending = .sealed
  }

  /// From the end of the good frames to the last byte that is not zero.
  private var tornBytes: Int {
    (bytes.lastIndex { $0 != 0 } ?? end) + 1 - end
  }

  /// What the bytes behind the last good frame are.
  private func judge(_ seedBase: UInt64) -> Ending {
    guard bytes[end...].contains(where: { $0 != 0 }) else { return .clean }
    var offset = FrameFormat.padded(end + 1)
    // What a crash leaves has few places that look like a header, also where it is full of small
    // numbers; where there are many, somebody has put them there, and nothing is cut off.
    var search = FrameSearch(size: bytes.count)
    while offset + FrameFormat.headerSize <= bytes.count {
      // Asked before the checksum, so that few places of a long tail are worth hashing at.
      if isVouching(offset), search.isWorth(bytes, offset),
        Frame(bytes, at: offset, seedBase: seedBase) != nil
      {
        return .corrupt(end: offset)
      }
      if search.isSpent { return .corrupt(end: offset) }
      offset += FrameFormat.alignment
    }
    return .torn(bytes: tornBytes)
  }

  /// Whether a frame here, if there is one, says that the bytes at `end` were durable.
  private func isVouching(_ offset: Int) -> Bool {
    let through = Int(bytes.u32(at: offset + 12))
    return through > end && through <= offset
  }
}
