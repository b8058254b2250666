import ArgumentParser
import Cairn
import CairnToolText

struct CompactCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Folds the log into a new snapshot.",
    discussion: "Own deltas that are not published yet stay in the log, too.")

  @Flag(name: .long, help: "Only show the gain.")
  var dryRun = false

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    let result = try store.withDatastore { datastore in
      dryRun ? try datastore.compactionPreview() : try datastore.compact()
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
