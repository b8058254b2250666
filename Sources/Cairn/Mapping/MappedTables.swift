/// A table of objects and the table of their records: what of a mapping outlasts the app.
struct MappedTables: Hashable, Sendable {
  var table: String
  var recordTable: String

  init(table: String, recordTable: String) {
    self.table = table
    self.recordTable = recordTable
  }

  /// From its stored text; nil if it is none. Names of tables have no spaces.
  init?(_ text: String) {
    let names = text.split(separator: " ")
    guard names.count == 2 else { return nil }
    (table, recordTable) = (String(names[0]), String(names[1]))
  }

  var text: String { "\(table) \(recordTable)" }
}

extension ObjectMapping {
  /// Nil for objects that stay on this device.
  var tables: MappedTables? {
    recordTable.map { MappedTables(table: table, recordTable: $0) }
  }
}
