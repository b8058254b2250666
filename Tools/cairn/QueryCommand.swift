import ArgumentParser
import Cairn
import CairnToolText

struct QueryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query",
    abstract: "Prints the records that meet conditions, in the order of their ids or sorted.",
    discussion: """
      Numbers match by value (1 matches 1.0), everything else its own type only. A field that a \
      record does not have meets no condition, and sorts first, with :desc last.

      \(FieldCondition.help)

      \(FieldAssignment.help)
      """)

  @Argument(help: "Table to search.")
  var table: String

  @Option(name: .long, help: "Condition that must hold, such as 'price>=10'; may be repeated.")
  var `where`: [FieldCondition] = []

  @Option(
    name: .long,
    help: "Field to sort by, field:desc for the largest first; may be repeated, for ties.")
  var sort: [FieldOrder] = []

  @Option(name: .long, help: "Print at most so many records.")
  var limit: Int?

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func validate() throws {
    if let limit, limit < 0 { throw ValidationError("--limit can't be negative") }
  }

  func run() throws {
    let conditions = `where`.reduce(Query()) { $0.where($1.field, $1.condition) }
    let query = sort.reduce(conditions) { $0.sorted(by: $1.field, $1.order) }
    try store.withDatastore { datastore in
      let table = try existingTable(table, of: datastore)
      let found = try table.count(where: conditions)
      // A limit, even none to speak of, makes the order of the ids the order of the result.
      let shown = try table.query(query.limit(limit ?? found))
      try report.print(
        ["matches": .count(found), "records": .array(shown.map { try $0.json() })],
        text: shown.map { try "\($0.id)  " + fieldTexts($0).joined(separator: " ") }
          + [summary(found, shown.count)])
    }
  }

  private func summary(_ found: Int, _ shown: Int) -> String {
    counted(found, "record") + (shown < found ? ", \(shown) shown" : "")
  }
}
