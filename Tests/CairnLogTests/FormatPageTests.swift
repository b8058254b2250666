import CairnBytes
import CairnLog
import TestSupport
import Testing

/// The worked examples of FORMAT.md are what the code writes and reads.
struct FormatPageTests {
  private static let datastore: UInt128 = 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100
  private static let device: UInt64 = 0x8877_6655_4433_2211

  @Test func `CURRENT`() throws {
    let bytes = try FormatPage.example("current")
    let current = CurrentFile(
      flags: CurrentFile.flagLinked, datastore: Self.datastore, device: Self.device, snapshot: 3,
      firstSegment: 7, firstKept: 5)
    #expect(current.encoded() == bytes)
    #expect(try CurrentFile(bytes, path: "CURRENT") == current)
  }

  @Test func `an active segment with one delta`() throws {
    let bytes = try FormatPage.example("segment")
    let delta = try FormatPage.example("delta")
    var sample = try SegmentSample()
    try sample.append(delta)
    #expect(sample.bytes == bytes)
    let scan = try SegmentScan(bytes)
    #expect(scan.header == SegmentSample.header)
    #expect(scan.ending == .clean)
    #expect(try scan.contents == sample.contents)
  }

  @Test func `a published segment`() throws {
    let bytes = try FormatPage.example("published")
    let pack = try FormatPage.example("pack")
    let segment = PublishedSegment(
      datastore: Self.datastore, device: Self.device, first: 1, last: 2, chainBefore: 0,
      chainAfter: UInt128(bytes.u64(at: 88)) << 64 | UInt128(bytes.u64(at: 80)), pack: pack)
    let (written, name) = segment.encoded()
    #expect(written == bytes)
    #expect(try PublishedSegment(bytes, name: name, datastore: Self.datastore) == segment)
    let page = String(decoding: try ProjectFile.bytes("Sources/CairnLog/FORMAT.md"), as: UTF8.self)
    #expect(page.contains(name))
  }

  @Test func `an example that is not there is a mistake of the page`() {
    #expect(throws: FormatPage.Mistake.self) { try FormatPage.example("nothing") }
  }
}
