import CairnBytes

/// Finds the good frames of a damaged segment, also where nothing tells where they are.
///
/// What is hashed in all is bounded, and places that can't be a frame's header are not hashed at:
/// where there are very many that can, somebody has put them there.
struct FrameSearch: Sendable {
  /// Bytes that were hashed.
  private(set) var hashed = 0
  /// Bytes that may still be; below zero nothing more is found.
  private var patience: Int
  /// The same for frames of a kind, or with flags, that only a newer version knows. Few bytes of
  /// ordinary content look like a frame that is known, and many like one of these; so they have a
  /// patience of their own, and when it is spent they alone are no longer looked for.
  private var curiosity: Int

  /// More places looked like frames than anything but intent would leave behind.
  var isSpent: Bool { patience < 0 }

  /// How often a file may be hashed in all.
  private static let hashesMax = 16
  private static let strangeHashesMax = 4

  /// In a file of so many bytes.
  init(size: Int) {
    patience = size * FrameSearch.hashesMax
    curiosity = size * FrameSearch.strangeHashesMax
  }

  /// The frame at a place, if one is there.
  mutating func frame(_ bytes: [UInt8], at offset: Int, seedBase: UInt64) -> Frame? {
    guard hasRoom(bytes, offset), pay(Int(bytes.u32(at: offset))) else { return nil }
    return Frame(bytes, at: offset, seedBase: seedBase)
  }

  /// The next good frame.
  mutating func next(_ bytes: [UInt8], from start: Int, seedBase: UInt64) -> Frame? {
    var offset = FrameFormat.padded(start)
    while patience >= 0, offset + FrameFormat.headerSize <= bytes.count {
      if isWorth(bytes, offset), let frame = Frame(bytes, at: offset, seedBase: seedBase) {
        return frame
      }
      offset += FrameFormat.alignment
    }
    return nil
  }

  /// Whether the stored bytes that a header declares can be there. An offset full of zeros declares
  /// none, and most of a preallocated file is that.
  private func hasRoom(_ bytes: [UInt8], _ offset: Int) -> Bool {
    let room = bytes.count - offset - FrameFormat.headerSize
    guard room > 0 else { return false }
    let stored = Int(bytes.u32(at: offset))
    return stored > 0 && stored <= room
  }

  private mutating func pay(_ stored: Int) -> Bool {
    patience -= FrameFormat.headerSize + stored
    guard patience >= 0 else { return false }
    hashed += FrameFormat.headerSize + stored
    return true
  }

  /// Whether to make the checksum of a place, which is paid for here.
  mutating func isWorth(_ bytes: [UInt8], _ offset: Int) -> Bool {
    guard hasRoom(bytes, offset), bytes.u16(at: offset + 6) == 0,
      Int(bytes.u32(at: offset + 12)) <= offset
    else { return false }
    let (kind, flags) = (bytes[offset + 4], bytes[offset + 5])
    let stored = Int(bytes.u32(at: offset))
    let rawLength = Int(bytes.u32(at: offset + 8))
    guard rawLength <= FrameFormat.rawBytesMax,
      rawLength <= stored * LZ4.expansionLimit + 64,
      flags != 0 || rawLength == stored
    else { return false }
    if FrameKind(rawValue: kind) != nil, flags & ~FrameFormat.flagsKnown == 0 {
      return pay(stored)
    }
    let cost = FrameFormat.headerSize + stored
    guard cost <= curiosity else { return false }
    curiosity -= cost
    hashed += cost
    return true
  }
}
