import ArgumentParser
import Cairn
import CairnCDB
import CairnToolText

struct CDBImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Puts the records of a cdb file into a table.",
    discussion: """
      A key becomes the record's id, of several values of a key the first one counts. A value is a \
      JSON object with the record's fields, as cairn export and cairn cdb export write them; with \
      --field it is the value of that field, a string, or bytes where it is not UTF-8.

      All records are checked before anything is written. Many become several commits; if the disk \
      or somebody ends it between two, those before stay: import again.
      """)

  @Argument(help: "Table to put the records into.")
  var table: String

  @Argument(help: "File to read.")
  var file: String

  @Option(name: .long, help: "Field that the values are put into, as they are.")
  var field: String?

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    guard Table.isValid(table), !table.hasPrefix(":") else {
      throw ToolError.usage("\(JSON.string(table).text) can't name a table")
    }
    let (pairs, skipped) = try pairs()
    let rows = KeyedRows(pairs, field: field)
    let counts: Importer.Counts
    do {
      try Importer.check(rows)
      let limits = try (store.settings().limits ?? .standard).limits
      counts = try store.withDatastore(.creating) { datastore in
        var importer = Importer(
          table: try datastore.table(table), limits: limits, progress: Progress("import"))
        try importer.checkLimits(rows, total: pairs.count)
        return try importer.write(rows, total: pairs.count)
      }
    } catch let error as SyntaxError {
      let key = CDBCommand.json(pairs[error.offset].key).text
      throw ToolError(
        .failure, "malformed", "\(file), key \(key): \(error.message) (nothing was imported)",
        file: file)
    }
    try report.print(
      [
        "table": .string(table), "rows": .count(counts.rows), "inserted": .count(counts.inserted),
        "updated": .count(counts.updated), "unchanged": .count(counts.unchanged),
        "skipped": .count(skipped), "commits": .count(counts.commits),
      ],
      text: [
        "\(counted(counts.rows, "record")) into \(table): \(counts.inserted) inserted, "
          + "\(counts.updated) updated, \(counts.unchanged) unchanged"
      ] + (skipped > 0 ? ["\(skipped) further values of the same keys were left out"] : []))
  }

  /// The first value of each key, and how many others there are.
  private func pairs() throws -> ([KeyedRows.Pair], skipped: Int) {
    let cdb = try CDBFile(file)
    let records = try cdb.records()
    var pairs: [KeyedRows.Pair] = []
    var seen: Set<[UInt8]> = []
    var skipped = 0
    while let record = try records.next() {
      // What tinycdb leaves of a record that was replaced: no search finds it.
      if record.key.isEmpty, record.value.allSatisfy({ $0 == 0 }), try !cdb.contains([]) {
        continue
      }
      if seen.insert(record.key).inserted {
        pairs.append(KeyedRows.Pair(key: record.key, value: record.value))
      } else {
        skipped += 1
      }
    }
    return (pairs, skipped)
  }
}
