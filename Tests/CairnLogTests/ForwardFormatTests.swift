import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

/// What a later version may write without raising the floor: another version number, and something
/// where there are zeros now. Nobody here may take that for damage, or refuse it.
struct ForwardFormatTests {
  /// The same with `version` in its header, and with bits in the places that are zero.
  private func later(_ bytes: [UInt8], zeros: [Range<Int>]) -> [UInt8] {
    var result = bytes
    result[8] = 200
    result[9] = 7
    for place in zeros.joined() {
      #expect(bytes[place] == 0, "\(place)")
      result[place] = 0xA5
    }
    return result
  }

  private func seal(_ bytes: inout [UInt8], at place: Int) {
    let checksum = XXH3.hash64(bytes, 0..<place)
    bytes.set(checksum, at: place)
  }

  @Test func `a segment`() throws {
    let sample = try SegmentSample.three(isSynced: true)
    var header = later(SegmentSample.header.encoded(), zeros: [12..<16, 48..<56])
    seal(&header, at: 56)
    #expect(try SegmentHeader(header, path: "") == SegmentSample.header)
    let scan = try SegmentScan(header + sample.bytes[SegmentHeader.size...])
    #expect(try scan.contents == sample.contents && scan.ending == .clean)
  }

  @Test func `a snapshot`() throws {
    let sample = try SnapshotSample()
    let before = try sample.header()
    try sample.change { bytes in
      bytes = later(bytes, zeros: [12..<16, 43..<44, 80..<120])
      seal(&bytes, at: 120)
    }
    let reader = try sample.reader()
    #expect(reader.header == before)
    #expect(try reader.block(1) == sample.blocks[1])
    let salvage = try sample.salvage(budget: 0)
    #expect(salvage.blocks.count == 3 && salvage.lost.isEmpty)
  }

  @Test func `CURRENT`() throws {
    let current = CurrentFileTests.sample
    var bytes = later(current.encoded(), zeros: [])
    seal(&bytes, at: 88)
    #expect(try CurrentFile(bytes, path: "") == current)
  }

  @Test func `a published segment`() throws {
    let segment = PublishedSegment(
      datastore: 0xCA17, device: 7, first: 2, last: 3, chainBefore: 5, chainAfter: 6,
      pack: [UInt8](repeating: 9, count: 400))
    var bytes = later(segment.encoded().bytes, zeros: [96..<104])
    seal(&bytes, at: 104)
    let end = bytes.count - 16
    let hash = XXH3.hash128(bytes, 0..<end)
    bytes.set(UInt64(truncatingIfNeeded: hash), at: end)
    bytes.set(UInt64(truncatingIfNeeded: hash >> 64), at: end + 8)
    let read = try PublishedSegment(bytes, name: "x", datastore: segment.datastore)
    #expect(read == segment)
  }

  @Test func `a reference to a content`() throws {
    let reference = BlobReference(
      length: 5, hash: ContentHash([UInt8](repeating: 7, count: 32), at: 0))
    var bytes = later(reference.encoded(), zeros: [12..<16])
    let end = bytes.count - 8
    seal(&bytes, at: end)
    let read = try #require(BlobReference(bytes))
    #expect(read.isReadable && read.length == 5 && read.hash == reference.hash)
    // It stays as it is: it may say more than this version knows.
    #expect(read.encoded() == bytes)
    #expect(BlobReference.all(in: [1, 2] + bytes + [3]) == [read])
  }
}
