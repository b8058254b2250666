import ArgumentParser
import Cairn
import CairnToolText

struct ImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Puts CSV (with a header) or JSON lines into a table.",
    discussion: """
      The whole input is checked before anything is written, and an error names line and column. \
      Rows whose record exists already change only the fields that differ.

      CSV: text in quotes is a string, bare text is an integer, a double, a boolean or else a \
      string; an empty cell is an absent field, but "" is an empty string in a file with a column \
      $id, which export has written. JSON lines: one object a line; arrays are lists, {"$date": \
      ms} dates, {"$bytes": "base 64"} bytes; null is an absent field.

      Large inputs become several commits, each of them atomic. If the disk or somebody ends it \
      between two, those before stay: import again with the same --key. Rows that no column gives \
      an id are inserted once more then.
      """)

  @Argument(help: "Table to put the rows into.")
  var table: String

  @Argument(help: "File to read; - for standard input.")
  var file: String

  @Option(name: .long, help: "csv or jsonl (default: by the file's name).")
  var format: DataFormat?

  @Option(
    name: .long,
    help: "Column that becomes the record's id (default: $id if there is one, else generated ids).")
  var key: String?

  @Flag(
    name: .long, inversion: .prefixedNo,
    help: """
      CSV: "" is an empty string, only a bare empty cell is absent (default: if there is a column \
      $id).
      """)
  var keepEmpty: Bool?

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    let format = try DataFormat.chosen(format, path: file)
    guard Table.isValid(table), !table.hasPrefix(":") else {
      throw ToolError.usage("\(JSON.string(table).text) can't name a table")
    }
    let bytes = try Descriptor.content(of: file)
    do {
      switch format {
      case .csv: try load(bytes, CSVRows(bytes, key: key, keepsEmpty: keepEmpty))
      case .jsonl: try load(bytes, JSONRows(bytes, key: key))
      }
    } catch let error as SyntaxError {
      throw ToolError(error, in: bytes, of: file)
    }
  }

  private func load(_ bytes: [UInt8], _ rows: some RowReader) throws {
    try Importer.check(rows)
    let limits = try (store.settings().limits ?? .standard).limits
    let counts = try store.withDatastore(.creating) { datastore in
      var importer = Importer(
        table: try datastore.table(table), limits: limits, progress: Progress("import"))
      try importer.checkLimits(rows, total: bytes.count)
      return try importer.write(rows, total: bytes.count)
    }
    try report.print(
      [
        "table": .string(table), "rows": .count(counts.rows), "inserted": .count(counts.inserted),
        "updated": .count(counts.updated), "unchanged": .count(counts.unchanged),
        "commits": .count(counts.commits),
      ],
      text: [
        "\(counted(counts.rows, "row")) into \(table): \(counts.inserted) inserted, "
          + "\(counts.updated) updated, \(counts.unchanged) unchanged "
          + "(\(counted(counts.commits, "commit")))"
      ])
  }
}
