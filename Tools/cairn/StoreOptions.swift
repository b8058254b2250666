import ArgumentParser
import Cairn

/// Which datastore a command works on.
struct StoreOptions: ParsableArguments {
  @Option(name: .long, help: "Directory of the datastores (default: $CAIRN_ROOT or ./cairn-data).")
  var root: String?

  @Option(name: .customLong("datastore"), help: "Id of the datastore (default: default).")
  var named: String?

  var datastore: String { named ?? "default" }

  @Option(
    name: .long,
    help: """
      Shared folder where devices meet: a directory, webdav+https://HOST/PATH or \
      s3://BUCKET/PREFIX?endpoint=https://HOST; links the datastores of this root. Remembered.
      """)
  var folder: String?

  @Option(
    name: .long,
    help: """
      File (mode 600) of a server's credentials: CAIRN_USER= and CAIRN_PASSWORD=, or CAIRN_TOKEN=, \
      or AWS_ACCESS_KEY_ID= and AWS_SECRET_ACCESS_KEY=, a line each. Its path is remembered. \
      Without it they are in the environment.
      """)
  var credentials: String?

  @Option(
    name: .long,
    help: "File (PEM) of certificates that are trusted besides the system's. Remembered.")
  var certificates: String?

  @Option(name: .long, help: "Who the user is in the folder. Remembered.")
  var user: String?

  @Option(name: .long, help: "standard (10 MiB a datastore) or large (16 GiB). Remembered.")
  var limits: LimitsChoice?

  var rootPath: String { Descriptor.root(root) }

  func validate() throws { try Descriptor.checkRoot(root) }

  /// For what works on all datastores of a root: one that was named would be passed over.
  func refuseDatastore() throws {
    guard let named else { return }
    throw ToolError.usage(
      "--datastore \(named): this is done with all datastores of a root; leave it out")
  }

  /// The options given here over those remembered.
  func settings() throws -> Settings {
    var settings = try Settings(root: rootPath)
    if let folder { settings.folder = try FolderOption.normalized(folder) }
    if let credentials { settings.credentials = try Descriptor.absolute(credentials) }
    if let certificates { settings.certificates = try Descriptor.absolute(certificates) }
    if let user { settings.user = user }
    if let limits { settings.limits = limits }
    if settings.folder != nil, settings.user == nil {
      settings.user = LinkageCheck.user(of: rootPath) ?? Settings.defaultUser
    }
    for value in [
      settings.folder, settings.user, settings.credentials, settings.certificates,
    ] {
      if let value, value.isEmpty || value.contains(where: \.isNewline) {
        throw ToolError.usage(
          "--folder, --user, --credentials and --certificates hold one line of text each")
      }
    }
    return settings
  }

  /// Remembers the options for the next call, once they have proved to work.
  func remember() throws {
    // Several commands may be the first ones here at once.
    try Descriptor.locked(rootPath) {
      let settings = try settings()
      if try settings != Settings(root: rootPath) {
        try settings.save(root: rootPath)
      } else if try !Settings.isInPlace(root: rootPath) {
        // What is where an older cairn has put it is as good.
        do { try settings.save(root: rootPath) } catch {}
      }
    }
  }

  /// What a command is going to do with the datastore.
  enum Access {
    /// Nothing changes; the files are left as they are, too.
    case reading
    case writing
    /// The datastore is made if it isn't there.
    case creating
  }

  /// Runs `body` on the datastore and closes it.
  func withDatastore<R>(
    _ access: Access = .reading, _ body: (Datastore) throws -> R
  ) throws -> R {
    let datastore = try open(access)
    let result: R
    do {
      result = try body(datastore)
    } catch {
      // The first error says more than what closing might add.
      do { try datastore.close() } catch {}
      throw error
    }
    try datastore.close()
    return result
  }

  /// The open datastore, for commands that wait for something.
  func open(_ access: Access, _ budget: ServerBudget? = nil) throws -> Datastore {
    if isFollowed { return try openFollowed(access, budget).datastore }
    // A new one would be local beside those of the account, and never be exchanged.
    let isNew = access == .creating && !Doctor.ids(in: rootPath).contains(datastore)
    try refuseUnknownFolder(of: isNew ? nil : datastore)
    let manager = try manager(access, budget)
    if access == .reading { try refuseUnfetched(manager) }
    let datastore = try opened(by: manager, access)
    for note in datastore.recoveryNotes { Console.error("cairn: mended at opening: \(note)") }
    try rememberIfFree(manager)
    return datastore
  }

  private func opened(by manager: DatastoreManager, _ access: Access) throws -> Datastore {
    if access == .creating { return try manager.openOrCreateDatastore(datastore) }
    do throws(CairnError) { return try manager.openDatastore(datastore) } catch {
      guard error.code == .notFound else { throw error }
      // Others may be in the folder only.
      let ids = try manager.listDatastores().map(\.id)
      throw error.naming(ids.filter { $0 != datastore })
    }
  }

  /// Throws if the datastore is in the account's list and not here yet: opened, it would be an
  /// empty one, and nobody could tell that its answers mean nothing.
  private func refuseUnfetched(_ manager: DatastoreManager) throws {
    if manager.isLocal || Doctor.ids(in: rootPath).contains(datastore) { return }
    guard try manager.listDatastores().contains(where: { $0.id == datastore }) else { return }
    let words =
      ShellLine.option("--datastore", datastore) + ShellLine.option("--root", rootPath) + given
    throw ToolError.notFound(
      "\(datastore) is in the list of datastores and was not fetched yet; get it with "
        + ShellLine.of(["cairn", "sync"] + words))
  }

  /// What was given here and may not be remembered yet, for a command that is to work, too.
  private var given: [String] {
    [
      ("--folder", folder), ("--user", user), ("--credentials", credentials),
      ("--certificates", certificates), ("--limits", limits?.rawValue),
    ].flatMap { name, value in value.map { ShellLine.option(name, $0) } ?? [] }
  }

  /// Throws if a datastore (or any, if none is named) belongs to an account, and nobody has said
  /// here where its folder is: the root was moved, or restored without what was remembered.
  func refuseUnknownFolder(of id: String? = nil) throws {
    guard try settings().folder == nil else { return }
    if let message = LinkageCheck.missingFolder(rootPath, id: id) { throw ToolError.usage(message) }
  }

  /// For what needs a folder and was not told any.
  func noFolder() throws -> ToolError {
    try refuseUnknownFolder()
    return ToolError.usage("these datastores have no shared folder yet; link one with --folder")
  }

  /// Another folder has to prove first that it is the one that was exchanged with.
  func rememberIfFree(_ manager: DatastoreManager) throws {
    if try !namesAnother() || !manager.hasExchanged() { try remember() }
  }

  /// Whether the options name another folder than the one that is remembered.
  private func namesAnother() throws -> Bool {
    guard let known = try Settings(root: rootPath).folder else { return false }
    // An older cairn has remembered paths as they were typed.
    return try FolderOption.normalized(known) != settings().folder.map(FolderOption.normalized)
  }

  /// Whether an exchange of a datastore that goes well proves that the folder is the right one: one
  /// that was never exchanged goes with any. To be asked before it.
  func canProve(_ datastore: Datastore) throws -> Bool {
    try !namesAnother() || datastore.manager.hasExchanged(datastore)
  }

  /// Remembers the options after that exchange, unless others of this root have another folder.
  func remember(provedBy datastore: Datastore) throws {
    if try !datastore.manager.isElsewhere(datastore) { try remember() }
  }

  func manager(_ access: Access, _ budget: ServerBudget? = nil) throws -> DatastoreManager {
    guard access == .creating || Descriptor.isDirectory(rootPath) else {
      throw ToolError.notFound("there are no datastores in \(rootPath); see --root")
    }
    try FollowedRoot.refuse(rootPath)
    let settings = try settings()
    FolderOption.note(settings.folder)
    let options = options(access, settings, budget)
    let account = settings.folder.map {
      Account(user: settings.user ?? "me", folder: FolderOption.location($0))
    }
    return try DatastoreManager(root: rootPath, account: account, options: options)
  }

  private func options(
    _ access: Access, _ settings: Settings, _ budget: ServerBudget? = nil
  ) -> Options {
    var options = Options()
    options.limits = (settings.limits ?? .standard).limits
    options.compactsAutomatically = access != .reading
    options.folderKinds = FolderOption.kinds(
      credentials: settings.credentials, certificates: settings.certificates, budget: budget)
    return options
  }

  // MARK: somebody else's

  /// Whether the root holds what `cairn follow` brought.
  var isFollowed: Bool { FollowedRoot.isOne(rootPath) }

  /// The follower of this root, with the tables that were chosen.
  func openFollowed(
    _ access: Access, _ budget: ServerBudget? = nil, attachments: AttachmentPolicy = .onDemand
  ) throws -> DatastoreFollower {
    let follower = try DatastoreFollower(
      root: rootPath, folder: try followedFolder(), attachments: attachments,
      options: options(access, try settings(), budget))
    do {
      if datastore != "default", datastore != follower.id {
        throw ToolError.notFound("\(follower.id) is followed in \(rootPath), not \(datastore)")
      }
      for note in follower.datastore.recoveryNotes {
        Console.error("cairn: mended at opening: \(note)")
      }
      // Another folder has to prove first that it is the one that is followed.
      if try settings().folder == Settings(root: rootPath).folder { try remember() }
    } catch {
      // The first error says more than what closing might add.
      do { try follower.close() } catch {}
      throw error
    }
    return follower
  }

  /// The same with a choice of tables; the first time too.
  func follow(
    _ id: String, tables: FollowPolicy.Tables, attachments: AttachmentPolicy
  ) async throws -> DatastoreFollower {
    let follower = try await DatastoreFollower.subscribe(
      to: id, in: try followedFolder(), root: rootPath,
      policy: FollowPolicy(tables: tables, attachments: attachments),
      options: options(.creating, try settings()))
    // Not before it has proved to be there.
    try remember()
    return follower
  }

  private func followedFolder() throws -> FolderLocation {
    guard let folder = try settings().folder else {
      throw ToolError.usage("which shared folder is it in? cairn follow FOLDER")
    }
    FolderOption.note(folder)
    return FolderOption.location(folder)
  }
}
