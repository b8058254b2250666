import ArgumentParser
import Cairn
import CairnToolText

/// `cairn follow`: somebody else's datastore, one way.
struct FollowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "follow",
    abstract: "Brings somebody else's datastore here, one way, and keeps it up to date.",
    discussion: """
      Nothing is ever written to the shared folder, and its devices do not know of this one. Goes \
      on where it ended the last time. What came is read with the other commands (ls, query, get, \
      export ...) and the same --root; those that would change it fail. The root holds one \
      followed datastore and nothing else; cairn unfollow removes it.
      """)

  /// Which contents of attachments come by themselves.
  enum Attachments: String, ExpressibleByArgument, CaseIterable {
    case always, demand, never

    var policy: AttachmentPolicy {
      switch self {
      case .always: .always
      case .demand: .onDemand
      case .never: .never
      }
    }
  }

  @Argument(help: ArgumentHelp(FolderOption.help + ". Remembered.", valueName: "folder"))
  var place: String?

  @Option(name: .long, help: "Keep this table only; may be repeated. Remembered.")
  var table: [String] = []

  @Option(name: .long, help: "Keep all tables but this one; may be repeated. Remembered.")
  var exceptTable: [String] = []

  @Flag(name: .long, help: "Keep all tables again.")
  var allTables = false

  @Option(name: .long, help: "Contents of attachments: always, demand (cairn blob get), never.")
  var attachments = Attachments.always

  @Flag(name: .long, help: "Go on, and bring whatever changes, until it is interrupted (Ctrl-C).")
  var watch = false

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() async throws {
    guard [!table.isEmpty, !exceptTable.isEmpty, allTables].count(where: \.self) <= 1 else {
      throw ToolError.usage("--table, --except-table and --all-tables exclude one another")
    }
    let follower = try await open()
    do { try await run(follower) } catch {
      // The first error says more than what closing might add.
      do { try follower.close() } catch {}
      throw error
    }
    try follower.close()
  }

  /// What was chosen now; nil: what was chosen before.
  private var tables: FollowPolicy.Tables? {
    if !table.isEmpty { return .only(Set(table)) }
    if !exceptTable.isEmpty { return .except(Set(exceptTable)) }
    return allTables ? .all : nil
  }

  private func open() async throws -> DatastoreFollower {
    var store = store
    if let place { store.folder = place }
    guard store.isFollowed else {
      return try await store.follow(
        store.datastore, tables: tables ?? .all, attachments: attachments.policy)
    }
    let follower = try store.openFollowed(.creating, attachments: attachments.policy)
    guard let tables, tables != follower.policy.tables else { return follower }
    try follower.close()
    return try await store.follow(follower.id, tables: tables, attachments: attachments.policy)
  }

  private func run(_ follower: DatastoreFollower) async throws {
    let changes = follower.progressChanges
    try await PullDisplay.run(
      "following", changes, { $0.update($1) }, abort: { follower.abort() }
    ) {
      defer { noteTraffic(follower.datastore) }
      if watch {
        let failure = FirstFailure()
        try await follower.follow { result in
          // Following ends with what can't be printed; the failures it mends are told.
          switch result {
          case .success(let pull):
            remember()
            do { try print(pull, follower) } catch {
              failure.note(error)
              follower.abort()
            }
          case .failure(let error): Console.error("cairn: \(error.message)")
          }
        }
        try failure.rethrow()
      } else {
        let pull = try await follower.pull()
        remember()
        try print(pull, follower)
      }
    }
  }

  /// The folder is the one that is followed.
  private func remember() {
    var store = store
    if let place { store.folder = place }
    do { try store.remember() } catch {
      Console.error("cairn: the folder is not remembered: \(error)")
    }
  }

  /// Remembers what it has cost, also if it failed.
  private func noteTraffic(_ datastore: Datastore) {
    guard let traffic = datastore.traffic else { return }
    do {
      try TrafficRecord.add(traffic, root: store.rootPath, datastore: datastore.id)
    } catch {
      Console.error("cairn: what it has cost is not remembered: \(error)")
    }
  }

  private func print(_ pull: ExchangeReport, _ follower: DatastoreFollower) throws {
    let summary = FollowSummary(
      pull: pull, id: follower.id, tables: try follower.datastore.tables().count,
      records: follower.datastore.recordCount)
    try report.print(summary.json, text: summary.lines)
  }
}

/// `cairn unfollow`: what was followed goes from this device.
struct UnfollowCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unfollow",
    abstract: "Removes what was followed from this device.",
    discussion: "The shared folder is neither asked nor told.")

  @Option(name: .long, help: "Directory of the datastore (default: $CAIRN_ROOT or ./cairn-data).")
  var root: String?

  @OptionGroup var report: ReportOptions

  func run() throws {
    try Descriptor.checkRoot(root)
    let root = Descriptor.root(root)
    try Self.unsubscribe(root)
    try report.print(["unfollowed": .string(root)], text: ["nothing is followed in \(root)"])
  }

  private static func unsubscribe(_ root: String) throws {
    let before = try Settings(root: root)
    var settings = before
    (settings.folder, settings.user) = (nil, nil)
    (settings.credentials, settings.certificates) = (nil, nil)
    let isFollowed = FollowedRoot.isOne(root)
    // What comes into this root next is not for that folder. First, as no later call can tell any
    // more, once nothing is followed here, that there is something to be forgotten.
    if isFollowed { try settings.save(root: root) }
    do { try DatastoreFollower.unsubscribe(root: root) } catch {
      if FollowedRoot.isOne(root), settings != before {
        // The first error says more than what this might add.
        do { try before.save(root: root) } catch {}
      }
      throw error
    }
    // Of one that was interrupted before.
    if !isFollowed { try settings.save(root: root) }
  }
}
