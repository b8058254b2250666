import CairnBytes
import CairnLog
import TestSupport
import Testing

/// Files of version 1 are read for ever, and this version writes the same bytes.
struct GoldenLogTests {
  private static let large: [UInt8] = Array(
    (0..<120).map { "line \($0 / 3) of a text that packs well\n" }.joined().utf8)

  @Test func `CURRENT`() throws {
    let current = CurrentFileTests.sample
    let bytes = try GoldenFile.bytes("current.bin", written: current.encoded())
    #expect(bytes == current.encoded())
    #expect(try CurrentFile(bytes, path: "current.bin") == current)
  }

  @Test func `an active segment`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    let bytes = try GoldenFile.bytes("active.seg", written: sample.bytes)
    #expect(bytes == sample.bytes)
    let scan = try SegmentScan(bytes)
    #expect(try scan.contents == sample.contents)
    #expect(scan.ending == .clean)
  }

  @Test func `a sealed segment`() throws {
    var sample = try SegmentSample.three(isSynced: true)
    let chain = try sample.segment.seal()
    let bytes = try GoldenFile.bytes("sealed.seg", written: sample.file)
    #expect(bytes == sample.file)
    let scan = try SegmentScan(bytes)
    #expect(try scan.contents == sample.contents)
    #expect(scan.ending == .sealed && scan.footer?.chain == chain)
  }

  /// What LZ4 makes may differ from one version of it to the next; what it means may not.
  @Test func `a packed frame`() throws {
    var sample = try SegmentSample()
    try sample.append(Self.large)
    let bytes = try GoldenFile.bytes("packed.seg", written: sample.bytes)
    let scan = try SegmentScan(bytes)
    #expect(try scan.contents == sample.contents)
    #expect(scan.frames.map(\.flags) == [FrameFormat.flagPacked])
  }

  @Test(arguments: [
    ("published.seg", Array("a pack, they say".utf8)), ("published-packed.seg", large),
  ])
  func `a published segment`(file: String, pack: [UInt8]) throws {
    let segment = PublishedSegment(
      datastore: SegmentSample.header.datastore, device: SegmentSample.header.device, first: 3,
      last: 9, chainBefore: 77, chainAfter: PublishedSegment.chain(77, pack), pack: pack)
    let bytes = try GoldenFile.bytes(file, written: segment.encoded().bytes)
    if pack.count < 64 { #expect(bytes == segment.encoded().bytes) }
    let read = try PublishedSegment(bytes, name: file, datastore: segment.datastore)
    #expect(read == segment)
  }
}
