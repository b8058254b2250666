import Cairn

/// The rows of a CSV file whose first line names the columns.
///
/// A cell in quotes is a string; a bare one is a number, a boolean or a string (`ScalarText`). An
/// empty cell is an absent field; with `keepsEmpty`, as in what `export` has written with a column
/// `$id`, only a bare one is, and `""` is a string.
package struct CSVRows: RowReader {
  private var parser: CSVParser
  private let columns: [String]
  private let keyColumn: Int?
  private let keepsEmpty: Bool

  /// Reads the header. The column `key` (or one named `$id`) becomes the id, not a field.
  package init(_ bytes: [UInt8], key: String?, keepsEmpty: Bool?) throws(SyntaxError) {
    parser = CSVParser(bytes)
    guard let header = try parser.next() else {
      throw SyntaxError(offset: 0, message: "the line that names the columns is missing")
    }
    columns = header.cells.map(\.text)
    keyColumn = columns.firstIndex(of: key ?? idColumn)
    // Nobody else has a column of that name: what went out comes back as it was.
    self.keepsEmpty = keepsEmpty ?? columns.contains(idColumn)
    if let key, keyColumn == nil {
      throw SyntaxError(
        offset: header.offset, message: "no column is named \(JSON.string(key).text)")
    }
    var seen: Set<String> = []
    for (index, cell) in header.cells.enumerated() {
      guard seen.insert(cell.text).inserted else {
        throw SyntaxError(offset: cell.offset, message: "two columns have this name")
      }
      if index != keyColumn { try checkFieldName(cell.text, at: cell.offset) }
    }
  }

  package mutating func next() throws(SyntaxError) -> ImportRow? {
    guard let source = try parser.next() else { return nil }
    guard source.cells.count == columns.count else {
      throw SyntaxError(
        offset: source.offset,
        message: "\(counted(source.cells.count, "cell")), but the header names "
          + counted(columns.count, "column"))
    }
    var row = ImportRow(offset: source.offset, id: nil, fields: [:], absent: [])
    row.fields.reserveCapacity(columns.count)
    for (index, cell) in source.cells.enumerated() {
      if index == keyColumn {
        row.id = try checkedID(cell.text, at: cell.offset)
      } else if let value = value(cell) {
        row.fields[columns[index]] = value
      } else {
        row.absent.append(columns[index])
      }
    }
    return row
  }

  private func value(_ cell: CSVParser.Cell) -> Value? {
    if cell.text.isEmpty { return cell.isQuoted && keepsEmpty ? .string("") : nil }
    return cell.isQuoted ? .string(cell.text) : ScalarText.value(cell.text)
  }
}
