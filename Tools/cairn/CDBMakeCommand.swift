import ArgumentParser
import Cairn
import CairnCDB
import CairnToolText

struct CDBMakeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "make", abstract: "Writes a cdb file from the text form.",
    discussion: """
      The file is replaced as a whole, when all of the text has proved to be right; a link, a pipe \
      or a device is not. Its bytes are those that cdbmake and tinycdb write.
      """)

  @Argument(help: "File to write.")
  var file: String

  @Argument(help: "Text to read; - for standard input.")
  var text = "-"

  @OptionGroup var format: CDBFormatOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    let bytes = try Descriptor.content(of: text)
    let writer = try CDBWriter(file, format: format.format?.format)
    let records: Int
    do {
      records = try add(bytes, to: writer)
    } catch let error as CairnError where error.code == .illegalArgument {
      writer.cancel()
      let place = TextPosition(of: Int(clamping: error.offset ?? 0), in: bytes)
      throw ToolError(
        .failure, "malformed",
        "\(text):\(place.line):\(place.column): \(error.message) (nothing was written)",
        file: text, position: place)
    }
    let size = try writer.finish()
    try report.print(
      ["file": .string(file), "records": .count(records), "bytes": .count(size)],
      text: ["\(counted(records, "record")) into \(file), \(size) bytes"])
  }

  private func add(_ bytes: [UInt8], to writer: CDBWriter) throws -> Int {
    var records = 0
    var input = CDBText(bytes)
    while let record = try input.next() {
      try writer.add(Array(bytes[record.key]), Array(bytes[record.value]))
      records += 1
    }
    return records
  }
}
