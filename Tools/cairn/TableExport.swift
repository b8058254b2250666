import Cairn
import CairnToolText

/// The text of a table: the same bytes for the same records.
struct TableExport {
  let records: [Record]
  /// Name of the column that holds the id.
  let key: String

  func jsonLines() throws -> [UInt8] {
    var bytes: [UInt8] = []
    var progress = Progress("export")
    for (index, record) in records.enumerated() {
      progress.update(index, of: records.count)
      let fields = try record.fields
      try checkKey(fields.keys)
      let id = JSON.Member(name: key, value: .string(record.id.description))
      JSON.object([id] + JSON.members(fields)).append(to: &bytes)
      bytes.append(UInt8(ascii: "\n"))
    }
    progress.end()
    return bytes
  }

  /// One column for each field that any record has.
  func csv() throws -> [UInt8] {
    var names: Set<String> = []
    for record in records { names.formUnion(try record.fields.keys) }
    try checkKey(names)
    let columns = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    var bytes: [UInt8] = []
    appendRow([key] + columns, to: &bytes) { Self.quote($0, into: &$1) }
    var progress = Progress("export")
    for (index, record) in records.enumerated() {
      progress.update(index, of: records.count)
      let fields = try record.fields
      let cells = [Value.string(record.id.description)] + columns.map { fields[$0] }
      appendRow(cells, to: &bytes) { cell, bytes in
        if let cell { Self.append(cell, to: &bytes) }
      }
    }
    progress.end()
    return bytes
  }

  private func appendRow<Cell>(
    _ cells: [Cell], to bytes: inout [UInt8], _ append: (Cell, inout [UInt8]) -> Void
  ) {
    for (index, cell) in cells.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      append(cell, &bytes)
    }
    bytes.append(UInt8(ascii: "\n"))
  }

  private static func append(_ value: Value, to bytes: inout [UInt8]) {
    switch value {
    case .string(let text): quote(text, into: &bytes)
    case .bool, .int: value.json.append(to: &bytes)
    case .double(let number) where number.isFinite: value.json.append(to: &bytes)
    default: quote(value.json.text, into: &bytes)
    }
  }

  private static func quote(_ text: String, into bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\"") { bytes.append(byte) }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private func checkKey(_ names: some Sequence<String>) throws {
    guard names.contains(key) else { return }
    throw ToolError.usage("a field is named \(key), too: choose another --key for the id")
  }
}
