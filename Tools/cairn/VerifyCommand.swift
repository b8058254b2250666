import ArgumentParser
import Cairn
import CairnToolText

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Reads what a datastore has to the last byte and checks it; changes nothing.",
    discussion: """
      That is the snapshot, the log, the trash, attachments, PUBLISHED, and what was fetched and \
      waits to be merged.

      Ends with 3 if anything is damaged, and says where and which command mends it; else with 1 \
      if a file is a newer version's or can't be read, so that nobody knows.
      """)

  @OptionGroup var store: InspectionOptions
  @OptionGroup var report: ReportOptions

  private struct Damage {
    var file: String
    var offset: UInt64?
    var message: String
  }

  func run() throws {
    let inspector: DatastoreInspector
    do {
      inspector = try store.inspector()
    } catch let error as CairnError where error.code == .corrupt {
      // Not even the file that names the others can be read.
      let damage = Damage(file: error.file ?? "", offset: error.offset, message: error.message)
      return try finish([damage], counts: [:], text: [])
    }
    defer { inspector.close() }
    var progress = Progress("verify")
    let result = try inspector.verify { done, total in
      progress.update(Int(clamping: done), of: Int(clamping: total))
    }
    progress.end()
    let unread = result.problems.filter(\.isUnread).map { "\($0.file): \($0.message)" }
    let notes = result.problems.filter { !$0.isDamage && !$0.isUnread }
    try finish(
      result.problems.filter(\.isDamage).map {
        Damage(file: $0.file, offset: $0.offset, message: $0.message)
      },
      unread: unread, isLinked: inspector.isLinked,
      counts: [
        "files": .count(result.files), "bytes": .count(result.bytes),
        "frames": .count(result.frames), "deltas": .count(result.deltas),
        "rows": .count(result.rows),
        "notes": .array(notes.map { .string("\($0.file): \($0.message)") }),
      ],
      text: [
        "\(counted(result.files, "file")), \(result.bytes) bytes: "
          + "\(counted(result.deltas, "delta")) in the log, "
          + "\(counted(result.rows, "row")) in the snapshot"
      ] + notes.map { "note: \($0.file): \($0.message)" })
  }

  /// By where a file lies: what its damage costs, and so what mends it, is told by that.
  private func mend(_ file: String, isLinked: Bool) -> String {
    let root = ShellLine.option("--root", store.rootPath)
    let which = ShellLine.option("--datastore", store.datastore) + root
    let name = file.split(separator: "/").last
    if name == "CATALOGUE" { return mendList(file, root) }
    if name == "INFO" { return regain(which, isLinked: isLinked) }
    // Neither a repair nor the trash is for what is followed: all of it is in the folder.
    let isFollowed = FollowedRoot.isOne(store.rootPath)
    return switch file.split(separator: "/").dropLast().last.map(String.init) ?? "" {
    case "trash" where !isFollowed:
      "to mend the trash, which removes what is left of it, too: "
        + ShellLine.of(["cairn", "trash", "empty"] + which)
    case "blobs":
      "to mend contents of attachments: " + ShellLine.of(["cairn", "blob", "fetch"] + which)
    case _ where isFollowed: followAgain()
    default:
      "to mend the datastore: "
        + ShellLine.of(["cairn", "repair"] + ShellLine.naming(store.datastore, root))
    }
  }

  /// No datastore of the root can be opened meanwhile, so that a repair would be refused, too.
  private func mendList(_ file: String, _ root: [String]) -> String {
    let lost = "deletes that were not exchanged yet are to be made again"
    let away = ShellLine.of(["mv", "--", file, file + ".damaged"])
    guard knownFolder != nil else {
      return "to mend the list of datastores (and then cairn ls --refresh --folder FOLDER, which "
        + "fetches it anew; \(lost)): \(away)"
    }
    return "to mend the list of datastores (it is fetched anew; \(lost)): \(away) && "
      + ShellLine.of(["cairn", "ls", "--refresh"] + root)
  }

  /// The shared folder, if it is remembered.
  private var knownFolder: String? {
    do { return try Settings(root: store.rootPath).folder } catch { return nil }
  }

  private func followAgain() -> String {
    var settings: Settings?
    // Without them the user has to know the folder.
    do { settings = try Settings(root: store.rootPath) } catch {}
    let (line, then) = ShellLine.followAgain(
      store.rootPath, folder: settings?.folder.map(FolderOption.location),
      settings?.serverOptions ?? [])
    // Last, as it is what can be pasted.
    return "to mend what is followed" + (then.map { " (and then \($0)): " } ?? ": ") + line
  }

  /// It is whole, and so is all that is there: what there was besides only a backup has, or others.
  private func regain(_ which: [String], isLinked: Bool) -> String {
    guard isLinked else {
      return "to have back what is lost: restore a backup of the whole directory; nothing here has "
        + "it"
    }
    return knownFolder == nil
      ? "to have back what was published: exchange with the account's shared folder, which is not "
        + "known here"
      : "to have back what was published: " + ShellLine.of(["cairn", "sync"] + which)
  }

  private func finish(
    _ damage: [Damage], unread: [String] = [], isLinked: Bool = false, counts: JSON,
    text: [String]
  ) throws {
    let list = damage.map { place -> JSON in
      [
        "file": .string(place.file), "offset": place.offset.map { .count($0) } ?? .null,
        "message": .string(place.message),
      ]
    }
    let lines = damage.map { place in
      // That of an error names its place itself.
      if place.message.hasPrefix(place.file) { return "damage: " + place.message }
      let offset = place.offset.map { " at offset \($0)" } ?? ""
      return "damage: \(place.file)\(offset): \(place.message)"
    }
    let mends = Set(damage.map { mend($0.file, isLinked: isLinked) }).sorted()
    var verdict =
      damage.isEmpty ? "no damage" : "\(counted(damage.count, "place")) damaged"
    if !unread.isEmpty { verdict += ", \(counted(unread.count, "file")) not checked" }
    let skipped = unread.map { "not checked: " + $0 }
    try report.print(
      counts.adding("damage", .array(list)).adding("mend", .array(mends.map(JSON.string)))
        .adding("unread", .array(unread.map(JSON.string))),
      text: lines + skipped + text + [verdict] + mends)
    if !damage.isEmpty { throw ExitCode(ExitStatus.damageFound.rawValue) }
    if !unread.isEmpty { throw ExitCode(ExitStatus.failure.rawValue) }
  }
}
