internal import CairnBytes
package import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// All datastores under one directory: the local ones of an app, or those of an account.
///
/// A local manager's datastores stay on this device. An account's datastores are exchanged with
/// the account's folder: a private id that several devices create, offline or not, is one
/// datastore there, and its contents merge. Thread-safe.
///
/// It holds the datastores that it has opened, and they hold it: one that is just dropped stays,
/// and its datastores stay open and locked until the process ends. Close them, or call
/// ``shutDown()``.
public final class DatastoreManager: Sendable {
  /// The directory of the datastores on this device. It belongs to this library alone. As it was
  /// given; where letters may be large or small and it was spelled otherwise than it is on the
  /// disk, its own absolute path, so that all who open it hold the same locks.
  public let root: String
  /// Whose datastores they are; nil for local ones.
  public let account: Account?
  /// How its datastores behave.
  public let options: Options
  let machine: Machine
  /// What is followed here; nil for datastores that this device takes part in.
  let following: FollowedSource?
  /// Tells whether the root may be made; nil for one that no account manager has.
  let accountRoot: AccountRoot?
  /// Makes the account's folder; nil for local datastores.
  let folder: (@Sendable () -> any Folder)?
  /// The user's organisation, as far as it is known.
  let organization = Lock<String?>(nil)
  /// What this device knows of the account's list of datastores.
  let installation: Installation
  /// The exchange of that list; nil for local datastores.
  let catalogue: CatalogueExchange?
  let listChanges = LateBroadcast {
    Broadcast(latest: [DatastoreInfo].self) { $0.map(\.face) == $1.map(\.face) }
  }
  let state = Lock(State())
  /// What a crash left in a local root was looked for.
  let hasClearedUp = Atomic<Bool>(false)

  struct State {
    var isShutDown = false
    var open = OpenDatastores()
    var background: BackgroundRounds?
    /// Who is told of what the rounds in the background did.
    var reports: ReportHandler<CatalogueReport>?
  }

  /// - Throws: `parent` if the root and the account's folder lie inside one another,
  ///   `illegalArgument` for the address of a server that nothing understands.
  public convenience init(
    root: String, account: Account? = nil, options: Options = Options()
  ) throws(CairnError) {
    if case .directory(let path) = account?.folder {
      try DatastoreManager.checkApart(root, path)
    }
    let folder = try account.map { account throws(CairnError) in
      try account.folder.opener(options.folderKinds, machine: .real)
    }
    self.init(
      root: PathName.root(root), account: account, folder: folder, options: options,
      machine: .real)
  }

  package convenience init(
    root: String, account: Account?, folder: (@Sendable () -> any Folder)?, options: Options,
    machine: Machine
  ) {
    self.init(
      root: root, account: account, folder: folder, options: options, machine: machine,
      following: nil)
  }

  init(
    root: String, account: Account?, folder: (@Sendable () -> any Folder)?, options: Options,
    machine: Machine, following: FollowedSource?, accountRoot: AccountRoot? = nil
  ) {
    self.root = root
    self.following = following
    self.accountRoot = accountRoot
    self.account = account
    self.folder = folder
    self.options = options
    self.machine = machine
    installation = Installation(root: root, machine: machine, accountRoot: accountRoot)
    // Who follows says nothing there.
    catalogue = (following == nil ? folder : nil).map {
      CatalogueExchange(root: root, folder: $0(), machine: machine)
    }
  }

  /// A datastore is never kept where a sync engine copies files behind its back.
  static func checkApart(_ root: String, _ folder: String) throws(CairnError) {
    let (a, b) = (PathName.absolute(root), PathName.absolute(folder))
    guard a != b, !a.hasPrefix(b + "/"), !b.hasPrefix(a + "/") else {
      throw CairnError(
        .parent,
        "the datastores (\(a)) and the shared folder (\(b)) must not lie inside one another: "
          + "choose another root", file: a)
    }
  }

  /// Whether its datastores stay on this device.
  public var isLocal: Bool { if case nil = account { true } else { false } }
  /// Whether `shutDown()` was called.
  public var isShutDown: Bool { state.withLock { $0.isShutDown } }

  static let shutDownError = CairnError(
    .shutdown, "the manager was shut down; make a new one")

  func checkUsable() throws(CairnError) {
    if isShutDown { throw DatastoreManager.shutDownError }
    if following == nil { try checkNoFollower() }
    try settleMigration()
  }

  /// Throws if its datastore is somebody else's.
  func checkNotFollowing() throws(CairnError) {
    guard following != nil else { return }
    throw CairnError(
      .readOnly,
      "the datastore in \(root) is somebody else's, and is followed here: use its "
        + "DatastoreFollower. There is nothing to repair: if the copy is damaged, unsubscribe and "
        + "subscribe again, which brings all of it anew")
  }

  /// Throws if the root is a follower's: nothing of it may come into a folder.
  func checkNoFollower() throws(CairnError) {
    let path = root + "/" + FileName.following
    do throws(DiskError) { if try machine.disk.info(path) == nil { return } } catch {
      throw CairnError(error)
    }
    throw CairnError(
      .readOnly,
      "a datastore is followed in \(root): open it with a DatastoreFollower, or use another root",
      file: path)
  }

  func locked<R>(
    _ body: (inout State) throws(CairnError) -> R
  ) throws(CairnError) -> R {
    try state.withLock { state throws(CairnError) in
      if state.isShutDown { throw DatastoreManager.shutDownError }
      return try body(&state)
    }
  }

  // MARK: places

  func directory(of id: String, generation: UInt32) -> String {
    root + "/" + FileName.directory(datastore: id, generation: generation)
  }

  /// Whose bytes a file holds: the same on all devices that use the same id, and another for each
  /// generation of it.
  static func identity(of id: String, generation: UInt32) -> UInt128 {
    let suffix = generation == 0 ? "" : " \(generation)"
    return XXH3.hash128("cairn datastore " + id + suffix)
  }

  func isThere(_ directory: String) throws(CairnError) -> Bool {
    do { return try machine.disk.info(directory + "/" + FileName.current) != nil } catch {
      throw CairnError(error)
    }
  }

  /// Throws if the root is missing, and its account was unlinked: nobody would ever remove what is
  /// made there. For who holds no lock, as it may shut this manager down.
  func checkRoot() throws(CairnError) {
    guard let accountRoot, accountRoot.isGone else { return }
    accountRoot.look()
    throw DatastoreManager.shutDownError
  }

  // MARK: the end

  /// Closes all datastores; changes not synced are lost, those not published are published when
  /// they are opened the next time. Background work ends. The manager and all its objects throw
  /// `shutdown` after that.
  public func shutDown() throws(CairnError) {
    try shutDown(
      because: StoreError(
        .shutdown, "the manager of this datastore was shut down; make a new one and open it there"))
  }

  /// The same for another reason, which the objects throw from then on.
  func shutDown(because ending: StoreError) throws(CairnError) {
    let (open, background, reports) = state.withLock { state in
      state.isShutDown = true
      defer { (state.open, state.background, state.reports) = (OpenDatastores(), nil, nil) }
      return (state.open.values, state.background, state.reports)
    }
    // What the app's handler holds goes behind the lock.
    defer { withExtendedLifetime(reports) {} }
    background?.stop()
    catalogue?.cancel()
    listChanges.finish()
    var failure: CairnError?
    for datastore in open {
      datastore.store.end(ending)
      do throws(CairnError) { try datastore.close() } catch { failure = error }
    }
    // A round that is under way writes nothing any more: the root may go after this.
    installation.end()
    if let failure { throw failure }
  }

  func forget(_ datastore: Datastore) {
    state.withLock { state in
      if state.open[datastore.id] === datastore { state.open[datastore.id] = nil }
    }
  }
}
