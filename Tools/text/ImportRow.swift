package import Cairn

/// One row of the input, checked by itself: what a table is going to hold.
package struct ImportRow {
  /// Where the row begins in the input.
  package var offset: Int
  /// Nil asks for a generated id.
  package var id: String?
  package var fields: [String: Value]
  /// Named by the row, but without a value: removed from a record that has them.
  package var absent: [String]
}

/// The rows of an input, one after another.
package protocol RowReader {
  mutating func next() throws(SyntaxError) -> ImportRow?
}

/// The column that holds the record's id when no other is named. No field can have that name.
package let idColumn = "$id"

private let nameRule =
  "1 to 64 of the characters A-Z a-z 0-9 - . _ + / =, or a colon and up to 63 of these"

extension RowReader {
  func checkedID(_ id: String, at offset: Int) throws(SyntaxError) -> String {
    guard RecordID.isValid(id) else {
      throw SyntaxError(offset: offset, message: "the id of a record is \(nameRule)")
    }
    return id
  }

  func checkFieldName(_ name: String, at offset: Int) throws(SyntaxError) {
    guard Table.isValidField(name) else {
      throw SyntaxError(offset: offset, message: "the name of a field is \(nameRule)")
    }
  }
}
