import ArgumentParser
import Cairn
import CairnToolText

struct TablesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tables", abstract: "Lists the tables and how many records they have.")

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    let (found, all) = try store.withDatastore { datastore in
      (try datastore.tables().map { (id: $0.id, count: try $0.count) }, datastore.recordCount)
    }
    let tables = found.sorted { $0.id < $1.id }
    // No command takes the library's own tables, and their records count wherever others do.
    let others = max(0, all - tables.reduce(0) { $0 + $1.count })
    let what =
      "besides, \(counted(others, "record")) of the library's own tables (title, roles, mappings), "
      + "which status, stat and ls count, too"
    try report.print(
      [
        "tables": .array(tables.map { ["table": .string($0.id), "records": .count($0.count)] }),
        "otherRecords": .count(others),
      ],
      text: columns(tables.map { [$0.id, counted($0.count, "record")] })
        + (others > 0 ? [what] : []))
  }
}
