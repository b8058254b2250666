import Cairn

/// The rows of a file with one JSON object a line. A member that is null is an absent field, one
/// that isn't there leaves the field of an existing record alone.
package struct JSONRows: RowReader {
  private let bytes: [UInt8]
  private let key: String
  private let needsKey: Bool
  private var position: Int

  /// The member `key` (or one named `$id`) becomes the id, not a field.
  package init(_ bytes: [UInt8], key: String?) {
    self.bytes = bytes
    self.key = key ?? idColumn
    needsKey = key != nil
    position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
  }

  package mutating func next() throws(SyntaxError) -> ImportRow? {
    while position < bytes.count {
      let end = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      let line = position..<end
      position = min(end + 1, bytes.count)
      if bytes[line].allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
      return try row(JSONParser.parse(bytes, in: line), line)
    }
    return nil
  }

  private func row(_ json: JSON, _ line: Range<Int>) throws(SyntaxError) -> ImportRow {
    guard case .object(let members) = json else {
      throw SyntaxError(
        offset: line.lowerBound, message: "each line is a JSON object, but this is \(json.kind)")
    }
    var row = ImportRow(offset: line.lowerBound, id: nil, fields: [:], absent: [])
    row.fields.reserveCapacity(members.count)
    for member in members {
      if member.name == key {
        row.id = try checkedID(idText(member), at: member.offset)
        continue
      }
      try checkFieldName(member.name, at: member.offset)
      if let value = try value(member) {
        row.fields[member.name] = value
      } else {
        row.absent.append(member.name)
      }
    }
    if needsKey, row.id == nil {
      throw SyntaxError(
        offset: line.lowerBound, message: "the key \(JSON.string(key).text) is missing")
    }
    return row
  }

  private func idText(_ member: JSON.Member) throws(SyntaxError) -> String {
    switch member.value {
    case .string(let text): return text
    case .int(let number): return String(number)
    default:
      throw SyntaxError(
        offset: member.offset,
        message: "the id of a record is a string or an integer, not \(member.value.kind)")
    }
  }

  private func value(_ member: JSON.Member) throws(SyntaxError) -> Value? {
    do {
      return try Value.from(member.value)
    } catch {
      throw SyntaxError(
        offset: member.offset, message: "field \(JSON.string(member.name).text): \(error.message)")
    }
  }
}
