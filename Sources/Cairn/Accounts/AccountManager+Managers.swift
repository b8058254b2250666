internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// The managers of the accounts' datastores.
extension AccountManager {
  /// The manager of an account's datastores: the same one at every call until it is shut down, then
  /// a new one.
  ///
  /// - Throws: `shutdown` if the account was unlinked, `illegalArgument` if it is the account of
  ///   another `AccountManager`, or its folder on a server of a kind that `Options.folderKinds`
  ///   does not have.
  public func manager(for account: LinkedAccount) throws(CairnError) -> DatastoreManager {
    guard account.accountManager === self else {
      throw CairnError(
        .illegalArgument, "the account of \(account.userId) was linked by another AccountManager",
        id: account.id)
    }
    try refresh()
    while true {
      let known = state.withLock { $0.managers[account.number] }
      if let known, !known.isShutDown {
        startWatching()
        return known
      }
      try makeManager(for: account, insteadOf: known)
    }
  }

  /// What opens the folder is the app's, and may ask for accounts and managers: it is called with
  /// nothing locked. So two may be made at once: the first one counts, and the other one, which has
  /// touched no file, goes.
  private func makeManager(
    for account: LinkedAccount, insteadOf old: DatastoreManager?
  ) throws(CairnError) {
    let id = account.number
    guard let entry = state.withLock({ $0.file.entry(id) }) else {
      throw AccountManager.unlinkedError(account)
    }
    let new = DatastoreManager(
      root: root(id), account: entry.account,
      folder: try entry.account.folder.opener(
        options.folderKinds, machine: machine, credentials: credentialSource(id)),
      options: options, machine: machine, following: nil, accountRoot: accountRoot(id))
    // What is not used, and what it holds of the app's, goes at the end, not under the lock.
    defer { withExtendedLifetime((new, old, entry)) {} }
    try state.withLock { state throws(CairnError) in
      guard state.managers[id] === old else { return }
      guard let entry = state.file.entry(id) else {
        throw AccountManager.unlinkedError(account)
      }
      new.setOrganization(entry.info?.orgName)
      state.managers[id] = new
    }
  }

  /// Nothing holds the account manager: a manager of datastores may outlive it.
  private func accountRoot(_ id: UInt64) -> AccountRoot {
    AccountRoot(
      path: root(id), id: id, list: directory + "/" + FileName.accounts, machine: machine,
      look: { [weak self] in self?.look() })
  }

  /// Those that the account was linked with.
  private func credentialSource(_ id: UInt64) -> CredentialSource {
    let name = FileName.hex(id)
    return .closure { [credentialStore] () async throws(CairnError) in
      try credentialStore.credentials(for: name)
    }
  }

  /// The manager of the datastores that belong to no account and stay on this device: the same one
  /// at every call until it is shut down, then a new one.
  public var localManager: DatastoreManager {
    while true {
      let known = state.withLock { $0.local }
      // Asked with nothing locked: a move of its datastores has it wait till its end.
      if let known, !known.isShutDown { return known }
      let new = localManager(at: localRoot)
      // What is not used goes at the end, not under the lock.
      defer { withExtendedLifetime((known, new)) {} }
      let isOurs = state.withLock { state -> Bool in
        guard state.local === known else { return false }
        state.local = new
        return true
      }
      if isOurs { return new }
    }
  }

  var localRoot: String { directory + "/" + FileName.localRoot }

  /// A new one of a root, which exchanges nothing.
  func localManager(at root: String) -> DatastoreManager {
    DatastoreManager(root: root, account: nil, folder: nil, options: options, machine: machine)
  }

  /// Opens the datastore `default` of an account, creating it if it is not there.
  public func openDefaultDatastore(for account: LinkedAccount) throws(CairnError) -> Datastore {
    try manager(for: account).openDefaultDatastore()
  }

  /// Opens the local datastore `default`, creating it if it is not there.
  public func openDefaultLocalDatastore() throws(CairnError) -> Datastore {
    try localManager.openDefaultDatastore()
  }
}
