import ArgumentParser
import Cairn
import CairnToolText

struct SetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Sets fields of a record, as one commit.",
    discussion: FieldAssignment.help)

  @Argument(help: "Table of the record.")
  var table: String

  @Argument(help: "Id of the record.")
  var id: String

  @Argument(
    help: "field=value, as many as there are fields to set.", transform: FieldAssignment.parse)
  var fields: [FieldAssignment] = []

  @Option(name: .long, help: "A field to remove; may be repeated.")
  var remove: [String] = []

  @Flag(name: .long, help: "Insert the record; it's an error if there is one already.")
  var insert = false

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func validate() throws {
    if fields.isEmpty, remove.isEmpty, !insert {
      throw ValidationError("nothing to set: give field=value, or --remove field")
    }
    if insert, !remove.isEmpty {
      throw ValidationError("a record that is inserted has no fields to remove")
    }
    let names = fields.map(\.field) + remove
    if Set(names).count < names.count { throw ValidationError("a field is named twice") }
  }

  func run() throws {
    try store.withDatastore(insert ? .creating : .writing) { datastore in
      let record = try apply(datastore)
      let committed = try datastore.sync().committed
      try report.print(
        try record.json().adding("committed", .bool(committed)), text: try fieldTexts(record))
    }
  }

  private func apply(_ datastore: Datastore) throws -> Record {
    if insert {
      var values: [String: Value] = [:]
      for field in fields { values[field.field] = field.value }
      return try datastore.table(table).insert(fields: values, id: RecordID(id))
    }
    let record = try existingRecord(id, of: existingTable(table, of: datastore))
    var changes: [String: Value?] = [:]
    for field in fields { changes.updateValue(field.value, forKey: field.field) }
    for field in remove { changes.updateValue(nil, forKey: field) }
    try record.update(changes)
    return record
  }
}
