import ArgumentParser
import CairnCDB
import CairnToolText

struct CDBDumpCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dump", abstract: "Prints all records of a cdb file in the text form.")

  @Argument(help: "File to read.")
  var file: String

  @OptionGroup var report: ReportOptions

  private static let portion = 1 << 18

  func run() throws {
    let records = try CDBFile(file).records()
    if report.json {
      var items: [JSON] = []
      while let record = try records.next() {
        items.append(
          ["key": CDBCommand.json(record.key), "value": CDBCommand.json(record.value)])
      }
      return try report.print(["records": .array(items)], text: [])
    }
    var text: [UInt8] = []
    while let record = try records.next() {
      CDBText.append(record.key, record.value, to: &text)
      guard text.count >= Self.portion else { continue }
      try Console.put(text)
      text.removeAll(keepingCapacity: true)
    }
    CDBText.appendEnd(to: &text)
    try Console.put(text)
  }
}
