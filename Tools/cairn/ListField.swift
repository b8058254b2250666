import ArgumentParser
import Cairn
import CairnToolText

/// Where a list is: table, record and field, in this order.
struct ListField: ParsableArguments {
  @Argument(help: "Table of the record.")
  var table: String

  @Argument(help: "Id of the record.")
  var id: String

  @Argument(help: "Field that holds the list.")
  var field: String

  func list(in datastore: Datastore) throws -> RecordList {
    try existingRecord(id, of: existingTable(table, of: datastore)).list(field)
  }

  /// Edits the list as one commit, and prints what it is then. If the edit fails, nothing is left
  /// of it.
  func edit(
    _ store: StoreOptions, _ report: ReportOptions, _ edit: (RecordList) throws -> Void
  ) throws {
    try store.withDatastore(.writing) { datastore in
      let list = try list(in: datastore)
      try edit(list)
      let committed = try datastore.sync().committed
      try report.print(
        try json(list).adding("committed", .bool(committed)), text: try lines(list))
    }
  }

  func json(_ list: RecordList) throws -> JSON {
    [
      "table": .string(table), "id": .string(id), "field": .string(field),
      "items": .array(try list.values.map(\.json)),
    ]
  }

  func lines(_ list: RecordList) throws -> [String] {
    let items = try list.values
    return columns(items.enumerated().map { ["\($0)", $1.json.text] })
      + [counted(items.count, "item")]
  }
}

/// An item on the command line: written like the value of a field.
struct ListItem: Sendable {
  var value: Value

  /// Throws a sentence that says what is wrong with it.
  static func parse(_ argument: String) throws -> ListItem {
    ListItem(value: try FieldAssignment.value(argument))
  }
}
