import ArgumentParser
import Cairn
import CairnToolText

struct TablesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tables", abstract: "Lists the tables and how many records they have.")

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    let tables = try store.withDatastore { datastore in
      try datastore.tables().map { (id: $0.id, count: try $0.count) }
    }.sorted { $0.id < $1.id }
    try report.print(
      ["tables": .array(tables.map { ["table": .string($0.id), "records": .count($0.count)] })],
      text: columns(tables.map { [$0.id, counted($0.count, "record")] }))
  }
}
