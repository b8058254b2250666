import ArgumentParser
import Cairn
import CairnToolText

struct CompactCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Folds the log into a new snapshot.",
    discussion: """
      Own deltas that are not published yet stay in the log, too. With --forget, the other devices \
      are asked to agree on what may be forgotten, as one commit: once all have exchanged, \
      compactions leave out that records were deleted, and who wrote what when.
      """)

  @Flag(name: .long, help: "Only show the gain.")
  var dryRun = false

  @Flag(name: .long, help: "First ask the other devices what may be forgotten.")
  var forget = false

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    let result = try store.withDatastore(forget ? .writing : .reading) { datastore in
      if forget, !dryRun {
        try datastore.askToForget()
        try datastore.sync()
      }
      return dryRun ? try datastore.compactionPreview() : try datastore.compact()
    }
    let gain = result.bytesBefore > result.bytesAfter ? result.bytesBefore - result.bytesAfter : 0
    try report.print(
      [
        "dryRun": .bool(dryRun), "before": .count(result.bytesBefore),
        "after": .count(result.bytesAfter), "gain": .count(gain),
        "records": .count(result.records),
      ],
      text: [
        (dryRun ? "would go from " : "went from ")
          + "\(result.bytesBefore) to \(result.bytesAfter) bytes "
          + "(\(counted(result.records, "record")))"
      ])
  }
}
