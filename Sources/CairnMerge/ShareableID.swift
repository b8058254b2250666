/// Ids of datastores that others can be given access to: unique without anybody to ask.
package enum ShareableID {
  /// A dot and 32 random bytes: 44 characters that nobody makes twice.
  package static func make(_ random: [UInt8]) -> String { "." + dbase64(random) }

  /// URL-safe base64 without padding.
  package static func dbase64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var result: [UInt8] = []
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        result.append(alphabet[Int(bits >> count & 63)])
      }
      bits &= (1 << count) - 1
    }
    if count > 0 { result.append(alphabet[Int(bits << (6 - count) & 63)]) }
    return String(decoding: result, as: UTF8.self)
  }
}
