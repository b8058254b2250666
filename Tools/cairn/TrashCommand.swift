import ArgumentParser
import Cairn
import CairnToolText

/// `cairn trash`: what other devices have deleted.
struct TrashCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trash",
    abstract: "Lists, shows, restores and empties what other devices have deleted here.",
    discussion: """
      Records that other devices delete stay in the datastore's trash for 30 days, on this device \
      only; so do whole datastores, with --datastores, and originals of repaired ones until they \
      are removed. What is restored is inserted again, and goes to the other devices.
      """,
    subcommands: [List.self, Show.self, Restore.self, Empty.self], defaultSubcommand: List.self)

  /// What most of them have.
  struct Place: ParsableArguments {
    @Flag(name: .long, help: "Whole datastores, not records of one.")
    var datastores = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Lists what is in the trash, the oldest first.")

    @OptionGroup var place: Place

    func run() throws {
      if place.datastores {
        try place.store.refuseDatastore()
        let found = try place.store.manager(.reading).trashedDatastores()
        return try place.report.print(
          ["trash": .array(found.map(TrashCommand.json))],
          text: columns(found.map(TrashCommand.row)) + [counted(found.count, "datastore")])
      }
      try place.store.withDatastore { datastore in
        let (found, missing) = (try datastore.trash.list(), try datastore.trash.notKept)
        let problems = try datastore.trash.problems
        try place.report.print(
          [
            "trash": .array(found.map { TrashCommand.json($0) }), "notKept": .count(missing),
            "problems": .array(problems.map { .string($0.message) }),
          ],
          text: columns(found.map(TrashCommand.row)) + [counted(found.count, "record")]
            + (missing > 0 ? ["up to \(missing) more were too many to be kept"] : [])
            + TrashCommand.lines(problems))
        if !problems.isEmpty { throw ExitCode(ExitStatus.failure.rawValue) }
      }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Prints a deleted record as it was.")

    @Argument(help: "Table of the record.")
    var table: String

    @Argument(help: "Id of the record.")
    var id: String

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try store.withDatastore { datastore in
        let record = try TrashCommand.record(table, id, of: datastore)
        try report.print(
          TrashCommand.json(record),
          text: ["deleted by device \(record.device), \(record.deleted.text)"]
            + JSON.members(record.fields).map { "\($0.name)=\($0.value.text)" })
      }
    }
  }

  struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "restore",
      abstract: "Inserts a record again (TABLE ID), or all; with --datastores a datastore (ID).")

    @Argument(help: "Table and id of the record, or id of the datastore.")
    var names: [String] = []

    @Flag(name: .long, help: "All records that are in the trash.")
    var all = false

    @OptionGroup var place: Place

    func run() throws {
      if place.datastores { return try restoreDatastore() }
      guard all ? names.isEmpty : names.count == 2 else {
        throw ToolError.usage("say which record, as TABLE ID, or --all")
      }
      try place.store.withDatastore(.writing) { datastore in
        let records =
          all
          ? try datastore.trash.list()
          : [try TrashCommand.record(names[0], names[1], of: datastore)]
        // Of a record that is asked for by name nothing else is to be said.
        let problems = all ? try datastore.trash.problems : []
        var restoration = TrashRestoration(datastore)
        try restoration.run(records)
        try place.report.print(
          [
            "restored": .array(records.map { .string("\($0.table)/\($0.id)") }),
            "problems": .array(problems.map { .string($0.message) }),
          ],
          text: ["restored \(counted(records.count, "record"))"] + TrashCommand.lines(problems))
        if !problems.isEmpty { throw ExitCode(ExitStatus.failure.rawValue) }
      }
    }

    private func restoreDatastore() throws {
      try place.store.refuseDatastore()
      guard names.count == 1, !all else { throw ToolError.usage("say which datastore") }
      let manager = try place.store.manager(.writing)
      guard let found = try manager.trashedDatastores().last(where: { $0.id == names[0] }) else {
        throw ToolError.notFound("there is no datastore \(names[0]) in the trash")
      }
      try manager.restore(found)
      try place.report.print(
        ["restored": .array([.string(found.id)])], text: ["restored \(found.id)"])
    }
  }

  struct Empty: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "empty", abstract: "Removes everything in the trash for good.",
      discussion: "Also files of it that are damaged, of which nothing can be had back.")

    @OptionGroup var place: Place

    func run() throws {
      if place.datastores { return try emptyDatastores() }
      let (count, damaged) = try place.store.withDatastore(.writing) { datastore in
        let damaged = try datastore.trash.problems.count
        let count = try readable(datastore.trash)
        try datastore.trash.empty()
        return (count, damaged)
      }
      try place.report.print(
        ["removed": .count(count), "damaged": .count(damaged)],
        text: [
          "removed \(counted(count, "record")) for good"
            + (damaged > 0 ? ", and \(counted(damaged, "damaged file"))" : "")
        ])
    }

    private func emptyDatastores() throws {
      try place.store.refuseDatastore()
      let manager = try place.store.manager(.writing)
      let count = try manager.trashedDatastores().count
      try manager.emptyTrash()
      try place.report.print(
        ["removed": .count(count)], text: ["removed \(counted(count, "datastore")) for good"])
    }

    /// How many records can be read.
    private func readable(_ trash: DatastoreTrash) throws -> Int {
      do { return try trash.list().count } catch {
        // It can't be read at all, which is no reason to keep it.
        if error.code == .corrupt || error.code == .needsNewerVersion { return 0 }
        throw error
      }
    }
  }

  // MARK: output

  private static func lines(_ problems: [CairnError]) -> [String] {
    problems.map { "lost: " + $0.message }
  }

  private static func record(
    _ table: String, _ id: String, of datastore: Datastore
  ) throws -> DeletedRecord {
    let found = try datastore.trash.list().last { $0.table == table && $0.id == RecordID(id) }
    guard let found else { throw ToolError.notFound("the trash has no record \(table)/\(id)") }
    return found
  }

  private static func json(_ record: DeletedRecord) -> JSON {
    [
      "table": .string(record.table), "id": .string(record.id.description),
      "fields": .object(JSON.members(record.fields)), "device": .string(record.device),
      "deleted": .int(record.deleted.millisecondsSince1970),
    ]
  }

  private static func row(_ record: DeletedRecord) -> [String] {
    [record.table, record.id.description, record.deleted.text, "by " + record.device]
  }

  private static func json(_ copy: DeletedDatastore) -> JSON {
    [
      "datastore": .string(copy.id), "deleted": .int(copy.deleted.millisecondsSince1970),
      "bytes": .count(copy.bytes), "directory": .string(copy.directory),
      "reason": .optional(copy.reason),
    ]
  }

  private static func row(_ copy: DeletedDatastore) -> [String] {
    [copy.id, copy.deleted.text, "\(copy.bytes) bytes", reason(copy)]
  }

  /// Why it is there. The first line of what was noted is all there is to say, or begins it.
  private static func reason(_ copy: DeletedDatastore) -> String {
    if let reason = copy.reason {
      let lines = reason.split(separator: "\n").map(String.init)
      let more = lines.dropFirst().map { $0.hasPrefix("- ") ? String($0.dropFirst(2)) : $0 }
      return lines.prefix(1).joined() + (more.isEmpty ? "" : " " + more.joined(separator: "; "))
    }
    // What is created anew after a delete has a directory of another name.
    let parts = copy.directory.split(separator: "/", omittingEmptySubsequences: false)
    let place = parts.dropLast(3) + parts.suffix(1)
    return Descriptor.exists(place.joined(separator: "/"))
      ? "from before it was merged with another one" : "deleted elsewhere"
  }
}
