internal import Cairn
internal import CairnDisk
internal import Crypto

/// Names of what a document's record has besides the document's own members. They begin with a
/// colon, and a member whose name does so is never a field: so nothing can be taken for another.
enum DocumentField {
  /// The revision that is held.
  static let revision = ":rev"
  /// The id, if it can't be the id of a record.
  static let id = ":id"
  /// The leaves of the document's tree, if there are several: to notice when others come.
  static let leaves = ":leaves"
  /// How many revisions lost to the one that is held.
  static let conflicts = ":conflicts"
  /// What the fields can't hold, and in which order the members are.
  static let json = ":json"
  /// In so many pieces is what would be in `json`, in the table of parts.
  static let parts = ":parts"
  /// It has attachments.
  static let attachments = ":attachments"
}

/// The ids of records.
enum DocumentID {
  private static let mark = "="

  /// The id of a document's record: its own if it can be one.
  static func record(_ id: String) -> String {
    if RecordID.isValid(id), !id.hasPrefix(":"), !id.hasPrefix(mark) { return id }
    return mark + hash(id)
  }

  static func attachment(_ document: String, _ name: String) -> String {
    hash(document + "\0" + name)
  }

  /// Of all parts of one revision, before their numbers.
  static func parts(_ document: String, _ revision: String) -> String {
    hash(document + "\0" + revision) + "."
  }

  /// 43 characters that may be in any id.
  static func hash(_ text: String) -> String {
    var bytes: [UInt8] = []
    bytes.append(contentsOf: SHA256.hash(data: Array(text.utf8)))
    let letters = Array(
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var out: [UInt8] = []
    var (word, bits): (UInt32, UInt32) = (0, 0)
    for byte in bytes {
      word = (word << 8 | UInt32(byte)) & 0xFFFF
      bits += 8
      while bits >= 6 {
        bits -= 6
        out.append(letters[Int(word >> bits & 63)])
      }
    }
    if bits > 0 { out.append(letters[Int(word << (6 - bits) & 63)]) }
    return String(decoding: out, as: UTF8.self)
  }
}
