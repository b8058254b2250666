/// 16 bytes as 22 characters of URL-safe base64 without padding, and back.
/// The two words are the bytes in big-endian order, so that both sort alike.
package enum Base64ID {
  package static let length = 22

  package static func encode(_ high: UInt64, _ low: UInt64) -> String {
    let bits = UInt128(high) << 64 | UInt128(low)
    return unsafe String(unsafeUninitializedCapacity: length) { out in
      for i in 0..<21 {
        let six = UInt8(truncatingIfNeeded: bits >> UInt128(122 - 6 * i)) & 63
        unsafe out[i] = character(six)
      }
      unsafe out[21] = character(UInt8(truncatingIfNeeded: bits << 4) & 63)
      return length
    }
  }

  /// The first eight characters, the first one highest.
  static func prefix(_ high: UInt64) -> UInt64 {
    var result: UInt64 = 0
    for index in 0..<8 {
      let six = UInt8(truncatingIfNeeded: high >> UInt64(58 - 6 * index)) & 63
      result = result << 8 | UInt64(character(six))
    }
    return result
  }

  /// nil unless `text` is exactly what `encode` makes.
  package static func decode(_ text: String) -> (high: UInt64, low: UInt64)? {
    let characters = text.utf8
    guard characters.count == length else { return nil }
    var bits: UInt128 = 0
    var index = 0
    for code in characters {
      let six = value(code)
      guard six < 64 else { return nil }
      if index < 21 {
        bits = bits << 6 | UInt128(six)
      } else {
        guard six & 15 == 0 else { return nil }
        bits = bits << 2 | UInt128(six >> 4)
      }
      index += 1
    }
    return (UInt64(truncatingIfNeeded: bits >> 64), UInt64(truncatingIfNeeded: bits))
  }

  private static func character(_ six: UInt8) -> UInt8 {
    switch six {
    case 0..<26: 65 + six
    case 26..<52: 71 + six
    case 52..<62: six - 4
    case 62: 45
    default: 95
    }
  }

  private static func value(_ code: UInt8) -> UInt8 {
    switch code {
    case 65...90: code - 65
    case 97...122: code - 71
    case 48...57: code + 4
    case 45: 62
    case 95: 63
    default: 255
    }
  }
}
