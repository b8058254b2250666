#if CAIRN_SERVERS
  import ArgumentParser
  import Cairn
  import CairnCouchDB
  import CairnToolText

  struct PullCouchDBCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "couchdb", abstract: "Pulls a database of CouchDB.",
      discussion: """
        Goes on where the last pull ended, after an interruption behind the last document that \
        came. Nothing is ever written to the server. A user and a password are those of \
        --credentials or of CAIRN_USER and CAIRN_PASSWORD, never part of the URL. A document or an \
        attachment that can't be had is a problem in the report and no failure: the exit status is \
        0, and the next pull tries again.
        """)

    @Argument(help: "https://HOST:6984/DATABASE; http:// for this machine itself only.")
    var url: String

    @Option(name: .long, help: "Table of the documents (default: after the database).")
    var name: String?

    @Flag(name: .long, help: "Go on, and pull whatever changes, until it is interrupted (Ctrl-C).")
    var follow = false

    @Flag(name: .long, help: "Leave the contents of attachments on the server.")
    var noAttachments = false

    @Flag(name: .long, help: "Log in once, with a cookie, instead of with each request.")
    var session = false

    @Option(name: .long, help: "Documents that one request asks for; 0: a page of changes.")
    var docsPerRequest = 100

    @Option(name: .long, help: "Requests at once.")
    var maxFetches = 3

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() async throws {
      guard docsPerRequest >= 0, maxFetches > 0 else {
        throw ToolError.usage("--docs-per-request is 0 or more, --max-fetches 1 or more")
      }
      var options = CouchDBOptions()
      (options.docsPerRequest, options.maxConcurrentFetches) = (docsPerRequest, maxFetches)
      options.usesSession = session
      if noAttachments { options.policy = .documentsOnly }
      let settings = try store.settings()
      if let file = settings.credentials { options.server.credentials = .file(file) }
      options.server.certificateFile = settings.certificates
      let datastore = try store.open(.creating)
      do {
        let (couch, table) = (CouchDBStore(datastore), name ?? Self.name(of: url))
        let isNew = try !couch.databases().contains { $0.name == table }
        let database = try couch.database(table, url: url)
        do { try await run(CouchDBFollower(database, options: options)) } catch {
          if isNew, !follow { Self.forget(database) }
          throw Self.untiedFromExchanges(error)
        }
      } catch {
        // The first error says more than what closing might add.
        do { try datastore.close() } catch {}
        throw error
      }
      try datastore.close()
    }

    /// An address that gave nothing the first time may be a mistyped one, and what is noted of it
    /// would go to all devices.
    private static func forget(_ database: CouchDBDatabase) {
      // The error of the pull says more.
      do {
        let counts = try database.statistics()
        if try database.sequence == nil, counts.documents + counts.waitingDocuments == 0 {
          try database.destroy()
        }
      } catch {}
    }

    /// What servers refuse is said for exchanges, of which there is none here.
    private static func untiedFromExchanges(_ error: any Error) -> any Error {
      guard var failure = error as? CairnError else { return error }
      failure.message = failure.message.replacing(
        "the next exchange tries again", with: "the next pull tries again")
      return failure
    }

    private func run(_ follower: CouchDBFollower) async throws {
      let changes = follower.progressChanges
      try await PullDisplay.run(
        "pulling", changes, { $0.update($1) }, abort: { follower.abort() }
      ) {
        if follow {
          let failure = FirstFailure()
          try await follower.follow { result in
            // Following ends with what can't be printed; the failures it mends are told.
            switch result {
            case .success(let pull):
              do { try print(pull, follower.database) } catch {
                failure.note(error)
                follower.abort()
              }
            case .failure(let error): Console.error("cairn: \(error.message)")
            }
          }
          try failure.rethrow()
        } else {
          try print(try await follower.pull(), follower.database)
        }
      }
    }

    private func print(_ pull: CouchDBReport, _ database: CouchDBDatabase) throws {
      let document: JSON = [
        "database": .string(database.name), "documents": .count(pull.documents),
        "deletions": .count(pull.deletions), "unchanged": .count(pull.unchanged),
        "conflicted": .count(pull.conflicted), "attachments": .count(pull.attachments),
        "failedAttachments": .count(pull.failedAttachments), "left": .count(pull.left),
        "recreated": .bool(pull.wasRecreated), "requests": .count(pull.traffic.requests),
        "receivedBytes": .count(pull.traffic.receivedBytes),
        "problems": .array(pull.problems.map(JSON.string)),
      ]
      var lines = [
        "\(database.name): \(counted(pull.documents, "document")), "
          + "\(counted(pull.deletions, "deletion")), "
          + "\(counted(pull.attachments, "attachment")); "
          + "\(counted(pull.traffic.requests, "request")), "
          + "\(pull.traffic.receivedBytes) bytes received"
      ]
      if pull.wasRecreated {
        lines.append("the database on the server is another one than before; this is that one now")
      }
      if pull.conflicted > 0 {
        lines.append("\(counted(pull.conflicted, "document")) with revisions that lost")
      }
      lines += pull.problems.map { "problem: " + $0 }
      try report.print(document, text: lines)
    }

    /// The last part of the URL, as far as a table can be called so.
    static func name(of url: String) -> String {
      let last = url.split(separator: "/").last.map(String.init) ?? ""
      let allowed = last.prefix(48).map {
        $0.isASCII && ($0.isLetter || $0.isNumber || "-._+=".contains($0)) ? $0 : "-"
      }
      return String(allowed)
    }
  }
#endif
