import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

/// How a salvage finds the end of a segment: its seal, its trailer, and when it stops looking.
struct SegmentSalvageEndTests {
  private static let header = SegmentSample.header

  private func salvage(_ bytes: [UInt8], budget: UInt64 = 0) throws -> SegmentSalvage {
    try #require(
      SegmentSalvage(
        bytes, datastore: Self.header.datastore, devices: [], number: 1,
        mend: BitMend(budget: budget)))
  }

  private func frames(_ salvage: SegmentSalvage) -> [Int] {
    salvage.parts.compactMap { part in
      if case .frame(let frame) = part { frame.offset } else { nil }
    }
  }

  private func damages(_ salvage: SegmentSalvage) -> [Range<Int>] {
    salvage.parts.compactMap { part in
      if case .damage(let range) = part { range } else { nil }
    }
  }

  /// Three frames and a seal; the file, and where the seal is.
  private func sealed() throws -> (sample: SegmentSample, bytes: [UInt8], seal: Int) {
    var sample = try SegmentSample.three(isSynced: true)
    let seal = sample.segment.end
    _ = try sample.segment.seal(durableThrough: seal)
    return (sample, sample.file, seal)
  }

  // MARK: seals

  @Test func `a sealed segment is known for one`() throws {
    let (sample, bytes, seal) = try sealed()
    let whole = try salvage(bytes)
    #expect(whole.isSealed && whole.end == seal && frames(whole) == sample.offsets)
    let open = try salvage(Array(bytes[..<seal]))
    #expect(!open.isSealed && open.end == seal && frames(open) == sample.offsets)
  }

  @Test func `whatever bit of a seal or its trailer is wrong, nothing else is lost`() throws {
    let (sample, bytes, seal) = try sealed()
    for bit in (seal * 8)..<(bytes.count * 8) {
      let salvage = try salvage(bytes.flipping(bit: bit))
      #expect(salvage.isSealed && salvage.end == seal, "bit \(bit)")
      #expect(frames(salvage) == sample.offsets && damages(salvage).isEmpty, "bit \(bit)")
      #expect(salvage.mended.isEmpty, "bit \(bit)")
    }
  }

  @Test func `a bit of a seal is mended`() throws {
    let (sample, bytes, seal) = try sealed()
    let stored = Int(bytes.u32(at: seal))
    // Every bit of a byte has its turn.
    for bit in stride(from: seal * 8, to: (seal + FrameFormat.headerSize + stored) * 8, by: 11) {
      let salvage = try salvage(bytes.flipping(bit: bit), budget: 40 << 30)
      #expect(salvage.isSealed && salvage.mended == [seal] && salvage.bytes == bytes, "bit \(bit)")
      #expect(frames(salvage) == sample.offsets && damages(salvage).isEmpty, "bit \(bit)")
    }
  }

  @Test func `a trailer proves a seal also behind a damaged frame`() throws {
    let (sample, whole, seal) = try sealed()
    var bytes = whole
    for place in 40..<48 { bytes[seal + place] ^= 0x5A }
    for place in 40..<48 { bytes[sample.offsets[2] + place] ^= 0x5A }
    let salvage = try salvage(bytes)
    #expect(frames(salvage) == Array(sample.offsets[..<2]))
    #expect(damages(salvage) == [sample.offsets[2]..<seal])
    #expect(salvage.isSealed && salvage.end == sample.offsets[2])
  }

  @Test func `a seal that nothing proves is damage`() throws {
    let (sample, whole, seal) = try sealed()
    var spoilt = whole
    for place in 40..<48 { spoilt[seal + place] ^= 0x5A }
    // The trailer's magic; its offset: of another place, of none, of itself.
    var trailers: [[UInt8]] = [spoilt]
    trailers[0][spoilt.count - 3] ^= 1
    for offset in [UInt64(seal - 8), UInt64(seal + 4), .max, UInt64(spoilt.count - 16), 0] {
      var bytes = spoilt
      bytes.set(offset, at: bytes.count - 16)
      trailers.append(bytes)
    }
    for bytes in trailers {
      let salvage = try salvage(bytes)
      #expect(frames(salvage) == sample.offsets && damages(salvage) == [seal..<bytes.count])
      #expect(!salvage.isSealed && salvage.end == seal)
    }
  }

  @Test func `a trailer alone is not taken for a seal of nothing`() throws {
    let bytes = Self.header.encoded() + [64, 0, 0, 0, 0, 0, 0, 0] + SegmentFooter.trailerMagic
    let salvage = try salvage(bytes)
    #expect(!salvage.isSealed && damages(salvage) == [64..<80])
  }

  // MARK: bounds

  /// A large frame between two small ones, of which each place looks like a header of `kind` that
  /// declares `stored` bytes.
  private func crowded(
    _ kind: UInt8, stored: UInt32 = 30_000
  ) throws -> (sample: SegmentSample, bytes: [UInt8]) {
    var sample = try SegmentSample()
    try sample.append([1, 2, 3])
    try sample.append(SeededRandom(3).bytes(80_000))
    try sample.append([4, 5, 6])
    var bytes = sample.bytes
    for place in stride(from: sample.offsets[1], to: sample.offsets[2], by: 8) {
      bytes.set(stored, at: place)
      bytes.set(UInt32(kind), at: place + 4)
    }
    return (sample, bytes)
  }

  @Test func `where every place looks like a frame the search ends`() throws {
    let (sample, bytes) = try crowded(1)
    let salvage = try salvage(bytes)
    #expect(frames(salvage) == [sample.offsets[0]])
    #expect(damages(salvage) == [sample.offsets[1]..<(sample.offsets[2] + 43)])
    #expect(salvage.hashed <= 20 * bytes.count)
  }

  @Test func `where every place looks like a newer frame known ones are still found`() throws {
    let (sample, bytes) = try crowded(9)
    let salvage = try salvage(bytes)
    #expect(frames(salvage) == [sample.offsets[0], sample.offsets[2]])
    #expect(damages(salvage) == [sample.offsets[1]..<sample.offsets[2]])
    #expect(salvage.hashed <= 20 * bytes.count)
  }

  @Test func `places that can't be a header are not hashed at`() throws {
    // Without content, with two lengths that do not fit, with more than there is.
    for (stored, raw): (UInt32, UInt32) in [(0, 0), (8, 9), (.max, .max)] {
      let (sample, crowd) = try crowded(1, stored: stored)
      var bytes = crowd
      for place in stride(from: sample.offsets[1], to: sample.offsets[2] - 8, by: 16) {
        bytes.set(raw, at: place + 8)
      }
      let salvage = try salvage(bytes)
      #expect(frames(salvage) == [sample.offsets[0], sample.offsets[2]], "\(stored)")
      // The two good ones, and little else.
      #expect(salvage.hashed < bytes.count, "\(stored)")
    }
  }

  @Test func `a frame that only a newer version knows is found behind damage`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    var bytes = sample.bytes
    for place in 40..<48 { bytes[sample.offsets[1] + place] ^= 0x5A }
    let newer = sample.offsets[2]
    bytes[newer + 4] = 9
    let seed = FrameFormat.seed(base: Self.header.seedBase, offset: UInt64(newer))
    let stored = Int(bytes.u32(at: newer))
    bytes.set(
      Frame.checksum(bytes, at: newer, storedLength: stored, seed: seed),
      at: newer + FrameFormat.checksumOffset)
    let salvage = try salvage(bytes)
    #expect(frames(salvage) == [sample.offsets[0], newer])
    #expect(damages(salvage) == [sample.offsets[1]..<newer])
  }

  @Test func `what is tried to mend costs no more than the budget`() throws {
    let (_, bytes) = try crowded(1)
    let salvage = try salvage(bytes, budget: 1 << 20)
    #expect(salvage.mended.isEmpty && salvage.budget.budget == 1 << 20)
  }
}
