import CairnBytes

/// A snapshot file: packed blocks, then pages that say where things are, then a description.
///
///     header 128 · block × n · directory pages · index pages · description
///
/// A block: unpacked length u32, stored length u32, XXH3-64 of the stored bytes seeded by the block
/// number and the unpacked length, stored bytes (LZ4, or raw where the two lengths are equal).
///
/// A page: XXH3-64 of its other 4088 bytes seeded by its number, then 4088 bytes. Directory pages
/// hold the blocks' offsets, 8 bytes each. Index pages hold slots of 4 or 8 bytes: a constant hash
/// table over records whose probes never leave a page.
package struct SnapshotHeader: Equatable, Sendable {
  package static let size = 128
  package static let magic: [UInt8] = Array("CAIRNSNP".utf8)
  package static let pageSize = 4096
  package static let pagePayload = 4088
  package static let blockHeaderSize = 16
  package static let blockBytesMax = 80 << 20
  package static let descriptionBytesMax = 64 << 20

  package var datastore: UInt128
  package var blockCount: UInt32 = 0
  package var indexPages: UInt32 = 0
  /// Bits of a locator that are the row within its block.
  package var rowBits: UInt8 = 0
  /// Bits of a locator (block and row, plus one) in a slot; the rest is a tag of the hash.
  package var locatorBits: UInt8 = 0
  /// Bytes of a slot: 4 or 8.
  package var slotBytes: UInt8 = 4
  package var directoryOffset: UInt64 = 0
  package var indexOffset: UInt64 = 0
  package var descriptionOffset: UInt64 = 0
  package var descriptionLength: UInt32 = 0
  package var recordCount: UInt64 = 0

  /// The oldest version that may read it.
  package var floor = FormatVersion.floor

  package init(datastore: UInt128) { self.datastore = datastore }

  package var fileLength: UInt64 { descriptionOffset &+ UInt64(descriptionLength) &+ 8 }
  package var slotsPerPage: Int { SnapshotHeader.pagePayload / Int(slotBytes) }
  package static let offsetsPerPage = pagePayload / 8

  package func encoded() -> [UInt8] {
    var out = SnapshotHeader.magic
    out.put(max(FormatVersion.current, floor))
    out.put(floor)
    out.put(UInt32(0))
    out.put(UInt64(truncatingIfNeeded: datastore))
    out.put(UInt64(truncatingIfNeeded: datastore >> 64))
    out.put(blockCount)
    out.put(indexPages)
    out.append(contentsOf: [rowBits, locatorBits, slotBytes, 0])
    out.put(UInt32(descriptionLength))
    out.put(directoryOffset)
    out.put(indexOffset)
    out.put(descriptionOffset)
    out.put(recordCount)
    out.append(contentsOf: repeatElement(0, count: SnapshotHeader.size - 8 - out.count))
    out.put(XXH3.hash64(out))
    return out
  }

  package init(_ bytes: [UInt8], fileLength: UInt64, path: String) throws(LogError) {
    guard bytes.count >= SnapshotHeader.size else {
      throw LogError(.truncated, path, at: 0, "shorter than a snapshot's header")
    }
    guard Array(bytes[0..<8]) == SnapshotHeader.magic else {
      throw LogError(.foreign, path, at: 0, "not a snapshot")
    }
    guard bytes.u64(at: 120) == XXH3.hash64(bytes, 0..<120) else {
      throw LogError(.corrupt, path, at: 0, "the snapshot's header is damaged")
    }
    try FormatVersion.check(
      floor: bytes.u16(at: 10), path: path, known: FormatVersion.cuts)
    self.init(fields: bytes)
    guard isConsistent(fileLength) else {
      // Of a file that was cut, the header still names a description behind the end.
      throw LogError(
        descriptionOffset > fileLength || self.fileLength > fileLength ? .truncated : .corrupt,
        path, at: 32,
        "the snapshot's parts do not fit its \(fileLength) bytes")
    }
  }

  /// For repairs: the header of a file that may be cut, so that its parts need not be there. Nil
  /// unless its checksum is right.
  init?(salvaging bytes: [UInt8]) {
    guard bytes.count >= SnapshotHeader.size, Array(bytes[0..<8]) == SnapshotHeader.magic,
      bytes.u64(at: 120) == XXH3.hash64(bytes, 0..<120)
    else { return nil }
    self.init(fields: bytes)
    guard isConsistent(self.fileLength) else { return nil }
  }

  private init(fields bytes: [UInt8]) {
    floor = bytes.u16(at: 10)
    datastore = UInt128(bytes.u64(at: 24)) << 64 | UInt128(bytes.u64(at: 16))
    blockCount = bytes.u32(at: 32)
    indexPages = bytes.u32(at: 36)
    rowBits = bytes[40]
    locatorBits = bytes[41]
    slotBytes = bytes[42]
    descriptionLength = bytes.u32(at: 44)
    directoryOffset = bytes.u64(at: 48)
    indexOffset = bytes.u64(at: 56)
    descriptionOffset = bytes.u64(at: 64)
    recordCount = bytes.u64(at: 72)
  }

  private func isConsistent(_ length: UInt64) -> Bool {
    let page = UInt64(SnapshotHeader.pageSize)
    let perPage = UInt64(SnapshotHeader.offsetsPerPage)
    let directoryPages = (UInt64(blockCount) + perPage - 1) / perPage
    return (slotBytes == 4 || slotBytes == 8) && locatorBits <= slotBytes * 8 && rowBits <= 24
      && rowBits < locatorBits && indexPages > 0
      && directoryOffset >= UInt64(SnapshotHeader.size) && directoryOffset <= length
      && indexOffset == directoryOffset &+ directoryPages * page
      && descriptionOffset == indexOffset &+ UInt64(indexPages) * page
      && descriptionLength <= UInt32(SnapshotHeader.descriptionBytesMax) && fileLength == length
      && hasRoom
  }

  /// Whether what it counts can be in a file whose parts are these. A block has a byte at least,
  /// and a row; each row has a slot, and each page a slot that is empty.
  private var hasRoom: Bool {
    let (blocks, pages) = (UInt64(blockCount), UInt64(indexPages))
    let blockBytes = directoryOffset - UInt64(SnapshotHeader.size)
    return blocks * UInt64(SnapshotHeader.blockHeaderSize + 1) <= blockBytes
      && blocks <= recordCount && recordCount <= pages * UInt64(slotsPerPage - 1)
  }

  package static func blockSeed(number: Int, rawLength: Int) -> UInt64 {
    UInt64(number) << 32 | UInt64(rawLength)
  }
}
