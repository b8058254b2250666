internal import CairnLog

/// cairn.json, written once by the first device: says that this is a folder of ours, which one, and
/// what readers must know.
enum FolderIdentity {
  static let bytesMax = 4096

  static func encode(_ identity: UInt128) -> [UInt8] {
    let text = """
      {"cairn":"shared folder","identity":"\(FileName.hex(identity))","floor":\
      \(FormatVersion.floor)}

      """
    return Array(text.utf8)
  }

  /// The identity in a file's bytes.
  static func decode(_ bytes: [UInt8], path: String) throws(LogError) -> UInt128 {
    guard let text = String(validating: bytes, as: UTF8.self),
      let identity = value("\"identity\":\"", in: text), identity.utf8.count == 32,
      let number = UInt128(identity, radix: 16),
      let floor = value("\"floor\":", in: text).flatMap({ UInt16($0) })
    else {
      throw LogError(
        .corrupt, path, at: 0,
        "it does not say which folder this is; restore the file or choose another folder")
    }
    try FormatVersion.check(floor: floor, path: path)
    return number
  }

  /// What follows a key, up to a quote, a comma or a brace. The file has one form; no more than
  /// that is understood.
  private static func value(_ key: String, in text: String) -> String? {
    let bytes = Array(text.utf8)
    let wanted = Array(key.utf8)
    guard bytes.count > wanted.count else { return nil }
    for start in 0..<(bytes.count - wanted.count)
    where Array(bytes[start..<(start + wanted.count)]) == wanted {
      let rest = bytes[(start + wanted.count)...].prefix {
        $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "}")
      }
      return String(validating: rest, as: UTF8.self)
    }
    return nil
  }
}
