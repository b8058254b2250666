import ArgumentParser
import Cairn
import CairnToolText

struct LogCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Lists the deltas in the log, in the order in which this device applied them.",
    discussion: """
      What a compaction has folded into the snapshot is listed as long as its file is kept, at \
      least until it is published; cairn segments tells which files those are. A delta is named \
      by its device and its number there.
      """)

  @Option(name: .long, help: "Only the last so many deltas.")
  var last: Int?

  @OptionGroup var store: InspectionOptions
  @OptionGroup var report: ReportOptions

  func validate() throws {
    if let last, last < 0 { throw ValidationError("--last can't be negative") }
  }

  func run() throws {
    let inspector = try store.inspector()
    defer { inspector.close() }
    let deltas = try inspector.deltas()
    let shown = deltas.suffix(last ?? deltas.count)
    try report.print(
      ["deltas": .array(shown.map(json))],
      text: columns(shown.map(row)) + [counted(shown.count, "delta")])
  }

  private func json(_ delta: DatastoreInspector.Delta) -> JSON {
    [
      "device": .string(delta.device), "sequence": .count(delta.sequence),
      "time": .int(delta.time.millisecondsSince1970), "fetched": .bool(delta.isFetched),
      "tables": .array(delta.tables.map(JSON.string)), "records": .count(delta.records),
      "fields": .count(delta.fields), "bytes": .count(delta.bytes),
      "segment": .count(delta.segment), "offset": .count(delta.offset),
    ]
  }

  private func row(_ delta: DatastoreInspector.Delta) -> [String] {
    [
      "\(delta.device):\(delta.sequence)", delta.isFetched ? "fetched" : "own", delta.time.text,
      delta.tables.joined(separator: " "), counted(delta.records, "record"),
      counted(delta.fields, "field"), counted(delta.bytes, "byte"),
      "segment \(delta.segment) at \(delta.offset)",
    ]
  }
}
