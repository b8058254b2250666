internal import Cairn

/// Rows from keys and values, as a cdb file has them: the key is the record's id, the value a JSON
/// object with its fields, or the value of one field. Offsets count rows.
package struct KeyedRows: RowReader {
  /// A key with its value.
  package struct Pair: Sendable {
    package var key: [UInt8]
    package var value: [UInt8]

    package init(key: [UInt8], value: [UInt8]) {
      self.key = key
      self.value = value
    }
  }

  private let pairs: [Pair]
  /// The field that values are put into; nil if they are JSON.
  private let field: String?
  private var position = 0

  package init(_ pairs: [Pair], field: String?) {
    self.pairs = pairs
    self.field = field
  }

  package mutating func next() throws(SyntaxError) -> ImportRow? {
    guard position < pairs.count else { return nil }
    let pair = pairs[position]
    defer { position += 1 }
    guard let id = String(validating: pair.key, as: UTF8.self) else {
      throw SyntaxError(offset: position, message: "the key is no text, so no record's id")
    }
    var row = ImportRow(
      offset: position, id: try checkedID(id, at: position), fields: [:], absent: [])
    if let field {
      try checkFieldName(field, at: position)
      let text = String(validating: pair.value, as: UTF8.self)
      row.fields[field] = text.map { .string($0) } ?? .bytes(pair.value)
      return row
    }
    try read(pair.value, into: &row)
    return row
  }

  private func read(_ value: [UInt8], into row: inout ImportRow) throws(SyntaxError) {
    let json: JSON
    do { json = try JSONParser.parse(value) } catch {
      throw SyntaxError(
        offset: position, message: "byte \(error.offset) of the value: \(error.message)")
    }
    guard case .object(let members) = json else {
      throw SyntaxError(
        offset: position, message: "a value is a JSON object, but this is \(json.kind)")
    }
    for member in members {
      try checkFieldName(member.name, at: position)
      do {
        if let value = try Value.from(member.value) {
          row.fields[member.name] = value
        } else {
          row.absent.append(member.name)
        }
      } catch {
        throw SyntaxError(
          offset: position, message: "field \(JSON.string(member.name).text): \(error.message)")
      }
    }
  }
}
