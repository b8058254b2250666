import ArgumentParser
import Cairn
import CairnToolText

/// `cairn blob`: contents that are too large for records.
struct BlobCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "blob",
    abstract: "Lists, reads, adds, fetches and clears up contents of attachments.",
    discussion: """
      A record refers to a content of any size by its SHA-256 and its length. The content is a \
      file of its own: on this device if it was added or fetched here, and in the shared folder \
      before the first delta that refers to it. In JSON and in field=value a reference is \
      {"$attachment": "SHA-256-length"}.
      """,
    subcommands: [List.self, Get.self, Put.self, Fetch.self, Collect.self],
    defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Lists the attachments of all records, and where they are.",
      discussion: """
        "here": on this device. "remote": not on this device; cairn blob fetch gets it, or says \
        that the shared folder does not have it: the folder is not asked here. "missing": not on \
        this device, and there is no folder.
        """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try store.withDatastore { datastore in
        let uses = try datastore.attachments()
        var rows: [[String]] = []
        var list: [JSON] = []
        for use in uses {
          let state = try datastore.attachment(use.id).state
          rows.append([
            use.id.description, state.rawValue, "\(use.id.length) bytes",
            "\(use.table)/\(use.record).\(use.field)",
          ])
          list.append([
            "attachment": .string(use.id.description), "state": .string(state.rawValue),
            "bytes": .count(use.id.length), "table": .string(use.table),
            "record": .string(use.record.description), "field": .string(use.field),
          ])
        }
        let found = list
        try report.print(
          ["attachments": .array(found)],
          text: columns(rows) + [counted(rows.count, "attachment")])
      }
    }
  }

  struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "get", abstract: "Writes a content to a file or to standard output.",
      discussion: "One that is not on this device is fetched from the shared folder.")

    @Argument(help: "An attachment, or table, record and field that have one.")
    var place: [String]

    @Option(name: .shortAndLong, help: "The file to write (default, and -: standard output).")
    var output: String?

    @OptionGroup var store: StoreOptions

    func run() async throws {
      let datastore = try store.open(.writing)
      do {
        let attachment = try find(datastore)
        try await attachment.fetch()
        var isBegun = false
        do {
          try write(attachment, &isBegun)
        } catch let error as CairnError where error.code == .corrupt && !isBegun {
          // What is here is damaged, and was put aside; nothing of it was given out.
          try await attachment.fetch()
          try write(attachment, &isBegun)
        }
      } catch {
        // The first error says more than what closing might add.
        do { try datastore.close() } catch {}
        throw error
      }
      try datastore.close()
    }

    /// - Parameter isBegun: Set before anything is given out that can't be taken back.
    private func write(_ attachment: Attachment, _ isBegun: inout Bool) throws {
      guard let output, !Descriptor.isStandardOutput(output) else {
        return try attachment.read { bytes throws(CairnError) in
          isBegun = true
          do { try Console.put(bytes) } catch {
            throw CairnError(.fileIO, "can't write to standard output")
          }
        }
      }
      let isReplaced = Descriptor.isReplaced(output)
      try Descriptor.replace(output) { put in
        try attachment.read { bytes throws(CairnError) in
          if !isReplaced { isBegun = true }
          try put(bytes)
        }
      }
    }

    private func find(_ datastore: Datastore) throws -> Attachment {
      if place.count == 1, let id = AttachmentID(place[0]) { return datastore.attachment(id) }
      guard place.count == 3 else {
        throw ToolError.usage("say which: SHA-256-length, or TABLE RECORD FIELD")
      }
      let record = try existingRecord(place[1], of: existingTable(place[0], of: datastore))
      guard let found = try record.attachment(place[2]) else {
        throw ToolError.notFound("\(place[0])/\(place[1]) has no attachment \(place[2])")
      }
      return found
    }
  }

  struct Put: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "put", abstract: "Adds the content of a file, and sets a field to it.",
      discussion: """
        Without table, record and field it only prints the attachment; a content that no record \
        refers to is removed after 30 days.
        """)

    @Argument(help: "The file, a regular one.")
    var file: String

    @Argument(help: "Table, record and field.")
    var place: [String] = []

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func validate() throws {
      guard place.isEmpty || place.count == 3 else {
        throw ValidationError("say which field: TABLE RECORD FIELD")
      }
    }

    func run() throws {
      try store.withDatastore(.writing) { datastore in
        let record =
          place.isEmpty
          ? nil : try existingRecord(place[1], of: existingTable(place[0], of: datastore))
        let attachment = try datastore.attach(file: file)
        if let record {
          try record.set(place[2], attachment)
          _ = try datastore.sync()
        }
        try report.print(
          [
            "attachment": .string(attachment.id.description), "bytes": .count(attachment.length),
          ], text: [attachment.id.description])
      }
    }
  }
}

extension BlobCommand {
  struct Fetch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "fetch", abstract: "Fetches the contents that are not on this device.",
      discussion: """
        Those that are here are read to the last byte, also if no record refers to them; one that \
        is damaged goes into quarantine and is fetched anew. One that no record refers to stays \
        until the right one has come, or the folder has answered that it does not have it. The \
        exit status is 1 if one of them can't be had, unless no record refers to it and the folder \
        does not have it.
        """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    private struct Result {
      var fetched: [String] = []
      /// Damaged ones that no record refers to, and that the folder does not have.
      var putAside: [String] = []
      var problems: [String] = []
    }

    func run() async throws {
      let datastore = try store.open(.writing)
      var result = Result()
      do {
        let used = Set(try datastore.attachments().map(\.id))
        let hashes = Set(used.map(\.sha256))
        let found = try datastore.findDamaged(used: hashes)
        await fetch(used, found, datastore, &result)
        await mend(found.filter { !hashes.contains($0.id.sha256) }, datastore, &result)
      } catch {
        // The first error says more than what closing might add.
        do { try datastore.close() } catch {}
        throw error
      }
      try datastore.close()
      try report.print(
        [
          "fetched": .array(result.fetched.map(JSON.string)),
          "putAside": .array(result.putAside.map(JSON.string)),
          "problems": .array(result.problems.map(JSON.string)),
        ],
        text: ["fetched \(counted(result.fetched.count, "attachment"))"]
          + result.putAside.map { "put aside: \($0), which was damaged; no record refers to it" }
          + result.problems.map { "problem: " + $0 })
      if !result.problems.isEmpty { throw ExitCode(ExitStatus.failure.rawValue) }
    }

    /// Those that records refer to.
    private func fetch(
      _ used: Set<AttachmentID>, _ found: [(id: AttachmentID, failure: CairnError?)],
      _ datastore: Datastore, _ result: inout Result
    ) async {
      for id in used.sorted(by: { $0.description < $1.description }) {
        let attachment = datastore.attachment(id)
        do throws(CairnError) {
          let unread = found.first { $0.id == id && $0.failure != nil }
          if let failure = unread?.failure { throw failure }
          if try attachment.state == .here { continue }
          try await attachment.fetch()
          result.fetched.append(id.description)
        } catch { result.problems.append(error.message) }
      }
    }

    /// Damaged ones that no record refers to: the trash may, or a record that is still to be set.
    private func mend(
      _ found: [(id: AttachmentID, failure: CairnError?)], _ datastore: Datastore,
      _ result: inout Result
    ) async {
      var seen: Set<String> = []
      for (id, failure) in found where seen.insert(id.sha256).inserted {
        if let failure {
          result.problems.append(failure.message)
          continue
        }
        do throws(CairnError) {
          if let whole = try await datastore.fetchAgain(id) {
            result.fetched.append(whole.description)
          } else {
            result.putAside.append(id.description)
          }
        } catch { result.problems.append(error.message) }
      }
    }
  }

  struct Collect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "gc", abstract: "Removes contents that no record refers to any more.",
      discussion: """
        Here, and in the shared folder what this device has put there, once all other devices have \
        told that they know what this one knows. Records in conflict and in the trash keep theirs.
        """)

    @Option(name: .long, help: "Days that a content stays after its last use (default: 30).")
    var graceDays: Double?

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func validate() throws {
      if let graceDays, !(graceDays >= 0 && graceDays <= 10_000) {
        throw ValidationError("--grace-days is a number from 0 to 10000")
      }
    }

    func run() async throws {
      let datastore = try store.open(.writing)
      let found: AttachmentCollection
      do {
        found = try await datastore.collectAttachments(graceSeconds: graceDays.map { $0 * 86_400 })
      } catch {
        // The first error says more than what closing might add.
        do { try datastore.close() } catch {}
        throw error
      }
      try datastore.close()
      try report.print(
        [
          "removedHere": .count(found.removedHere), "bytesHere": .count(found.bytesHere),
          "removedInFolder": .count(found.removedInFolder),
          "bytesInFolder": .count(found.bytesInFolder), "waiting": .count(found.waiting),
          "unacknowledged": .count(found.unacknowledged),
          "needsNewerVersion": .bool(found.needsNewerVersion),
        ],
        text: [
          "removed \(counted(found.removedHere, "content")) here (\(found.bytesHere) bytes) and "
            + "\(found.removedInFolder) in the folder (\(found.bytesInFolder) bytes)",
          "\(found.waiting) unused and kept for a while, \(found.unacknowledged) until all devices "
            + "know",
        ]
          + (found.needsNewerVersion
            ? ["nothing was removed: a record has an attachment of a newer version"] : []))
    }
  }
}
