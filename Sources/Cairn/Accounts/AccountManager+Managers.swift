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
    let id = account.number
    try refresh()
    let manager = try state.withLock { state throws(CairnError) in
      if let known = state.managers[id], !known.isShutDown { return known }
      guard let entry = state.file.entry(id) else {
        throw AccountManager.unlinkedError(account)
      }
      let manager = DatastoreManager(
        root: root(id), account: entry.account,
        folder: try entry.account.folder.opener(
          options.folderKinds, machine: machine, credentials: credentialSource(id)),
        options: options, machine: machine)
      manager.setOrganization(entry.info?.orgName)
      state.managers[id] = manager
      return manager
    }
    startWatching()
    return manager
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
    state.withLock { state in
      if let known = state.local, !known.isShutDown { return known }
      let manager = localManager(at: localRoot)
      state.local = manager
      return manager
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
