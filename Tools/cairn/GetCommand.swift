import ArgumentParser
import Cairn
import CairnToolText

struct GetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Prints one record.")

  @Argument(help: "Table of the record.")
  var table: String

  @Argument(help: "Id of the record.")
  var id: String

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    try store.withDatastore { datastore in
      let record = try existingRecord(id, of: existingTable(table, of: datastore))
      try report.print(try record.json(), text: try fieldTexts(record))
    }
  }
}
