internal import CairnBytes
package import CairnLog

/// cairn.json, written once by the first device: says that this is a folder of ours, which one, and
/// what readers must know.
package enum FolderIdentity {
  static let bytesMax = 4096
  private static let checkKey = ",\"check\":\""

  package static func encode(_ identity: UInt128) -> [UInt8] {
    let text = """
      {"cairn":"shared folder","identity":"\(FileName.hex(identity))","floor":\
      \(FormatVersion.floor)
      """
    return Array((text + checkKey + FileName.hex(XXH3.hash64(text)) + "\"}\n").utf8)
  }

  /// The identity in a file's bytes.
  package static func decode(_ bytes: [UInt8], path: String) throws(LogError) -> UInt128 {
    guard let identity = value("\"identity\":\"", in: bytes), identity.utf8.count == 32,
      identity.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }),
      let number = UInt128(identity, radix: 16),
      let floor = value("\"floor\":", in: bytes).flatMap({ UInt16($0) }), isWhole(bytes)
    else {
      throw LogError(
        .corrupt, path, at: 0,
        "it does not say which folder this is; restore the file or choose another folder")
    }
    try FormatVersion.check(floor: floor, path: path)
    return number
  }

  /// The hash of all before the check is there. Files of the first version have no check.
  private static func isWhole(_ bytes: [UInt8]) -> Bool {
    guard let end = start(of: checkKey, in: bytes) else { return true }
    return value(checkKey, in: bytes) == FileName.hex(XXH3.hash64(bytes, 0..<end))
  }

  /// What follows a key, up to a quote, a comma or a brace. The file has one form; no more than
  /// that is understood.
  private static func value(_ key: String, in bytes: [UInt8]) -> String? {
    guard let start = start(of: key, in: bytes) else { return nil }
    let rest = bytes[(start + key.utf8.count)...].prefix {
      $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "}")
    }
    return String(validating: rest, as: UTF8.self)
  }

  private static func start(of key: String, in bytes: [UInt8]) -> Int? {
    let wanted = Array(key.utf8)
    guard bytes.count > wanted.count else { return nil }
    return (0..<(bytes.count - wanted.count)).first {
      bytes.equal($0..<($0 + wanted.count), wanted, 0..<wanted.count)
    }
  }
}
