import ArgumentParser
import Cairn
import CairnCDB
import CairnToolText

struct CDBExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Writes a table as a cdb file.",
    discussion: """
      Keys are the ids of the records, in their order: equal tables give equal bytes. A value is a \
      JSON object with the record's fields, in the form of cairn export; with --field it is the \
      value of that field, a string or bytes, and records without the field are left out.
      """)

  @Argument(help: "Table to write.")
  var table: String

  @Argument(help: "File to write, replaced as a whole.")
  var file: String

  @Option(name: .long, help: "Field whose values are written, as they are.")
  var field: String?

  @OptionGroup var format: CDBFormatOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    let (count, size) = try store.withDatastore { datastore in
      let table = try existingTable(table, of: datastore)
      let writer = try CDBWriter(file, format: format.format?.format)
      var count = 0
      for record in try table.query().sorted(by: { $0.id < $1.id }) {
        guard let value = try bytes(of: record) else { continue }
        try writer.add(Array(record.id.description.utf8), value)
        count += 1
      }
      return (count, try writer.finish())
    }
    try report.print(
      ["table": .string(table), "records": .count(count), "bytes": .count(size)],
      text: ["\(counted(count, "record")) of \(table) into \(file)"])
  }

  private func bytes(of record: Record) throws -> [UInt8]? {
    guard let field else {
      var bytes: [UInt8] = []
      JSON.object(JSON.members(try record.fields)).append(to: &bytes)
      return bytes
    }
    switch try record.get(field) {
    case nil: return nil
    case .string(let text): return Array(text.utf8)
    case .bytes(let bytes): return bytes
    case let value?:
      throw ToolError(
        .failure, "badType",
        "field \(field) of record \(record.id) is \(value.json.text), and only strings and bytes "
          + "are values by themselves; without --field records are written as JSON")
    }
  }
}
