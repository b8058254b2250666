/// One installation's copy of one datastore: a random number, never used again after a restore.
///
/// Zero is kept for `Stamp.settled` and belongs to no device.
@frozen
@usableFromInline
package struct DeviceID: RawRepresentable, Hashable, Sendable {
  @usableFromInline package var rawValue: UInt64

  @inlinable
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  @inlinable
  package static func == (a: DeviceID, b: DeviceID) -> Bool { a.rawValue == b.rawValue }

  /// Reads exactly what `description` writes: 16 lower-case hexadecimal digits.
  package init?(hex: String) {
    guard hex.utf8.count == 16 else { return nil }
    var value: UInt64 = 0
    for byte in hex.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        value = value << 4 | UInt64(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"):
        value = value << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
      default:
        return nil
      }
    }
    rawValue = value
  }
}

extension DeviceID: Comparable {
  @inlinable
  package static func < (a: DeviceID, b: DeviceID) -> Bool { a.rawValue < b.rawValue }
}

extension DeviceID: CustomStringConvertible {
  @usableFromInline package var description: String {
    let digits = String(rawValue, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
