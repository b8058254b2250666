internal import CairnDisk
internal import CairnLog

extension AccountManager {
  /// Links an account, durably. May be called for several; one with the same user and folder as
  /// before is the same `LinkedAccount`, and the most recent one from now on. `info` and
  /// `credentials` take the place of what it had, nil leaves that as it is.
  ///
  /// A folder that is not there is made, if the directory above it is there. A server is not asked
  /// anything: the first exchange does that. Its address is kept, and what opens it is not: the
  /// next process needs `Options.folderKinds`, or links it again. A manager that is in use goes on
  /// with what it has.
  ///
  /// The credential store is called while the list of accounts is held: it must not ask this
  /// manager anything.
  ///
  /// - Throws: `illegalArgument` for an empty user or path, and for a session token that is to be
  ///   kept in a file; `parent` if the folder and the directory of the accounts lie inside one
  ///   another; `notFound`, `fileIO` or `readOnly` if the folder can't be reached; errors of the
  ///   credential store. Nothing is linked then. Only if the disk refuses the list at the end, a
  ///   new account may be linked all the same, and one that was linked before may have the new
  ///   credentials already.
  public func link(
    _ account: Account, info: AccountInfo? = nil, credentials: Credentials? = nil
  ) throws(CairnError) -> LinkedAccount {
    let account = try checked(account)
    var kept: UInt64?
    let linked: LinkedAccount?
    do throws(CairnError) {
      linked = try link(account, info, credentials, &kept)
    } catch {
      if let kept { takeBackCredentials(kept) }
      throw error
    }
    guard let linked else {
      throw CairnError(.internal, "the account of \(account.user) is not in the list it was put in")
    }
    return linked
  }

  /// Sets `kept` to the id of a new account once its credentials are kept.
  private func link(
    _ account: Account, _ info: AccountInfo?, _ credentials: Credentials?, _ kept: inout UInt64?
  ) throws(CairnError) -> LinkedAccount? {
    try edit { file throws(CairnError) in
      let entry: AccountsFile.Entry
      var isNew = false
      if let index = file.entries.firstIndex(where: { $0.account == account }) {
        var known = file.entries.remove(at: index)
        // The same, but it may say what opens it.
        known.account = account
        if let info { known.info = info }
        entry = known
      } else {
        entry = AccountsFile.Entry(id: newId(file), account: account, info: info)
        isNew = true
      }
      file.entries.append(entry)
      if let credentials {
        // Nothing is kept for what the list has no room for.
        _ = try encoded(file)
        // So that whoever finds them without their account after a crash can tell.
        if ownSecrets != nil { try beginList() }
        try credentialStore.setCredentials(credentials, for: FileName.hex(entry.id))
        if isNew { kept = entry.id }
      }
      return entry.id
    }
  }

  /// Of an account that could not be put into the list nobody asks for them, and a store of the
  /// app's own is not looked through at the next start. Writing may have failed when the list had
  /// it already: then they stay.
  private func takeBackCredentials(_ id: UInt64) {
    do throws(CairnError) {
      if try refresh().entry(id) != nil { return }
      try credentialStore.removeCredentials(for: FileName.hex(id))
    } catch {
      // Why it could not be linked says more.
    }
  }

  private func newId(_ file: AccountsFile) -> UInt64 {
    while true {
      let id = machine.random.next()
      if id != 0, file.entry(id) == nil, !file.leaving.contains(id) { return id }
    }
  }

  private static let userBytesMax = 1024

  /// The account in the one form that it is known by.
  private func checked(_ account: Account) throws(CairnError) -> Account {
    guard !account.user.isEmpty, account.user.utf8.count <= AccountManager.userBytesMax else {
      throw CairnError(
        .illegalArgument,
        "an account needs a user of 1 to \(AccountManager.userBytesMax) bytes of UTF-8")
    }
    switch account.folder {
    case .directory(let path):
      guard !path.isEmpty, !path.utf8.contains(0) else {
        throw CairnError(.illegalArgument, "an account needs the path of a directory as its folder")
      }
      let absolute = PathName.absolute(path)
      try DatastoreManager.checkApart(directory, absolute)
      try reach(absolute)
      return Account(user: account.user, folder: .directory(absolute))
    case .server(let folder):
      _ = try folder.opener(options.folderKinds)
      return account
    }
  }

  private func reach(_ path: String) throws(CairnError) {
    do throws(DiskError) {
      do throws(DiskError) { _ = try machine.disk.list(path) } catch {
        guard error.reason == .notFound else { throw error }
        // Only the last part: what is missing above it may be a drive that isn't connected.
        let above = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        _ = try machine.disk.list(above.isEmpty ? "/" : above)
        try machine.disk.createDirectory(path)
      }
    } catch {
      var failure = CairnError(error)
      failure.message = "the folder \(path) can't be reached: \(error)"
      throw failure
    }
  }
}
