import ArgumentParser
import Cairn

struct QueryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query",
    abstract: "Prints the records whose fields equal the values given, in the order of their ids.",
    discussion: """
      Numbers match by value (1 matches 1.0), everything else its own type only.

      \(FieldAssignment.help)
      """)

  @Argument(help: "Table to search.")
  var table: String

  @Option(name: .long, help: "field=value that must hold; may be repeated.")
  var `where`: [FieldAssignment] = []

  @Option(name: .long, help: "Print at most so many records.")
  var limit: Int?

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func validate() throws {
    if let limit, limit < 0 { throw ValidationError("--limit can't be negative") }
    if Set(`where`.map(\.field)).count < `where`.count {
      throw ValidationError("a field can't equal two values: --where names it twice")
    }
  }

  func run() throws {
    var filter: [String: Value] = [:]
    for condition in `where` { filter[condition.field] = condition.value }
    try store.withDatastore { datastore in
      let table = try existingTable(table, of: datastore)
      let found = try table.query(filter).sorted { $0.id < $1.id }
      let shown = found.prefix(limit ?? found.count)
      try report.print(
        ["matches": .count(found.count), "records": .array(shown.map { try $0.json() })],
        text: shown.map { try "\($0.id)  " + fieldTexts($0).joined(separator: " ") }
          + [summary(found.count, shown.count)])
    }
  }

  private func summary(_ found: Int, _ shown: Int) -> String {
    counted(found, "record") + (shown < found ? ", \(shown) shown" : "")
  }
}
