/// Base 64 with `+`, `/` and padding (RFC 4648): how bytes are written in JSON.
package enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var bits: UInt32 = 0
      for byte in group { bits = bits << 8 | UInt32(byte) }
      bits <<= 8 * UInt32(3 - group.count)
      for place in 0..<4 {
        let sextet = Int(bits >> (18 - 6 * UInt32(place)) & 63)
        text.append(place <= group.count ? alphabet[sextet] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Nil unless the text is exactly what `encode` writes for some bytes.
  package static func decode(_ text: String) -> [UInt8]? {
    let characters = Array(text.utf8)
    guard characters.count.isMultiple(of: 4) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(characters.count / 4 * 3)
    for start in stride(from: 0, to: characters.count, by: 4) {
      let group = characters[start..<start + 4]
      let body = group.prefix { $0 != UInt8(ascii: "=") }
      let last = start + 4 == characters.count
      guard body.count == 4 || (last && body.count >= 2) else { return nil }
      guard group.dropFirst(body.count).allSatisfy({ $0 == UInt8(ascii: "=") }) else { return nil }
      var bits: UInt32 = 0
      for character in body {
        guard let sextet = value(character) else { return nil }
        bits = bits << 6 | sextet
      }
      bits <<= 6 * UInt32(4 - body.count)
      for place in 0..<body.count - 1 {
        bytes.append(UInt8(truncatingIfNeeded: bits >> (16 - 8 * UInt32(place))))
      }
    }
    return encode(bytes) == text ? bytes : nil
  }

  private static func value(_ character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
