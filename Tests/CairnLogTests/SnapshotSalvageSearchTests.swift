import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

/// How a salvage finds the blocks of a snapshot whose lengths, offsets or counts are wrong.
struct SnapshotSalvageSearchTests {
  private func contents(_ salvage: SnapshotSalvage) -> [Int: [UInt8]] {
    var result: [Int: [UInt8]] = [:]
    for place in salvage.blocks { result[place.number] = salvage.content(place) }
    return result
  }

  @Test func `of another datastore's snapshot nothing is taken`() throws {
    let sample = try SnapshotSample()
    func salvage(_ datastore: UInt128) throws -> SnapshotSalvage {
      try SnapshotSalvage(
        SnapshotSample.path, disk: sample.disk, datastore: datastore, mend: BitMend())
    }
    #expect(try !salvage(SegmentSample.header.datastore).isForeign)
    // Also if a bit of the header is wrong.
    for bit: UInt8 in [0, 1] {
      try sample.change { $0[20] ^= bit }
      let other = try salvage(0xBAD)
      #expect(other.isForeign && other.header != nil)
      #expect(other.blocks.isEmpty && other.lost.isEmpty && other.description == nil)
    }
    #expect(sample.disk.openFiles == 0)
  }

  // MARK: lengths

  @Test func `a bit of a block's lengths is mended`() throws {
    let sample = try SnapshotSample(loose: 1)
    let bytes = sample.bytes
    for block in 0..<3 {
      let start = try sample.offset(of: block)
      for bit in 0..<64 {
        try sample.change { $0 = bytes.flipping(bit: start * 8 + bit) }
        let salvage = try sample.salvage()
        #expect(salvage.lost.isEmpty && salvage.mended.keys.sorted() == [block], "\(bit)")
        #expect(contents(salvage)[block] == sample.blocks[block], "block \(block), bit \(bit)")
      }
      try sample.change { $0 = bytes }
    }
  }

  @Test func `without a directory a bit of the unpacked length is mended`() throws {
    let sample = try SnapshotSample()
    let pages = Int(try sample.header().directoryOffset)
    let start = try sample.offset(of: 1)
    try sample.change { $0[pages + 20] ^= 0xFF }
    let bytes = sample.bytes
    for bit in 0..<32 {
      try sample.change { $0 = bytes.flipping(bit: start * 8 + bit) }
      let salvage = try sample.salvage()
      #expect(salvage.lost.isEmpty && salvage.mended.keys.sorted() == [1], "\(bit)")
      #expect(contents(salvage)[1] == sample.blocks[1], "\(bit)")
    }
  }

  // MARK: offsets

  /// From byte 20 on its lengths are right, from byte 0 on nothing is.
  @Test(arguments: [20, 0])
  func `a damaged block among those whose offsets are lost takes no other with it`(
    from: Int
  ) throws {
    let sample = try SnapshotSample(blocks: 600)
    let start = try sample.offset(of: 5)
    let pages = Int(try sample.header().directoryOffset)
    try sample.change { bytes in
      bytes[pages + 20] ^= 0xFF
      for place in from..<40 { bytes[start + place] ^= 0x5A }
    }
    let salvage = try sample.salvage(budget: 0)
    #expect(salvage.blocks.map(\.number) == Array(0..<5) + Array(6..<600))
    #expect(salvage.lost.map(\.number) == [5])
    #expect(salvage.lost.first?.range.lowerBound == UInt64(start))
    #expect(contents(salvage)[6] == sample.blocks[6])
    #expect(contents(salvage)[599] == sample.blocks[599])
    #expect(salvage.description == SnapshotSample.description)
  }

  /// Those behind the last that a page knows of.
  @Test func `blocks behind the damaged ones whose offsets are known are found`() throws {
    let sample = try SnapshotSample(blocks: 600)
    let starts = try (508..<511).map { try sample.offset(of: $0) }
    let pages = Int(try sample.header().directoryOffset)
    try sample.change { bytes in
      bytes[pages + SnapshotHeader.pageSize + 20] ^= 0xFF
      for start in starts { for place in 0..<40 { bytes[start + place] ^= 0x5A } }
    }
    let salvage = try sample.salvage(budget: 0)
    #expect(salvage.blocks.map(\.number) == Array(0..<508) + Array(511..<600))
    #expect(salvage.lost.map(\.number) == [508, 509, 510])
  }

  @Test func `offsets that do not ascend within the file are not followed`() throws {
    let sample = try SnapshotSample()
    let third = try sample.offset(of: 2)
    let pages = Int(try sample.header().directoryOffset)
    for bent in [third + 8, pages - 1, pages + 5000, 0, 128] {
      try sample.change { bytes in
        bytes.set(UInt64(bent), at: pages + 16)
        let page = Array(bytes[pages..<(pages + SnapshotHeader.pageSize)])
        bytes.set(XXH3.hash64(page, 8..<page.count, seed: 0), at: pages)
      }
      let salvage = try sample.salvage(budget: 0)
      #expect(contents(salvage).count == 3 && salvage.lost.isEmpty, "\(bent)")
      // With damage on top of that.
      try sample.change { for place in 20..<40 { $0[third + place] ^= 0x5A } }
      let less = try sample.salvage(budget: 0)
      #expect(less.blocks.map(\.number) == [0, 1] && less.lost.map(\.number) == [2], "\(bent)")
      try sample.change { for place in 20..<40 { $0[third + place] ^= 0x5A } }
    }
  }

  // MARK: counts

  @Test func `blocks that a header counts and no file has room for are named once`() throws {
    let sample = try SnapshotSample()
    let count = 4_000_000_000
    var header = SnapshotHeader(datastore: SegmentSample.header.datastore)
    header.blockCount = UInt32(count)
    header.recordCount = UInt64(count)
    header.indexPages = 8_000_000
    (header.rowBits, header.locatorBits, header.slotBytes) = (1, 40, 8)
    header.directoryOffset = UInt64(128 + count * 17)
    header.indexOffset = header.directoryOffset + UInt64((count + 510) / 511 * 4096)
    header.descriptionOffset = header.indexOffset + UInt64(header.indexPages) * 4096
    let bytes = header.encoded()
    try sample.change { $0 = bytes }
    let salvage = try sample.salvage(budget: 0)
    #expect(salvage.header == header && salvage.blocks.isEmpty && salvage.blockCount == count)
    #expect(salvage.lost.map(\.number) == [0] && salvage.lost.first?.count == count)
    #expect(salvage.lost.first?.range == 128..<header.directoryOffset)
  }

  @Test func `blocks behind the end of a file that was cut are named once`() throws {
    let sample = try SnapshotSample(blocks: 50)
    let cut = try sample.offset(of: 20) + 10
    try sample.change { $0.removeLast($0.count - cut) }
    let salvage = try sample.salvage(budget: 0)
    #expect(salvage.blocks.map(\.number) == Array(0..<20))
    #expect(salvage.lost.map(\.number) == [20] && salvage.lost.first?.count == 30)
  }
}
