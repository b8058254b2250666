internal import CairnBytes
internal import CairnLog

/// What small files that are replaced as a whole have in common: eight letters, version u16, floor
/// u16, four bytes, and at the end XXH3-64 of all before.
enum SmallFile {
  private static let leastSize = 24

  /// Length, magic, checksum, floor, in this order.
  static func check(
    _ bytes: [UInt8], magic: [UInt8], what: String, path: String
  ) throws(LogError) {
    guard bytes.count >= leastSize else {
      throw LogError(
        .truncated, path, at: UInt64(bytes.count), "too short for \(what); restore or remove it")
    }
    guard Array(bytes[0..<8]) == magic else {
      throw LogError(.foreign, path, at: 0, "no file of \(what); restore or remove it")
    }
    guard bytes.u64(at: bytes.count - 8) == XXH3.hash64(bytes, 0..<(bytes.count - 8)) else {
      throw LogError(.corrupt, path, at: 0, "the checksum does not match; restore or remove it")
    }
    try FormatVersion.check(floor: bytes.u16(at: 10), path: path)
  }
}
