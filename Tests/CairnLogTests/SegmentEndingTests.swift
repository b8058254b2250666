import CairnBytes
import CairnLog
import TestSupport
import Testing

/// A clean end, a torn tail and corruption are three things, and each damage is one of them.
struct SegmentEndingTests {
  @Test(arguments: [true, false])
  func `all frames are found, and the end is clean`(isSynced: Bool) throws {
    let sample = try SegmentSample.three(isSynced: isSynced)
    for bytes in [sample.bytes, sample.file] {
      let scan = try SegmentScan(bytes)
      #expect(scan.header == SegmentSample.header)
      #expect(scan.ending == .clean)
      #expect(try scan.contents == sample.contents)
      #expect(scan.frames.map(\.offset) == sample.offsets)
      #expect(scan.end == sample.segment.end)
      #expect(scan.footer == nil)
    }
  }

  @Test func `an empty segment ends behind its header`() throws {
    let sample = try SegmentSample()
    let scan = try SegmentScan(sample.file)
    #expect(scan.ending == .clean && scan.frames.isEmpty && scan.end == SegmentHeader.size)
  }

  @Test func `every truncation is a clean end or a torn tail`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    let ends = sample.offsets + [sample.segment.end]
    for length in 0..<SegmentHeader.size {
      #expect(logFailure { _ = try SegmentScan(Array(sample.bytes[..<length])) } == .truncated)
    }
    let textEnds =
      [SegmentHeader.size]
      + zip(sample.offsets, sample.contents).map {
        $0 + FrameFormat.headerSize + $1.payload.count
      }
    for length in SegmentHeader.size...sample.segment.end {
      let cut = Array(sample.bytes[..<length])
      // A file that was cut, and one where the rest of the room was never written: there the zeros
      // that pad a frame are as good as its own.
      for isCut in [true, false] {
        let bytes = isCut ? cut : cut + [UInt8](repeating: 0, count: 700)
        let whole = (isCut ? ends : textEnds).lastIndex { $0 <= length } ?? 0
        let scan = try SegmentScan(bytes)
        #expect(try scan.contents == Array(sample.contents[..<whole]), "\(length) bytes")
        let rest = sample.bytes[ends[whole]..<max(length, ends[whole])]
        let torn = rest.lastIndex { $0 != 0 }.map { $0 + 1 - ends[whole] }
        #expect(scan.ending == torn.map { .torn(bytes: $0) } ?? .clean, "\(length) bytes")
        #expect(scan.end == ends[whole])
      }
    }
  }

  @Test(arguments: [true, false])
  func `a flipped bit is never silent`(isSynced: Bool) throws {
    let sample = try SegmentSample.three(isSynced: isSynced)
    for bit in 0..<(sample.bytes.count * 8) {
      let bytes = sample.bytes.flipping(bit: bit)
      guard bit / 8 >= SegmentHeader.size else {
        #expect(logFailure { _ = try SegmentScan(bytes) } == (bit / 8 < 8 ? .foreign : .corrupt))
        continue
      }
      let hit = sample.offsets.lastIndex { $0 <= bit / 8 } ?? 0
      let scan = try SegmentScan(bytes)
      let found = try scan.contents
      if found == sample.contents {
        // Only the padding between frames holds nothing, no byte of a header.
        let end = sample.offsets[hit] + FrameFormat.headerSize + sample.contents[hit].payload.count
        #expect(bit / 8 >= end && scan.ending == .clean, "bit \(bit)")
        continue
      }
      #expect(found == Array(sample.contents[..<hit]), "bit \(bit)")
      let isVouchedFor = isSynced && hit < sample.contents.count - 1
      #expect(isVouchedFor ? scan.isCorrupt : scan.isTorn, "bit \(bit)")
    }
  }

  @Test func `a hole that a later frame vouches for is corruption`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    var bytes = sample.file
    for index in sample.offsets[1]..<sample.offsets[2] { bytes[index] = 0 }
    let scan = try SegmentScan(bytes)
    #expect(scan.ending == .corrupt(end: sample.offsets[2]))
    #expect(try scan.contents == Array(sample.contents[..<1]))
  }

  @Test func `a hole that nobody vouches for is a torn tail, good frames behind it included`()
    throws
  {
    let sample = try SegmentSample.three(isSynced: false)
    var bytes = sample.file
    for index in sample.offsets[1]..<sample.offsets[2] { bytes[index] = 0 }
    let scan = try SegmentScan(bytes)
    #expect(scan.isTorn)
    #expect(scan.end == sample.offsets[1])
    #expect(try scan.contents == Array(sample.contents[..<1]))
  }

  @Test func `a frame vouches for no more than what it says`() throws {
    var sample = try SegmentSample()
    for count in [20, 30, 25] { try sample.append([UInt8](repeating: 3, count: count)) }
    // The first frame was durable when the fourth was written; the second was not.
    try sample.append([4, 4, 4], durableThrough: sample.offsets[1])
    var second = sample.bytes
    second[sample.offsets[1] + 45] ^= 1
    #expect(try SegmentScan(second).isTorn)
    var first = sample.bytes
    first[sample.offsets[0] + 45] ^= 1
    #expect(try SegmentScan(first).ending == .corrupt(end: sample.offsets[3]))
  }

  @Test func `garbage behind the last frame is a torn tail`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    let random = SeededRandom(11)
    let ones = [UInt8](repeating: 0xFF, count: 600)
    for tail in [ones, random.bytes(1), random.bytes(40), random.bytes(9_000)] {
      for gap in [0, 5, 8, 64] {
        let bytes = sample.bytes + [UInt8](repeating: 0, count: gap) + tail
        let scan = try SegmentScan(bytes)
        #expect(try scan.contents == sample.contents)
        #expect(scan.ending == .torn(bytes: gap + tail.count))
      }
    }
  }

  /// Many a number looks like the header of a frame, and once so many did that no store opened.
  @Test(arguments: [100, 400], [1 << 20, 50_000])
  func `a torn tail that is full of small numbers is one`(kibibytes: Int, bound: Int) throws {
    let sample = try SegmentSample.three(isSynced: true)
    let (size, start) = (UInt32(kibibytes << 10), sample.segment.end)
    for seed in 1...3 as ClosedRange<UInt64> {
      let random = SeededRandom(seed)
      var bytes = sample.bytes
      bytes.put(size)
      bytes.append(contentsOf: [FrameKind.delta.rawValue, 0, 0, 0])
      bytes.put(size)
      bytes.put(UInt32(start))
      bytes.put(SegmentSample.header.device)
      bytes.put(UInt64(sample.contents.count + 1))
      // No frame has this checksum.
      bytes.put(UInt64(0))
      for _ in 0..<(kibibytes << 8) { bytes.put(UInt32(random.below(bound))) }
      let end = (bytes.lastIndex { $0 != 0 } ?? 0) + 1
      // A store reserves room ahead of what it writes.
      bytes += [UInt8](repeating: 0, count: 1 << 20)
      let scan = try SegmentScan(bytes)
      #expect(scan.ending == .torn(bytes: end - start), "seed \(seed)")
      #expect(try scan.contents == sample.contents)
    }
  }

  @Test(.timeLimit(.minutes(20)))
  func `places that look like frames by the thousand are not all hashed`() throws {
    // Every eighth byte starts what could be the header of a long frame that vouches for what is
    // damaged: hashed at each, the file would take hours. No good frame does, so that the search
    // gets there.
    let sample = try SegmentSample.three(isSynced: false)
    var bytes = sample.bytes
    bytes[SegmentHeader.size] ^= 1
    for _ in 0..<1_000_000 { bytes += [0x00, 0x00, 0x10, 0x00, 0x01, 0x01, 0x00, 0x00] }
    guard case .corrupt(let end) = try SegmentScan(bytes).ending else {
      Issue.record("it is taken for what a crash leaves")
      return
    }
    // It gave up among those places, and soon.
    let start = sample.segment.end
    #expect(end > start && end < start + 8_000)
  }

  @Test(.timeLimit(.minutes(20)))
  func `forged headers that vouch for a hole are not hashed without end`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    let through = sample.segment.end + 8
    var bytes = sample.bytes
    // A megabyte behind each, of which each says that it was there when it was written.
    let header: [UInt8] = [
      0, 0, 16, 0, 1, 0, 0, 0, 0, 0, 16, 0, UInt8(through & 0xFF), UInt8(through >> 8), 0, 0,
    ]
    while bytes.count < 32 << 20 { bytes += header }
    let scan = try SegmentScan(bytes)
    #expect(scan.isCorrupt && scan.frames.count == sample.contents.count)
  }
}
