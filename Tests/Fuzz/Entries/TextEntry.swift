import CairnFuzzBytes
import CairnToolText

/// `form u8 · text`: CSV and JSON lines as `cairn import` reads them.
enum TextEntry {
  static func run(_ bytes: [UInt8]) throws {
    guard let form = bytes.first else { return }
    let text = Array(bytes.dropFirst())
    let key = form & 4 == 0 ? nil : "k"
    switch form & 3 {
    case 0: read(try? CSVRows(text, key: key, keepsEmpty: form & 8 != 0 ? true : nil))
    case 1: read(JSONRows(text, key: key))
    default: try value(text)
    }
  }

  private static func read(_ rows: (some RowReader)?) {
    guard var rows else { return }
    while let row = try? rows.next() {
      for (_, value) in row.fields { _ = value.json.text }
    }
  }

  /// What is read and written is read again as the same.
  private static func value(_ text: [UInt8]) throws {
    guard let json = try? JSONParser.parse(text) else { return }
    let written = json.text
    guard let again = try? JSONParser.parse(Array(written.utf8)) else {
      throw FuzzFinding("JSON that was read and written can't be read: \(written)")
    }
    try FuzzFinding.check(again.text == written, "JSON that changes: \(written)")
  }
}
