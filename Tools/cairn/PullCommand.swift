#if CAIRN_SERVERS
  import ArgumentParser
  import Cairn
  import CairnCouchDB
  import CairnToolText

  /// `cairn pull`: databases of other systems, followed into tables.
  struct PullCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "pull",
      abstract: "Follows databases of CouchDB into tables of a datastore, one way.",
      discussion: """
        The documents of a database are the records of a table of its name: members that fields \
        can hold are fields, and nothing of the rest is lost (see cairn pull export). Attachments \
        are in NAME.attachments.
        """,
      subcommands: [
        PullCouchDBCommand.self, PullDatabasesCommand.self, PullExportCommand.self,
        PullPurgeCommand.self, PullForgetCommand.self,
      ])

    /// A database that was pulled before.
    static func database(_ name: String, of datastore: Datastore) throws -> CouchDBDatabase {
      let databases = try CouchDBStore(datastore).databases()
      guard let database = databases.first(where: { $0.name == name }) else {
        throw ToolError.notFound("no database \(name) was pulled into \(datastore.id)")
      }
      return database
    }
  }

  struct PullDatabasesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "databases", abstract: "Lists the databases that were pulled, with counts.")

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try store.withDatastore { datastore in
        var rows = [
          ["database", "documents", "attachments", "stale", "waiting", "conflicts", "url"]
        ]
        var items: [JSON] = []
        for database in try CouchDBStore(datastore).databases() {
          let counts = try database.statistics()
          let numbers = [
            counts.documents, counts.attachments, counts.staleAttachments, counts.waitingDocuments,
            counts.conflictedDocuments,
          ]
          let url = try database.url
          rows.append([database.name] + numbers.map(String.init) + [url ?? ""])
          items.append([
            "database": .string(database.name), "url": .optional(url),
            "sequence": .optional(try database.sequence), "documents": .count(numbers[0]),
            "attachments": .count(numbers[1]), "staleAttachments": .count(numbers[2]),
            "waitingDocuments": .count(numbers[3]), "conflictedDocuments": .count(numbers[4]),
          ])
        }
        try report.print(["databases": .array(items)], text: columns(rows))
      }
    }
  }

  struct PullExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Writes the documents of a database as JSON lines, as CouchDB gave them.",
      discussion: """
        A line is a document with its members in their order, nothing lost, behind _id and _rev; \
        without its attachments. Documents come in the order of their records' ids.
        """)

    @Argument(help: "Database, as cairn pull databases calls it.")
    var database: String

    @Argument(help: "File to write, replaced as a whole; - for standard output.")
    var file = "-"

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      var (count, size) = (0, 0)
      let isPrinted = Descriptor.isStandardOutput(file)
      try store.withDatastore { datastore in
        let database = try PullCommand.database(database, of: datastore)
        // A line at a time: there may be more of them than memory has room for.
        func write(_ put: ([UInt8]) throws -> Void) throws {
          for document in try database.documents().sorted(by: { $0.record.id < $1.record.id }) {
            let line = Array(try document.json.utf8) + [UInt8(ascii: "\n")]
            try put(line)
            (count, size) = (count + 1, size + line.count)
          }
        }
        if isPrinted {
          try write(Console.put)
        } else {
          try Descriptor.replace(file) { put in try write { try put($0) } }
        }
      }
      if isPrinted { return }
      try report.print(
        ["database": .string(database), "documents": .count(count), "bytes": .count(size)],
        text: ["\(counted(count, "document")) of \(database) into \(file)"])
    }
  }

  struct PullPurgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "purge",
      abstract: "Removes what was pulled of a database; the next pull begins at the beginning.")

    @Argument(help: "Database, as cairn pull databases calls it.")
    var database: String

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try store.withDatastore(.writing) { try PullCommand.database(database, of: $0).purge() }
      try report.print(["purged": .string(database)], text: ["\(database) is empty"])
    }
  }

  struct PullForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "forget", abstract: "Removes a database with all that was pulled of it.")

    @Argument(help: "Database, as cairn pull databases calls it.")
    var database: String

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try store.withDatastore(.writing) { try PullCommand.database(database, of: $0).destroy() }
      try report.print(["forgotten": .string(database)], text: ["\(database) is gone"])
    }
  }
#endif
