internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Follows somebody's datastore in a shared folder: brings its tables here, and keeps them up to
/// date. One way: nothing is ever written to the folder, and its devices do not know of this one.
///
/// What was pulled is there offline, in ``datastore``, with the queries, indexes and observers of
/// any datastore; every change of it throws `readOnly`. A pull may end at any moment, by `abort()`,
/// an error or a crash: the next goes on behind what has come. Thread-safe.
public final class DatastoreFollower: Sendable {
  /// Id of the datastore that is followed.
  public let id: String
  /// Where it is.
  public let folder: FolderLocation
  /// The directory of the copy on this device. It has one follower's files and nothing else.
  public let root: String
  /// What is kept of it here.
  public let policy: FollowPolicy
  /// The copy, which nobody changes here.
  ///
  /// Its `sync()` makes visible what `exchange()` has fetched, as for any datastore; `pull()` does
  /// both until nothing is left to come. What devices delete is deleted here, however much that is,
  /// and nothing stays in the trash.
  public let datastore: Datastore
  let turn = ExchangeTurn()
  let work = Lock(Work())
  let machine: Machine

  struct Work {
    /// What ends those that follow, by number.
    var ends: [Int: Callback] = [:]
    var count = 0
  }

  /// Opens what was subscribed to in `root` before, with the tables that were chosen last, whether
  /// a pull has brought them since or not. Asks the folder nothing, so it works offline.
  ///
  /// - Parameters:
  ///   - root: The directory of the copy.
  ///   - folder: Where the datastore is. Which folder that is, is checked by the next pull.
  ///   - attachments: Which contents of attachments are fetched.
  ///   - options: How the copy behaves. Their attachments, trash and mass delete limit do not
  ///     matter here.
  /// - Throws: `notFound` if nothing is followed there, `alreadyOpen` if it is open here or in
  ///   another process, `parent` if root and folder lie inside one another, `illegalArgument` for
  ///   an address that nothing understands, `corrupt` and `needsNewerVersion` for files at home.
  public convenience init(
    root: String, folder: FolderLocation, attachments: AttachmentPolicy = .always,
    options: Options = Options()
  ) throws(CairnError) {
    let root = PathName.root(root)
    try DatastoreFollower.checkApart(root, folder)
    let file = try DatastoreFollower.requireSubscription(root, .real)
    let policy = FollowPolicy(
      tables: FollowPolicy.Tables(file.tables), attachments: attachments)
    try self.init(
      file, folder, root: root, policy: policy, options: options,
      opener: try folder.opener(options.folderKinds, machine: .real), machine: .real)
  }

  /// Opens a copy, or makes an empty one.
  init(
    _ file: FollowFile, _ folder: FolderLocation, root: String, policy: FollowPolicy,
    options: Options, opener: @escaping @Sendable () -> any Folder, machine: Machine
  ) throws(CairnError) {
    var options = options
    options.attachments = policy.attachments
    // The folder is the truth: there is nothing of this device's own that it could take away.
    options.massDeleteLimit = nil
    options.trashDays = 0
    let source = FollowedSource(
      file, root: root, tables: policy.tables.choice, machine: machine)
    let manager = DatastoreManager(
      root: root, account: Account(user: "", folder: folder),
      folder: { ReadOnlyFolder(opener()) }, options: options, machine: machine, following: source)
    (id, self.folder, self.root) = (file.id, folder, root)
    (self.policy, self.machine) = (policy, machine)
    datastore = try manager.openFollowed(source)
    do throws(CairnError) { try source.begin(isBlank: datastore.store.isBlank) } catch {
      // The first error says more.
      do throws(CairnError) { try manager.shutDown() } catch {}
      throw error
    }
  }

  /// What is followed in a root, as lists show it, without opening it: as it was when it was last
  /// pulled, or closed. nil if nothing is followed there.
  ///
  /// - Throws: `corrupt` and `needsNewerVersion` for the note of what is followed; errors of the
  ///   disk.
  public static func info(root: String) throws(CairnError) -> DatastoreInfo? {
    let machine = Machine.real
    guard let file = try FollowFile.read(root, machine) else { return nil }
    return try info(file, root: root, known: nil, disk: machine.disk)
  }

  static func info(
    _ file: FollowFile, root: String, known: InfoFile?, disk: any Disk
  ) throws(CairnError) -> DatastoreInfo {
    var here = known
    if here == nil { here = try InfoFile.read(root + "/" + FileName.followed, disk: disk) }
    var info = DatastoreInfo(id: file.id, view: here?.view, isOnDevice: true)
    info.role = .viewer
    return info
  }

  static func requireSubscription(
    _ root: String, _ machine: Machine
  ) throws(CairnError) -> FollowFile {
    if let file = try FollowFile.read(root, machine) { return file }
    throw CairnError(
      .notFound, "nothing is followed in \(root); subscribe to a datastore first",
      file: root + "/" + FileName.following)
  }

  static func checkApart(_ root: String, _ folder: FolderLocation) throws(CairnError) {
    if case .directory(let path) = folder { try DatastoreManager.checkApart(root, path) }
  }

  /// Whether it has not been closed.
  public var isOpen: Bool { datastore.isOpen }

  /// How far a pull is.
  public var progress: TransferProgress { datastore.progress }

  /// The progress as it is now, and whenever it has changed; the newest only.
  public var progressChanges: Updates<TransferProgress> { datastore.progressChanges }

  /// Ends what is under way: `pull()` throws `cancelled` and `follow(onPull:)` returns, soon: after
  /// the file that is being fetched, or the part of a snapshot, at the latest. Does nothing if
  /// nothing is.
  public func abort() {
    let ends = work.withLock { work in
      defer { work.ends = [:] }
      return Array(work.ends.values)
    }
    for end in ends { end.call?() }
    turn.cancel()
  }

  /// Ends what is under way, and closes the copy; what was pulled stays. Closing twice does
  /// nothing.
  public func close() throws(CairnError) {
    abort()
    try datastore.manager.shutDown(
      because: StoreError(
        .closed,
        "the follower of \(id) was closed; open it again with DatastoreFollower(root:folder:)"))
  }
}
