internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// All datastores under one directory: the local ones of an app, or those of an account.
///
/// A local manager's datastores stay on this device. An account's datastores are exchanged with
/// the account's folder: a private id that several devices create, offline or not, is one
/// datastore there, and its contents merge. Thread-safe.
public final class DatastoreManager: Sendable {
  /// The directory of the datastores on this device. It belongs to this library alone.
  public let root: String
  /// Whose datastores they are; nil for local ones.
  public let account: Account?
  /// How its datastores behave.
  public let options: Options
  let machine: Machine
  /// Makes the account's folder; nil for local datastores.
  let folder: (@Sendable () -> any Folder)?
  /// The user's organisation, as far as it is known.
  let organization = Lock<String?>(nil)
  private let state = Lock(State())

  private struct State {
    var isShutDown = false
    var open: [String: Datastore] = [:]
  }

  /// - Throws: `parent` if the root and the account's folder lie inside one another.
  public convenience init(
    root: String, account: Account? = nil, options: Options = Options()
  ) throws(CairnError) {
    var folder: (@Sendable () -> any Folder)?
    switch account?.folder {
    case nil: break
    case .directory(let path):
      try DatastoreManager.checkApart(root, path)
      folder = { DirectoryFolder(path) }
    }
    self.init(
      root: root, account: account, folder: folder, options: options, machine: .real)
  }

  init(
    root: String, account: Account?, folder: (@Sendable () -> any Folder)?, options: Options,
    machine: Machine
  ) {
    self.root = root
    self.account = account
    self.folder = folder
    self.options = options
    self.machine = machine
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
  public var isLocal: Bool { account == nil }
  /// Whether `shutDown()` was called.
  public var isShutDown: Bool { state.withLock { $0.isShutDown } }

  /// Opens the datastore `default`, creating it if it is not there.
  public func openDefaultDatastore() throws(CairnError) -> Datastore {
    try openOrCreateDatastore("default")
  }

  /// Opens a datastore that is on this device.
  ///
  /// - Throws: `notFound` if it is not, `alreadyOpen` if it is open here or in another process.
  public func openDatastore(_ id: String) throws(CairnError) -> Datastore {
    try open(id, creates: false)
  }

  /// Opens a datastore with a private id, creating it if it is not there.
  public func openOrCreateDatastore(_ id: String) throws(CairnError) -> Datastore {
    try open(id, creates: true)
  }

  /// Creates a datastore with a new shareable id.
  public func createDatastore() throws(CairnError) -> Datastore {
    let random = machine.random
    let id = "." + Base64ID.encode(random.next(), random.next())
      + Base64ID.encode(random.next(), random.next())
    let datastore = try open(id, creates: true)
    do throws(CairnError) { try datastore.claim() } catch {
      // Nothing is left of what could not be made whole; the first error says more.
      do throws(CairnError) {
        try datastore.close()
        try removeCopy(id)
      } catch {}
      throw error
    }
    return datastore
  }

  /// Those that this manager has opened and nobody has closed.
  var openDatastores: [Datastore] { state.withLock { Array($0.open.values) } }

  private func open(_ id: String, creates: Bool) throws(CairnError) -> Datastore {
    guard Identifier.isValidDatastore(id) else {
      throw CairnError(
        .illegalArgument,
        "\"\(id)\" can't be a datastore's id: 1 to 64 of a-z 0-9 - _ . without a dot at either "
          + "end, or a dot and 1 to 63 of A-Z a-z 0-9 - _", id: id)
    }
    return try locked { (state: inout State) throws(CairnError) in
      if state.isShutDown { throw DatastoreManager.shutDownError }
      if let open = state.open[id], open.isOpen {
        throw CairnError(
          .alreadyOpen, "the datastore \(id) is open already; use the one that is", id: id)
      }
      let directory = directory(of: id)
      if !creates, try !isThere(directory) {
        throw CairnError(
          .notFound, "there is no datastore \(id) in \(root)", file: directory, id: id)
      }
      let datastore = try Datastore(id: id, manager: self, directory: directory)
      state.open[id] = datastore
      return datastore
    }
  }

  private func locked<R>(
    _ body: (inout State) throws(CairnError) -> R
  ) throws(CairnError) -> R {
    try state.withLock { state throws(CairnError) in try body(&state) }
  }

  static let shutDownError = CairnError(
    .shutdown, "the manager was shut down; make a new one")

  func directory(of id: String) -> String { root + "/" + FileName.directory(datastore: id) }

  /// Whose bytes a file holds: the same on all devices that use the same id.
  static func identity(of id: String) -> UInt128 {
    XXH3.hash128(Array("cairn datastore ".utf8) + Array(id.utf8))
  }

  private func isThere(_ directory: String) throws(CairnError) -> Bool {
    do { return try machine.disk.info(directory + "/" + FileName.current) != nil } catch {
      throw CairnError(error)
    }
  }

  /// The datastores on this device, sorted by id.
  public func listDatastores() throws(CairnError) -> [DatastoreInfo] {
    if isShutDown { throw DatastoreManager.shutDownError }
    do throws(DiskError) {
      guard try machine.disk.info(root) != nil else { return [] }
      var result: [DatastoreInfo] = []
      for entry in try machine.disk.list(root) where entry.info.kind == .directory {
        guard let id = FileName.datastore(directory: entry.name),
          Identifier.isValidDatastore(id),
          try machine.disk.info(root + "/" + entry.name + "/" + FileName.current) != nil
        else { continue }
        result.append(DatastoreInfo(id: id, role: role(of: id)))
      }
      return result.sorted { $0.id < $1.id }
    } catch { throw CairnError(error) }
  }

  /// Removes a closed local datastore for good.
  ///
  /// - Throws: `alreadyOpen` if it is open, `notFound` if it is not there, `disallowed` for an
  ///   account's: its other devices would bring it back; `uncacheDatastore` removes this copy.
  public func deleteDatastore(_ id: String) throws(CairnError) {
    guard isLocal else {
      throw CairnError(
        .disallowed,
        "\(id) belongs to an account, whose other devices would bring it back; uncacheDatastore "
          + "removes the copy on this device", id: id)
    }
    try removeCopy(id)
  }

  /// Removes the local copy of a closed datastore of an account. Changes that are not published
  /// yet are lost; opening it again fetches what the folder has.
  public func uncacheDatastore(_ id: String) throws(CairnError) {
    guard !isLocal else {
      throw CairnError(
        .invalidOperation, "\(id) is a local datastore: its only copy is here; delete it", id: id)
    }
    try removeCopy(id)
  }

  private func removeCopy(_ id: String) throws(CairnError) {
    try locked { (state: inout State) throws(CairnError) in
      if state.isShutDown { throw DatastoreManager.shutDownError }
      let directory = directory(of: id)
      guard Identifier.isValidDatastore(id), try isThere(directory) else {
        throw CairnError(.notFound, "there is no datastore \(id) in \(root)", id: id)
      }
      do throws(DiskError) {
        // The lock is held while files go, so that nobody opens half a datastore.
        let lock = try machine.disk.lock(directory + "/" + FileName.lock)
        defer { lock.unlock() }
        try machine.disk.remove(directory + "/" + FileName.current)
        try machine.disk.removeTree(directory)
        try machine.disk.syncDirectory(root)
      } catch {
        if error.reason == .locked {
          throw CairnError(.alreadyOpen, "close \(id) before it is removed; \(error)", id: id)
        }
        throw CairnError(error)
      }
    }
  }

  /// Closes all datastores; changes not synced are lost, those not published are published when
  /// they are opened the next time. The manager can't be used after that.
  public func shutDown() throws(CairnError) {
    let open = state.withLock { state in
      state.isShutDown = true
      defer { state.open = [:] }
      return state.open.values.sorted { $0.id < $1.id }
    }
    var failure: CairnError?
    for datastore in open {
      do throws(CairnError) { try datastore.close() } catch { failure = error }
    }
    if let failure { throw failure }
  }

  func forget(_ datastore: Datastore) {
    state.withLock { state in
      if state.open[datastore.id] === datastore { state.open[datastore.id] = nil }
    }
  }
}

/// A datastore in a list.
public struct DatastoreInfo: Hashable, Sendable {
  /// The datastore's id.
  public var id: String
  /// What the user may do in it, as far as this device knows: `Datastore.effectiveRole`.
  public var role: Role
  /// Whether the user may change it.
  public var isWritable: Bool { role >= .editor }

  /// Whether others can be given access: its id starts with a dot.
  public var isShareable: Bool { id.hasPrefix(".") }
}
