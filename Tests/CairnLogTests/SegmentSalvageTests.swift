import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

/// What can be had of segments of which parts are spoilt.
struct SegmentSalvageTests {
  private static let header = SegmentSample.header

  private func salvage(
    _ bytes: [UInt8], devices: [UInt64] = [], number: UInt64 = 1, budget: UInt64 = 40 << 30
  ) -> SegmentSalvage? {
    SegmentSalvage(
      bytes, datastore: Self.header.datastore, devices: devices, number: number,
      mend: BitMend(budget: budget))
  }

  private func frames(_ salvage: SegmentSalvage?) -> [Int] {
    salvage?.parts.compactMap { part in
      if case .frame(let frame) = part { frame.offset } else { nil }
    } ?? []
  }

  private func damages(_ salvage: SegmentSalvage?) -> [Range<Int>] {
    salvage?.parts.compactMap { part in
      if case .damage(let range) = part { range } else { nil }
    } ?? []
  }

  @Test func `a header is not needed if it is known whose segment it may be`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    var bytes = sample.bytes
    for place in 8..<56 { bytes[place] ^= 0x11 }
    let salvage = salvage(bytes, devices: [5, Self.header.device])
    #expect(salvage?.isHeaderDamaged == true)
    #expect(frames(salvage) == sample.offsets)
    #expect(self.salvage(bytes, devices: [5]) == nil)
    #expect(self.salvage(bytes, devices: [Self.header.device], number: 2) == nil)
  }

  @Test func `a segment under another's number says itself whose it is`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    let salvage = salvage(sample.bytes, number: 9)
    #expect(salvage?.isHeaderDamaged == false)
    #expect(frames(salvage) == sample.offsets)
  }

  @Test func `frames behind another segment's header are found by whose they may be`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    var other = Self.header
    (other.device, other.number) = (5, 9)
    let bytes = other.encoded() + sample.bytes[SegmentHeader.size...]
    let salvage = salvage(bytes, devices: [5, Self.header.device])
    #expect(salvage?.isHeaderDamaged == false)
    #expect(frames(salvage) == sample.offsets)
  }

  @Test func `frames behind another datastore's header are found by whose they may be`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    var other = Self.header
    (other.datastore, other.device) = (0xBAD, 5)
    let bytes = other.encoded() + sample.bytes[SegmentHeader.size...]
    #expect(frames(salvage(bytes, devices: [Self.header.device])) == sample.offsets)
  }

  @Test func `a header alone holds nothing`() throws {
    // Room that nobody used is no damage.
    for bytes in [try SegmentSample().bytes, try SegmentSample().file] {
      let salvage = try #require(self.salvage(bytes))
      #expect(salvage.parts.isEmpty && !salvage.isSealed && !salvage.isHeaderDamaged)
      #expect(salvage.end == SegmentHeader.size)
    }
    for bytes in [[], [UInt8](repeating: 0, count: 4096), Array(Self.header.encoded()[..<40])] {
      #expect(salvage(bytes, devices: [Self.header.device]) == nil)
    }
  }

  @Test func `of another datastore's segment nothing is taken`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    for number: UInt64 in [1, 2] {
      let salvage = SegmentSalvage(
        sample.bytes, datastore: 0xBAD, devices: [5, Self.header.device], number: number,
        mend: BitMend())
      #expect(salvage == nil)
    }
  }

  @Test func `what is too short for a frame is damage`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    let salvage = salvage(sample.bytes + [1, 2, 3, 4, 5, 6, 7, 8])
    #expect(frames(salvage) == sample.offsets)
    #expect(damages(salvage) == [sample.segment.end..<sample.segment.end + 8])
  }

  @Test func `a bit of a frame's header is mended`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    var bytes = sample.bytes
    bytes[sample.offsets[1] + 24] ^= 4
    let mended = salvage(bytes)
    #expect(mended?.mended == [sample.offsets[1]])
    #expect(mended?.bytes == sample.bytes)
    let left = mended?.budget.budget ?? 0
    #expect(left > 0 && left < 40 << 30)
    let broke = salvage(bytes, budget: 0)
    #expect(damages(broke) == [sample.offsets[1]..<sample.offsets[2]])
  }

  @Test func `a bit of a frame's content is mended`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    var bytes = sample.bytes
    bytes[sample.offsets[1] + FrameFormat.headerSize] ^= 8
    let mended = salvage(bytes)
    #expect(mended?.mended == [sample.offsets[1]])
    #expect(frames(mended) == sample.offsets)
    #expect(mended?.bytes == sample.bytes)
    // Two bits of one frame are more than that.
    bytes[sample.offsets[1] + FrameFormat.headerSize] ^= 1
    let left = salvage(bytes)
    #expect(left?.mended == [])
    #expect(damages(left) == [sample.offsets[1]..<sample.offsets[2]])
  }

  @Test func `a length that reaches into the next frame is not believed`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    var bytes = sample.bytes
    bytes.set(UInt32(80), at: sample.offsets[0])
    bytes[sample.offsets[0] + 24] ^= 4
    let salvage = salvage(bytes)
    #expect(frames(salvage) == Array(sample.offsets[1...]))
    #expect(damages(salvage) == [sample.offsets[0]..<sample.offsets[1]])
  }

  @Test func `content whose checksum alone is lost can be looked at`() throws {
    var sample = try SegmentSample()
    let text = Array(String(repeating: "the same again ", count: 40).utf8)
    try sample.append(text, durableThrough: sample.segment.end)
    try sample.append([1, 2, 3], durableThrough: sample.segment.end)
    var bytes = sample.bytes
    for place in 32..<36 { bytes[sample.offsets[0] + place] ^= 0x21 }
    let salvage = try #require(self.salvage(bytes))
    let damage = try #require(damages(salvage).first)
    #expect(salvage.suspect(damage) == text)
    #expect(salvage.suspectSequence(damage) == 1)
    // What does not unpack is no suspect.
    for place in 40..<damage.count { bytes[damage.lowerBound + place] = 0xFF }
    let worse = try #require(self.salvage(bytes))
    let still = try #require(damages(worse).first)
    #expect(worse.suspect(still) == nil)
  }
}
