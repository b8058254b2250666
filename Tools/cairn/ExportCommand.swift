import ArgumentParser
import Cairn
import CairnToolText

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes a table as CSV or JSON lines.",
    discussion: """
      Records come in the order of their ids, fields in that of their names: equal tables give \
      equal bytes.

      JSON lines keep every type: dates are {"$date": milliseconds since 1970}, bytes {"$bytes": \
      "base 64"}, doubles that are no numbers {"$double": "nan"}, attachments {"$attachment": \
      "SHA-256-length"} without their contents, and 12 is an integer where 12.0 is a double. CSV \
      keeps text (in quotes), numbers and booleans (bare); what else there is, it holds as JSON in \
      quotes, which comes back as text. To a spreadsheet, a cell that begins with =, +, - or @ is \
      a formula, whoever wrote it. On a terminal, control characters are spelled out.
      """)

  @Argument(help: "Table to write.")
  var table: String

  @Argument(help: "File to write, replaced as a whole; - for standard output.")
  var file = "-"

  @Option(name: .long, help: "csv or jsonl (default: by the file's name, else jsonl).")
  var format: DataFormat?

  @Option(name: .long, help: "Name of the column that holds the record's id.")
  var key = idColumn

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    let format = format ?? DataFormat(path: file) ?? .jsonl
    let (count, bytes) = try store.withDatastore { datastore in
      let table = try existingTable(table, of: datastore)
      let records = try table.query().sorted { $0.id < $1.id }
      let export = TableExport(records: records, key: key)
      return (records.count, try format == .csv ? export.csv() : export.jsonLines())
    }
    if Descriptor.isStandardOutput(file) {
      // Files and pipes get what there is; a terminal would obey it.
      guard Descriptor.isTerminal(Descriptor.standardOutput) else { return try Console.put(bytes) }
      return try Console.put(Array(String(decoding: bytes, as: UTF8.self).harmless.utf8))
    }
    try Descriptor.replace(file, with: bytes)
    try report.print(
      ["table": .string(table), "records": .count(count), "bytes": .count(bytes.count)],
      text: ["\(counted(count, "record")) of \(table) into \(file)"])
  }
}
