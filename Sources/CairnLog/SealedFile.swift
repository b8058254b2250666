package import CairnBytes

/// What the small files that are replaced as a whole have in common:
///
///     eight letters · version u16 · floor u16 · word u32 · the file's own part · XXH3-64 of all
package enum SealedFile {
  package static let headerSize = 16
  package static let sealSize = 8

  /// The beginning of a file; `word` is what it keeps beside its versions: flags, or nothing.
  package static func begin(_ magic: [UInt8], word: UInt32 = 0) -> [UInt8] {
    var out = magic
    out.put(FormatVersion.current)
    out.put(FormatVersion.floor)
    out.put(word)
    return out
  }

  package static func seal(_ out: inout [UInt8]) { out.put(XXH3.hash64(out)) }

  /// Length, magic, checksum, floor, in this order; the reader of the file's own part. `least` is
  /// its size if nothing is in it, `what` the file, `advice` what to do about a damaged
  /// one.
  package static func open(
    _ bytes: [UInt8], magic: [UInt8], least: Int = 0, what: String, path: String,
    advice: String = "restore or remove it"
  ) throws(LogError) -> ByteReader {
    guard bytes.count >= headerSize + least + sealSize else {
      throw LogError(
        .truncated, path, at: UInt64(bytes.count), "too short to be \(what); \(advice)")
    }
    guard bytes[0..<8].elementsEqual(magic) else {
      throw LogError(.foreign, path, at: 0, "not \(what); \(advice)")
    }
    let end = bytes.count - sealSize
    guard bytes.u64(at: end) == XXH3.hash64(bytes, 0..<end) else {
      throw LogError(.corrupt, path, at: 0, "the checksum does not match; \(advice)")
    }
    try FormatVersion.check(floor: bytes.u16(at: 10), path: path)
    return ByteReader(bytes, headerSize..<end)
  }
}
