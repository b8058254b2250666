/// The hash function of cdb: h = (33 h) xor byte, from 5381 on.
enum CDBHash {
  static let start: UInt64 = 5381

  /// In 64 bits. Nothing moves downwards in it, so its low half is the hash in 32 bits.
  @inline(__always)
  static func full(_ key: Span<UInt8>) -> UInt64 {
    var hash = start
    for index in key.indices { hash = ((hash << 5) &+ hash) ^ UInt64(key[index]) }
    return hash
  }

  /// The same for a part of an array.
  static func full(_ bytes: [UInt8], _ range: Range<Int>) -> UInt64 {
    var hash = start
    for index in range { hash = ((hash << 5) &+ hash) ^ UInt64(bytes[index]) }
    return hash
  }
}
