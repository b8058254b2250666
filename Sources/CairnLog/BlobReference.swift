package import CairnBytes

/// What a record says of a blob: which content, and how long it is. 64 bytes, kept as a value of
/// bytes, so that whoever does not know blobs carries it unread.
///
///     "CAIRNREF" · version u16 · floor u16 · zero u32 · length u64 · SHA-256 of the content ·
///     XXH3-64 of everything before
package struct BlobReference: Hashable, Sendable {
  package static let magic: [UInt8] = Array("CAIRNREF".utf8)
  package static let size = 64
  /// The longest reference of a newer version that is still known for one.
  private static let sizeMax = 4096
  /// No content is longer.
  package static let lengthMax: UInt64 = 1 << 48

  /// Bytes of the content. 0 if only a newer version can tell.
  package let length: UInt64
  /// What the content is. All zeros if only a newer version can tell.
  package let hash: ContentHash
  /// The whole reference, if it takes a newer version to read it.
  package let newer: [UInt8]?

  package init(length: UInt64, hash: ContentHash) {
    self.init(length: length, hash: hash, newer: nil)
  }

  private init(length: UInt64, hash: ContentHash, newer: [UInt8]?) {
    self.length = length
    self.hash = hash
    self.newer = newer
  }

  /// The reference that a value of bytes is; nil for all other bytes. They are somebody's data, and
  /// whoever makes them look like a reference has made one.
  @inline(__always)
  package init?(_ bytes: [UInt8]) {
    guard bytes.count >= BlobReference.size, bytes[0] == UInt8(ascii: "C") else { return nil }
    self.init(checking: bytes)
  }

  private init?(checking bytes: [UInt8]) {
    let end = bytes.count - 8
    guard bytes.count <= BlobReference.sizeMax, bytes.starts(with: BlobReference.magic),
      bytes.u64(at: end) == XXH3.hash64(bytes, 0..<end)
    else { return nil }
    if bytes.u16(at: 10) > FormatVersion.floor {
      let none = ContentHash([UInt8](repeating: 0, count: 32), at: 0)
      self.init(length: 0, hash: none, newer: bytes)
      return
    }
    let length = bytes.u64(at: 16)
    guard length <= BlobReference.lengthMax else { return nil }
    // It may say more than this version knows: that has to stay.
    let known = BlobReference(length: length, hash: ContentHash(bytes, at: 24))
    self.init(
      length: length, hash: known.hash, newer: known.encoded() == bytes ? nil : bytes)
  }

  /// Whether this version can tell what it refers to.
  package var isReadable: Bool {
    guard let newer else { return true }
    return newer.u16(at: 10) <= FormatVersion.floor
  }

  /// As it is kept in a record; one of a newer version byte for byte as it was.
  package func encoded() -> [UInt8] {
    if let newer { return newer }
    var out = SealedFile.begin(BlobReference.magic)
    out.put(length)
    out += hash.bytes
    SealedFile.seal(&out)
    return out
  }

  /// Whether there are references in what others have encoded, of whatever version.
  package static func occurs(in bytes: [UInt8]) -> Bool {
    bytes.firstIndex(ofWord: magic.u64(at: 0), from: 0) != nil
  }

  /// The references that lie anywhere in some bytes: in what others have encoded.
  package static func all(in bytes: [UInt8]) -> [BlobReference] {
    var result: [BlobReference] = []
    var seen: Set<BlobReference> = []
    let start = magic.u64(at: 0)
    var place = 0
    while let next = bytes.firstIndex(ofWord: start, from: place), next + size <= bytes.count {
      place = next + 1
      // Those of newer versions have another length: they are found by nobody here.
      guard let found = BlobReference([UInt8](bytes[next..<(next + size)])), found.isReadable else {
        continue
      }
      place = next + size
      if seen.insert(found).inserted { result.append(found) }
    }
    return result
  }
}
