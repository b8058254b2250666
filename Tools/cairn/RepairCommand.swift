import ArgumentParser
import Cairn
import CairnToolText

struct RepairCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Makes a damaged datastore whole from what it still holds and from the folder.",
    discussion: """
      Does nothing to a datastore of which every byte is right. Otherwise the original is moved to \
      the root's trash as it is, and a new copy takes its place: with all that the folder has, and \
      with what only the damaged copy had. What can't be read any more is listed. The next sync \
      publishes the rest.
      """)

  @Argument(help: "Id of the datastore.")
  var datastore: String

  @Flag(name: .long, help: "Only show what would be done.")
  var dryRun = false

  @Flag(name: .long, help: "Don't need the shared folder: for one that is gone for good.")
  var withoutFolder = false

  @OptionGroup var place: RootOptions
  @OptionGroup var report: ReportOptions

  func run() async throws {
    let manager = try place.manager()
    let result = try await manager.repairDatastore(
      datastore, dryRun: dryRun, usingFolder: !withoutFolder)
    try report.print(json(result), text: lines(result))
  }

  private func lines(_ result: RepairReport) -> [String] {
    guard result.wasNeeded else { return ["\(datastore) is whole; nothing to repair"] }
    var lines = result.findings.map { "damaged: " + $0.message }
    lines += result.losses.map { loss in
      let offset = loss.offset.map { " at offset \($0)" } ?? ""
      return "lost: \(loss.file)\(offset): \(loss.message)"
    }
    if result.mendedBits > 0 {
      lines.append("put right: \(counted(result.mendedBits, "single wrong bit"))")
    }
    lines.append(
      "read here: \(counted(result.snapshotRecords, "record")) of the snapshot, "
        + "\(counted(result.logDeltas, "delta")) of the log; fetched: "
        + counted(result.fetchedDeltas, "delta"))
    lines += result.waiting.map { "waiting for \($0.name): \($0.reason)" }
    let would = dryRun ? "would have" : "has"
    lines.append(
      "the repaired datastore \(would) \(counted(result.records, "record")), "
        + "\(result.reinserted) of them put back from here, as device \(result.device ?? "")")
    if let original = result.original { lines.append("the original is in \(original)") }
    return lines
  }

  private func json(_ result: RepairReport) -> JSON {
    [
      "datastore": .string(result.datastore), "dryRun": .bool(dryRun),
      "needed": .bool(result.wasNeeded),
      "damage": .array(result.findings.map { .string($0.message) }),
      "lost": .array(
        result.losses.map { loss in
          [
            "file": .string(loss.file), "offset": loss.offset.map { .count($0) } ?? .null,
            "message": .string(loss.message),
          ]
        }),
      "mendedBits": .count(result.mendedBits), "fetchedDeltas": .count(result.fetchedDeltas),
      "waiting": .array(result.waiting.map { .string($0.name) }),
      "reinserted": .count(result.reinserted), "records": .count(result.records),
      "device": .optional(result.device), "oldDevice": .optional(result.oldDevice),
      "original": .optional(result.original),
    ]
  }
}
