import ArgumentParser
import Cairn
import CairnToolText

struct RepairCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Makes a damaged datastore whole, and gives its folder back what that has lost.",
    discussion: """
      Does nothing to a datastore of which every byte is right. Otherwise the original is moved to \
      the root's trash as it is, and a new copy takes its place: with all that the folder has, and \
      with what only the damaged copy had. What can't be read any more is listed. After that the \
      shared folder is looked at: all that this device has published is read, and written again \
      where it is missing or damaged; what of other devices' files is gone there, and is here, is \
      published in a snapshot. Ends with 1 if not all of that can be looked into or mended now. \
      With --dry-run nothing is written to the folder, contents of attachments there are not \
      looked into, and what was found there is no failure; as with each command, opening the \
      datastore cuts off what a crash left half written.
      """)

  @Argument(help: "Id of the datastore.")
  var datastore: String

  @Flag(name: .long, help: "Only show what is wrong and what would be done.")
  var dryRun = false

  @Flag(name: .long, help: "Leave the shared folder alone: for one that is gone for good.")
  var withoutFolder = false

  @OptionGroup var place: RootOptions
  @OptionGroup var report: ReportOptions

  func run() async throws {
    let manager = try place.manager(compacts: !dryRun)
    let result = try await manager.repairDatastore(
      datastore, dryRun: dryRun, usingFolder: !withoutFolder)
    // What is damaged can't be opened before it is repaired.
    let isOpenable = !result.wasNeeded || !dryRun
    guard !withoutFolder, isOpenable, try place.account() != nil else {
      try report.print(json(result, nil), text: lines(result))
      if result.lostEnd != nil { throw ExitCode(ExitStatus.failure.rawValue) }
      return
    }
    let folder: FolderRepair
    do { folder = try await repairFolder(manager) } catch {
      // What was found and done here is told all the same.
      try report.print(json(result, nil), text: lines(result))
      throw error
    }
    try report.print(
      json(result, folder), text: lines(result) + folder.lines(isDry: dryRun))
    let isDone = result.lostEnd == nil && (dryRun ? folder.problems.isEmpty : folder.isWhole)
    if !isDone { throw ExitCode(ExitStatus.failure.rawValue) }
  }

  private func repairFolder(_ manager: DatastoreManager) async throws -> FolderRepair {
    let opened = try manager.openDatastore(datastore)
    for note in opened.recoveryNotes { Console.error("cairn: mended at opening: \(note)") }
    let result: FolderRepair
    do { result = try await opened.repairFolder(dryRun: dryRun) } catch {
      // The first error says more than what closing might add.
      do { try opened.close() } catch {}
      throw error
    }
    try opened.close()
    return result
  }

  private func lines(_ result: RepairReport) -> [String] {
    let lost = result.lostEnd.map { ["lost: " + $0] } ?? []
    guard result.wasNeeded else {
      let verdict = result.lostEnd == nil ? "is whole" : "has no damage that can be mended"
      return lost + ["\(datastore) \(verdict); nothing to repair"]
    }
    var lines = lost + damage(result).map { "damaged: " + $0 }
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

  /// Most messages name the file themselves.
  private func damage(_ result: RepairReport) -> [String] {
    result.findings.map { found in
      (found.file.flatMap { found.message.contains($0) ? nil : $0 + ": " } ?? "") + found.message
    }
  }

  private func json(_ result: RepairReport, _ folder: FolderRepair?) -> JSON {
    [
      "datastore": .string(result.datastore), "dryRun": .bool(dryRun),
      "needed": .bool(result.wasNeeded),
      "damage": .array(damage(result).map(JSON.string)),
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
      "original": .optional(result.original), "folder": folder.map { json($0) } ?? .null,
      "lostEnd": .optional(result.lostEnd),
    ]
  }

  private func json(_ folder: FolderRepair) -> JSON {
    [
      "checkedFiles": .count(folder.checkedFiles), "checkedBytes": .count(folder.checkedBytes),
      "missing": .array(folder.missing.map { .string($0) }),
      "damaged": .array(
        folder.damaged.map { ["name": .string($0.name), "reason": .string($0.reason)] }),
      "written": .array(folder.written.map { .string($0) }),
      "onlyInSnapshot": .array(
        folder.onlyInSnapshot.map { ["first": .count($0.first), "last": .count($0.last)] }),
      "publishedSnapshot": .bool(folder.publishedSnapshot),
      "problems": .array(folder.problems.map { .string($0) }),
      "unread": .array(folder.unread.map { .string($0) }),
    ]
  }
}
