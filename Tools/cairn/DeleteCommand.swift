import ArgumentParser
import Cairn
import CairnToolText

struct DeleteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Deletes records, as one commit: all of them or, if one isn't there, none.")

  @Argument(help: "Table of the records.")
  var table: String

  @Argument(help: "Ids of the records.")
  var ids: [String]

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    try store.withDatastore(.writing) { datastore in
      let table = try existingTable(table, of: datastore)
      let records = try ids.map { try existingRecord($0, of: table) }
      for record in records { try record.delete() }
      _ = try datastore.sync()
      try report.print(
        ["table": .string(table.id), "deleted": .array(ids.map(JSON.string))],
        text: ["deleted \(counted(ids.count, "record")) of \(table.id)"])
    }
  }
}
