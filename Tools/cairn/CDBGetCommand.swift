import ArgumentParser
import CairnCDB
import CairnToolText

struct CDBGetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Prints the value of a key in a cdb file, as it is.")

  @Argument(help: "File to read.")
  var file: String

  @Argument(help: "Key to look for.")
  var key: String

  @Flag(name: .long, help: "All values of the key, each on a line, and not only the first.")
  var all = false

  @OptionGroup var report: ReportOptions

  func run() throws {
    let cdb = try CDBFile(file)
    let name = Array(key.utf8)
    let values = all ? try cdb.values(for: name) : try cdb.value(for: name).map { [$0] } ?? []
    guard let first = values.first else {
      throw ToolError.notFound("\(file) has no key \(JSON.string(key).text)")
    }
    if report.json {
      return try report.print(
        ["key": .string(key), "values": .array(values.map(CDBCommand.json))], text: [])
    }
    try Console.put(all ? values.flatMap { $0 + [UInt8(ascii: "\n")] } : first)
  }
}
