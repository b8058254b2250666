import Cairn
import CairnToolText

extension JSON {
  /// Fields in the order of their names.
  static func members(_ fields: [String: Cairn.Value]) -> [Member] {
    fields.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      .map { Member(name: $0.key, value: $0.value.json) }
  }
}

extension Record {
  func json() throws -> JSON {
    ["id": .string(id.description), "fields": .object(JSON.members(try fields))]
  }
}

/// The fields for a reader: `name=value`, values as JSON.
func fieldTexts(_ record: Record) throws -> [String] {
  JSON.members(try record.fields).map { "\($0.name)=\($0.value.text)" }
}

/// A table that has records; commands that read from none end with "not found".
func existingTable(_ id: String, of datastore: Datastore) throws -> Table {
  let table = try datastore.table(id)
  guard try table.count > 0 else {
    throw ToolError.notFound("the datastore \(datastore.id) has no table \(id)")
  }
  return table
}

/// A record that exists.
func existingRecord(_ id: String, of table: Table) throws -> Record {
  guard let record = try table.record(RecordID(id)) else {
    throw ToolError.notFound("the table \(table.id) has no record \(id)")
  }
  return record
}
