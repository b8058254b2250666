import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

struct SegmentSealTests {
  private func sealed(
    _ previous: UInt128 = 0, isSynced: Bool = true
  ) throws -> (SegmentSample, chain: UInt128) {
    var sample = try SegmentSample(previousChain: previous)
    for count in [12, 40] {
      try sample.append(
        [UInt8](repeating: 7, count: count), durableThrough: sample.segment.end)
    }
    let durable = isSynced ? sample.segment.end : 0
    return (sample, try sample.segment.seal(durableThrough: durable))
  }

  @Test func `a sealed segment says what it holds, and its trailer where`() throws {
    let (sample, chain) = try sealed(77)
    let bytes = sample.file
    let scan = try SegmentScan(bytes)
    #expect(scan.ending == .sealed)
    #expect(try scan.contents == sample.contents)
    let footer = try #require(scan.footer)
    #expect(footer.items.map { Int($0.offset) } == sample.offsets)
    #expect(footer.items.map(\.sequence) == [1, 2])
    #expect(footer.previous == 77)
    #expect(footer.content == XXH3.hash128(bytes, 0..<scan.end))
    #expect(footer.chain == chain)
    #expect(Array(bytes.suffix(8)) == Array("CAIRNEND".utf8))
    #expect(bytes.u64(at: bytes.count - 16) == UInt64(scan.end))
  }

  @Test func `a footer's outline is that of a whole footer`() throws {
    let footer = try #require(try SegmentScan(sealed(77).0.file).footer)
    let device = SegmentSample.header.device
    let outline = try SegmentFooter.outline(footer.encoded(), of: device)
    #expect(outline.lastOwn == 2 && outline.chain == footer.chain)
    #expect(try SegmentFooter.outline(footer.encoded(), of: device + 1).lastOwn == 0)
    #expect(throws: DecodeError.malformed("bytes after a segment's footer")) {
      try SegmentFooter.outline(footer.encoded() + [0], of: device)
    }
  }

  @Test func `a chain tells other segments before it`() throws {
    let (_, first) = try sealed(0)
    let (_, second) = try sealed(1)
    #expect(first != second)
  }

  @Test func `a segment without frames can be sealed`() throws {
    var sample = try SegmentSample()
    _ = try sample.segment.seal()
    let scan = try SegmentScan(sample.file)
    #expect(scan.ending == .sealed)
    #expect(scan.items.isEmpty)
  }

  @Test func `no footer is written that is longer than a frame may be`() throws {
    let sample = try SegmentSample()
    let item = SegmentFooter.Item(
      device: SegmentSample.header.device, sequence: 1, offset: UInt32(SegmentHeader.size))
    let most = (FrameFormat.rawBytesMax - 64) / 20
    #expect(ActiveSegment.framesMax < most)
    let before = sample.file
    for count in [ActiveSegment.framesMax - 1, ActiveSegment.framesMax, most + 4] {
      var segment = ActiveSegment(
        header: SegmentSample.header, file: sample.segment.file, end: SegmentHeader.size,
        allocated: before.count, items: Array(repeating: item, count: count), previousChain: 0)
      #expect(segment.isCrowded == (count >= ActiveSegment.framesMax))
      if count <= most { continue }
      let error = #expect(throws: LogError.self) { try segment.seal() }
      #expect(error?.reason == .limit)
      #expect(sample.file == before && segment.end == SegmentHeader.size)
    }
  }

  @Test func `a seal that was interrupted anywhere leaves all frames`() throws {
    let (sample, _) = try sealed()
    let bytes = sample.file
    let start = try SegmentScan(bytes).end
    for length in start..<bytes.count {
      let cut = Array(bytes[..<length])
      for torn in [cut, cut + [UInt8](repeating: 0, count: 300)] {
        let scan = try SegmentScan(torn)
        #expect(try scan.contents == sample.contents)
        #expect(scan.end == start)
        #expect(scan.footer == nil, "not sealed, so it can grow on")
        #expect(length == start ? scan.ending == .clean : scan.isTorn, "\(length) bytes")
      }
    }
  }

  @Test func `a seal whose file was not cut yet is a seal`() throws {
    let (sample, _) = try sealed()
    let scan = try SegmentScan(sample.file + [UInt8](repeating: 0, count: 500))
    #expect(scan.ending == .sealed)
    #expect(try SegmentScan(sample.file + [1]).isTorn)
  }

  @Test func `a flipped bit in a sealed segment is never silent`() throws {
    let (sample, _) = try sealed()
    let bytes = sample.file
    let start = try SegmentScan(bytes).end
    for bit in 0..<(bytes.count * 8) {
      // An error is the answer to damage in the header, and to padding that the seal covers.
      guard let scan = try? SegmentScan(bytes.flipping(bit: bit)) else { continue }
      let found = try scan.contents
      #expect(found == Array(sample.contents[..<found.count]))
      switch scan.ending {
      case .sealed, .torn: #expect(bit / 8 >= start && found == sample.contents, "bit \(bit)")
      case .corrupt: #expect(bit / 8 < start && found.count < 2, "bit \(bit)")
      case .clean: Issue.record("bit \(bit) made a clean end of a sealed segment")
      }
    }
  }

  @Test func `a seal that may have reached the disk before the frames vouches for none`() throws {
    let (sample, _) = try sealed(isSynced: false)
    var bytes = sample.file
    bytes[sample.offsets[1] + 50] ^= 1
    let scan = try SegmentScan(bytes)
    #expect(scan.isTorn && scan.end == sample.offsets[1])
    let (synced, _) = try sealed()
    bytes = synced.file
    bytes[synced.offsets[1] + 50] ^= 1
    #expect(try SegmentScan(bytes).isCorrupt)
  }

  @Test func `a footer that lies is damage`() throws {
    let (sample, _) = try sealed()
    let scan = try SegmentScan(sample.file)
    let footer = try #require(scan.footer)
    func forged(_ footer: SegmentFooter) throws -> [UInt8] {
      var forged = try SegmentSample()
      for content in sample.contents {
        try forged.append(content.payload, durableThrough: content.durableThrough)
      }
      try forged.segment.append(
        .seal, device: SegmentSample.header.device, sequence: 0, payload: footer.encoded(),
        durableThrough: 0)
      return forged.file
    }
    // Of one that tells the truth nothing but the trailer is missing.
    #expect(try SegmentScan(forged(footer)).isTorn)
    var lie = footer
    lie.items[1].offset += 8
    let bytes = try forged(lie)
    #expect(logFailure { _ = try SegmentScan(bytes) } == .corrupt)
  }

  @Test func `a footer is read whole or not at all`() throws {
    let (sample, _) = try sealed()
    let footer = try #require(try SegmentScan(sample.file).footer)
    let bytes = footer.encoded()
    #expect(try SegmentFooter(bytes) == footer)
    for length in 0..<bytes.count {
      #expect(throws: DecodeError.self) { try SegmentFooter(Array(bytes[..<length])) }
    }
    #expect(throws: DecodeError.self) { try SegmentFooter(bytes + [0]) }
  }
}
