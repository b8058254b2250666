import CairnBytes
import CairnLog
import TestSupport
import Testing

/// A frame verifies where it was written and nowhere else.
struct SegmentPlaceTests {
  private func frames(_ sample: SegmentSample) -> [[UInt8]] {
    let ends = sample.offsets.dropFirst() + [sample.segment.end]
    return zip(sample.offsets, ends).map { Array(sample.bytes[$0..<$1]) }
  }

  private func equal() throws -> SegmentSample {
    var sample = try SegmentSample()
    for value: UInt8 in 1...3 { try sample.append([UInt8](repeating: value, count: 24)) }
    return sample
  }

  @Test func `frames that were swapped do not verify`() throws {
    let sample = try equal()
    let parts = frames(sample)
    let header = Array(sample.bytes[..<SegmentHeader.size])
    for order in [[1, 0, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0]] {
      let scan = try SegmentScan(header + order.flatMap { parts[$0] })
      let same = order.prefix { order[$0] == $0 }.count
      #expect(try scan.contents == Array(sample.contents[..<same]))
      #expect(scan.ending != .clean)
    }
  }

  @Test func `frames that were removed or doubled do not verify`() throws {
    let sample = try equal()
    let parts = frames(sample)
    let header = Array(sample.bytes[..<SegmentHeader.size])
    let removed = try SegmentScan(header + parts[0] + parts[2])
    #expect(try removed.contents == Array(sample.contents[..<1]))
    #expect(removed.isTorn)
    let doubled = try SegmentScan(header + parts[0] + parts[0] + parts[1])
    #expect(try doubled.contents == Array(sample.contents[..<1]))
    #expect(doubled.isTorn)
  }

  @Test func `a frame verifies at no other offset`() throws {
    let sample = try equal()
    let frame = frames(sample)[1]
    let base = sample.segment.header.seedBase
    for offset in stride(from: 0, through: 4_096, by: 8) {
      let bytes = [UInt8](repeating: 0, count: offset) + frame
      let isFound = Frame(bytes, at: offset, seedBase: base) != nil
      #expect(isFound == (offset == sample.offsets[1]))
    }
  }

  @Test(arguments: [
    SegmentHeader(datastore: 1, device: SegmentSample.header.device, number: 1),
    SegmentHeader(datastore: SegmentSample.header.datastore, device: 5, number: 1),
    SegmentHeader(
      datastore: SegmentSample.header.datastore, device: SegmentSample.header.device, number: 2),
  ])
  func `frames of another datastore, device or segment do not verify`(other: SegmentHeader) throws {
    let sample = try equal()
    // An old file's frames under a new header: what a recycled block of the disk may show.
    let scan = try SegmentScan(other.encoded() + sample.bytes[SegmentHeader.size...])
    #expect(scan.frames.isEmpty)
    #expect(scan.isTorn)
  }

  @Test func `a frame inside a value is not found when what is around it is damaged`() throws {
    let inner = try SegmentSample.three(isSynced: true)
    var sample = try SegmentSample()
    try sample.append([1, 2, 3])
    // Noise behind it: what can be packed would not lie there as it is.
    try sample.append(inner.bytes + SeededRandom(6).bytes(20_000))
    var bytes = sample.bytes
    let start = sample.offsets[1] + FrameFormat.headerSize
    #expect(Array(bytes[start..<start + inner.bytes.count]) == inner.bytes)
    bytes[sample.offsets[1] + 1] ^= 4
    let scan = try SegmentScan(bytes)
    #expect(scan.frames.count == 1)
    #expect(scan.isTorn)
  }

  @Test func `an unknown kind of frame is found and left to the caller`() throws {
    let sample = try forged(kind: 9, flags: 0)
    let scan = try SegmentScan(sample)
    #expect(scan.frames.map(\.kind) == [9])
    #expect(scan.ending == .clean)
  }

  @Test func `unknown flags need a newer version`() throws {
    let scan = try SegmentScan(try forged(kind: 1, flags: 2))
    #expect(scan.frames.count == 1)
    let frame = try #require(scan.frames.first)
    #expect(throws: DecodeError.newer("unknown frame flags")) { try frame.payload(scan.bytes) }
  }

  /// A segment of one frame, as a later version might write it.
  private func forged(kind: UInt8, flags: UInt8) throws -> [UInt8] {
    var sample = try SegmentSample()
    try sample.append([1, 2, 3, 4, 5, 6, 7, 8])
    var bytes = sample.bytes
    let offset = sample.offsets[0]
    bytes[offset + 4] = kind
    bytes[offset + 5] = flags
    let sum = Frame.checksum(
      bytes, at: offset, storedLength: 8,
      seed: FrameFormat.seed(base: sample.segment.header.seedBase, offset: UInt64(offset)))
    bytes.set(sum, at: offset + FrameFormat.checksumOffset)
    return bytes
  }
}
