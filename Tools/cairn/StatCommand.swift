import ArgumentParser
import Cairn
import CairnToolText

struct StatCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stat",
    abstract: "Says what a datastore takes on the disk, and how much of it is alive.",
    discussion: """
      Live bytes are what a compaction would leave, dead ones what it would free. The size is that \
      of the limits: 100 a record and 100 a field, and the values.
      """)

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    let statistics = try store.withDatastore { try $0.statistics() }
    try report.print(
      [
        "records": .count(statistics.recordCount), "size": .count(statistics.size),
        "bytes": .count(statistics.bytes), "live": .count(statistics.liveBytes),
        "dead": .count(statistics.deadBytes),
        "attachments": .count(statistics.attachmentCount),
        "attachmentBytes": .count(statistics.attachmentBytes),
      ],
      text: columns([
        ["records", "\(statistics.recordCount)"],
        ["size", "\(statistics.size)"],
        ["on disk", "\(statistics.bytes) bytes"],
        ["live", "\(statistics.liveBytes) bytes"],
        ["dead", "\(statistics.deadBytes) bytes"],
        ["attachments", "\(statistics.attachmentCount), \(statistics.attachmentBytes) bytes"],
      ]))
  }
}
