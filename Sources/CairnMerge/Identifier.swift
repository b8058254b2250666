/// The grammars of ids. A leading colon marks what the library keeps for itself.
package enum Identifier {
  package static let maximumLength = 64

  /// A private or a shareable datastore id.
  package static func isValidDatastore(_ id: String) -> Bool {
    isValidPrivate(id) || isValidShareable(id)
  }

  /// `[a-z0-9_-]([a-z0-9._-]{0,62}[a-z0-9_-])?`: lower case, no dot first or last.
  package static func isValidPrivate(_ id: String) -> Bool {
    let bytes = id.utf8
    guard let first = bytes.first, let last = bytes.last, bytes.count <= maximumLength else {
      return false
    }
    let dot = UInt8(ascii: ".")
    return first != dot && last != dot
      && bytes.allSatisfy { isLower($0) || isDigit($0) || isDash($0) || $0 == dot }
  }

  /// `\.[-_A-Za-z0-9]{1,63}`: a dot and then base 64 for names.
  package static func isValidShareable(_ id: String) -> Bool {
    let bytes = id.utf8
    return bytes.first == UInt8(ascii: ".") && bytes.count > 1 && bytes.count <= maximumLength
      && bytes.dropFirst().allSatisfy {
        isLower($0) || isUpper($0) || isDigit($0) || isDash($0)
      }
  }

  package static func isValidTable(_ id: String) -> Bool { isName(id) }
  package static func isValidRecord(_ id: String) -> Bool { isName(id) }
  package static func isValidField(_ id: String) -> Bool { isName(id) }

  package static func isReserved(_ id: String) -> Bool {
    id.utf8.first == UInt8(ascii: ":")
  }

  /// `[-._+/=A-Za-z0-9]{1,64}`, or a colon and up to 63 of these.
  private static func isName(_ id: String) -> Bool {
    guard id.utf8.count <= maximumLength else { return false }
    var length = 0
    var isFirst = true
    for byte in id.utf8 {
      if !isFirst || byte != UInt8(ascii: ":") {
        guard
          isLower(byte) || isUpper(byte) || isDigit(byte) || isDash(byte) || isPunctuation(byte)
        else { return false }
        length += 1
      }
      isFirst = false
    }
    return length > 0
  }

  private static func isLower(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
  }

  private static func isUpper(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }

  private static func isDash(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }

  private static func isPunctuation(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "."), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): true
    default: false
    }
  }
}
