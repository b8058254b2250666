import CairnBytes

/// An immutable file of one device's deltas, as it lies in the shared folder.
///
///     0  "CAIRNPUB"   8  version u16   10  floor u16   12  flags u32 (1: LZ4)
///     16  datastore u128   32  device u64   40  first u64   48  last u64
///     56  unpacked length u32   60  stored length u32
///     64  chain before u128   80  chain after u128   96  zero × 8   104  XXH3-64 of 0..<104
///     112  stored bytes   then XXH3-128 of all before it (also in the file's name)
package struct PublishedSegment: Equatable, Sendable {
  package static let headerSize = 112
  package static let magic: [UInt8] = Array("CAIRNPUB".utf8)
  package static let flagPacked: UInt32 = 1
  /// Unpacked bytes of one file.
  package static let rawBytesMax = 64 << 20
  /// A whole file: raw bytes that LZ4 can't shrink, and what is around them.
  package static let fileBytesMax = rawBytesMax + 4096

  package var datastore: UInt128
  package var device: UInt64
  package var first: UInt64
  package var last: UInt64
  /// A hash of the device's history up to here, and up to the end; what it is made of is none of
  /// this module's business.
  package var chainBefore: UInt128
  package var chainAfter: UInt128
  /// The pack, unpacked.
  package var pack: [UInt8]
  /// The oldest version that may read it.
  package var floor = FormatVersion.floor

  package init(
    datastore: UInt128, device: UInt64, first: UInt64, last: UInt64, chainBefore: UInt128,
    chainAfter: UInt128, pack: [UInt8]
  ) {
    self.datastore = datastore
    self.device = device
    self.first = first
    self.last = last
    self.chainBefore = chainBefore
    self.chainAfter = chainAfter
    self.pack = pack
  }

  private static func put(_ hash: UInt128, into out: inout [UInt8]) {
    out.put(UInt64(truncatingIfNeeded: hash))
    out.put(UInt64(truncatingIfNeeded: hash >> 64))
  }

  /// The file's bytes and its name.
  package func encoded() -> (bytes: [UInt8], name: String) {
    var out = PublishedSegment.magic
    out.reserveCapacity(pack.count / 2 + 256)
    var body: [UInt8] = []
    let packed = LZ4.pack(pack, 0..<pack.count, into: &body)
    out.put(max(FormatVersion.current, floor))
    out.put(floor)
    out.put(packed ? PublishedSegment.flagPacked : 0)
    PublishedSegment.put(datastore, into: &out)
    out.put(device)
    out.put(first)
    out.put(last)
    out.put(UInt32(pack.count))
    out.put(UInt32(packed ? body.count : pack.count))
    PublishedSegment.put(chainBefore, into: &out)
    PublishedSegment.put(chainAfter, into: &out)
    out.put(UInt64(0))
    out.put(XXH3.hash64(out))
    out.append(contentsOf: packed ? body : pack)
    let hash = XXH3.hash128(out)
    PublishedSegment.put(hash, into: &out)
    let name = FileName.Published(device: device, first: first, last: last, hash: hash)
    return (out, FileName.published(name))
  }

  /// Checks length, checksums, then structure. `name` is where the bytes came from, for messages.
  package init(_ bytes: [UInt8], name: String, datastore expected: UInt128) throws(LogError) {
    let size = PublishedSegment.headerSize
    guard bytes.count > size + 16 else {
      throw LogError(.truncated, name, at: UInt64(bytes.count), "shorter than a segment can be")
    }
    guard Array(bytes[0..<8]) == PublishedSegment.magic else {
      throw LogError(.foreign, name, at: 0, "not a published segment")
    }
    guard bytes.u64(at: 104) == XXH3.hash64(bytes, 0..<104) else {
      throw LogError(.corrupt, name, at: 0, "the header is damaged")
    }
    floor = bytes.u16(at: 10)
    try FormatVersion.check(floor: floor, path: name, known: FormatVersion.cuts)
    let rawLength = Int(bytes.u32(at: 56))
    let storedLength = Int(bytes.u32(at: 60))
    guard bytes.count == size + storedLength + 16 else {
      throw LogError(
        bytes.count < size + storedLength + 16 ? .truncated : .corrupt, name,
        at: UInt64(bytes.count), "\(bytes.count) bytes, not \(size + storedLength + 16)")
    }
    let hash = PublishedSegment.hash(bytes, at: bytes.count - 16)
    guard hash == XXH3.hash128(bytes, 0..<(bytes.count - 16)) else {
      throw LogError(.corrupt, name, at: UInt64(size), "the checksum does not match")
    }
    guard rawLength <= PublishedSegment.rawBytesMax else {
      throw LogError(.limit, name, at: 56, "declares \(rawLength) unpacked bytes")
    }
    datastore = PublishedSegment.hash(bytes, at: 16)
    guard datastore == expected else {
      throw LogError(.foreign, name, at: 16, "it belongs to another datastore")
    }
    device = bytes.u64(at: 32)
    first = bytes.u64(at: 40)
    last = bytes.u64(at: 48)
    chainBefore = PublishedSegment.hash(bytes, at: 64)
    chainAfter = PublishedSegment.hash(bytes, at: 80)
    guard device != 0, first > 0, last >= first else {
      throw LogError(.corrupt, name, at: 40, "an impossible range")
    }
    // It would be taken for another history of its device, by everybody.
    guard first > 1 || chainBefore == 0 else {
      throw LogError(.corrupt, name, at: 64, "a chain before the first delta")
    }
    let stored = size..<(size + storedLength)
    let flags = bytes.u32(at: 12)
    guard flags & ~PublishedSegment.flagPacked == 0 else {
      throw LogError(.newer("unknown flags"), name, at: 12, "the segment")
    }
    if flags == 0 {
      pack = Array(bytes[stored])
    } else {
      do { pack = try LZ4.unpack(bytes, stored, count: rawLength) } catch {
        throw LogError(error, name, at: UInt64(size), "the segment's body")
      }
    }
    guard pack.count == rawLength else {
      throw LogError(.corrupt, name, at: 56, "the unpacked length is wrong")
    }
  }

  private static func hash(_ bytes: [UInt8], at offset: Int) -> UInt128 {
    UInt128(bytes.u64(at: offset + 8)) << 64 | UInt128(bytes.u64(at: offset))
  }
}
