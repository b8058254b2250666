internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// An account that this device remembers. Thread-safe; two of them are equal if they are the same
/// link of the same `AccountManager`.
///
/// It goes on being usable until it is unlinked, here or elsewhere.
public final class LinkedAccount: Sendable {
  /// The account's name on this device: 16 hex digits, the same in every run. Linked anew after it
  /// was unlinked, an account has another.
  public let id: String
  /// Who the user is, and where the user's devices meet.
  public let account: Account
  /// Where it was linked.
  public let accountManager: AccountManager
  let number: UInt64
  private let state: Lock<Status>
  private let broadcast: Broadcast<Status>

  /// What can change of an account.
  public struct Status: Hashable, Sendable {
    /// What is known of the user.
    public var info: AccountInfo?
    /// Whether it has not been unlinked.
    public var isLinked: Bool
  }

  init(
    _ entry: AccountsFile.Entry, _ accountManager: AccountManager, _ broadcast: Broadcast<Status>
  ) {
    self.broadcast = broadcast
    number = entry.id
    id = FileName.hex(entry.id)
    account = entry.account
    self.accountManager = accountManager
    state = Lock(Status(info: entry.info, isLinked: true))
  }

  /// Who the user is in the folder.
  public var userId: String { account.user }
  /// Where the user's devices meet.
  public var folder: FolderLocation { account.folder }
  /// Where the account's datastores are on this device.
  public var root: String { accountManager.root(number) }
  /// What is known of the user; nil until somebody says it.
  public var info: AccountInfo? { state.withLock { $0.info } }
  /// Whether it has not been unlinked, as far as this process knows.
  public var isLinked: Bool { state.withLock { $0.isLinked } }

  /// The status whenever it has changed, the newest one only. Ends after the account was unlinked,
  /// and when nobody holds the account manager any more; this object need not be held. What another
  /// process does is seen where the system can watch directories, otherwise when somebody asks the
  /// account manager.
  public var changes: Updates<Status> {
    accountManager.startWatching()
    return Updates(of: broadcast)
  }

  /// Calls a handler with the status whenever it has changed, as long as the result and the account
  /// manager are held. `scheduler` decides where; a task of its own if there is none.
  public func onChange(
    on scheduler: Scheduler? = nil, _ handler: @escaping @Sendable (Status) -> Void
  ) -> Observation {
    accountManager.startWatching()
    return Observation(
      broadcast.subscribe(on: scheduler ?? AccountManager.anyThread, handler))
  }

  /// Remembers what is known of the user. Observers are told if it is something new.
  ///
  /// - Throws: `shutdown` if the account was unlinked; errors of the disk.
  public func setInfo(_ info: AccountInfo?) throws(CairnError) {
    try accountManager.edit { [number] file throws(CairnError) in
      guard let index = file.entries.firstIndex(where: { $0.id == number }) else {
        throw AccountManager.unlinkedError(self)
      }
      file.entries[index].info = info
      return nil
    }
  }

  /// The account's credentials, read from where they are kept; nil if it has none.
  ///
  /// - Throws: `disallowed` if others can read them, `shutdown` if the account was unlinked.
  public func credentials() throws(CairnError) -> Credentials? {
    guard isLinked else { throw AccountManager.unlinkedError(self) }
    return try accountManager.credentialStore.credentials(for: id)
  }

  /// Shuts the account's manager down, deletes its datastores and credentials from this device, and
  /// forgets it. Changes that were not published are lost; the folder stays as it is.
  ///
  /// A crash in the middle is made good by the next start. Datastores that another process has open
  /// are deleted when that process has noticed; those that another manager of this process has open
  /// (one that was made with the account's root), by the next start. Unlinking twice does nothing.
  /// The credential store is called, and must not ask the account manager anything.
  ///
  /// - Throws: errors of the disk; `retryLater` if another process moves datastores just now. The
  ///   account is linked still if `isLinked` says so, otherwise only files are left, which the next
  ///   start removes.
  public func unlink() throws(CairnError) { try accountManager.unlink(self) }

  // Told by the account manager.

  func update(_ info: AccountInfo?) { state.withLock { $0.info = info } }
  func markUnlinked() { state.withLock { $0.isLinked = false } }

  /// Tells those who watch; called with nothing locked.
  func announce() {
    broadcast.send { state.withLock { $0 } }
    if !isLinked { broadcast.finish() }
  }
}

extension LinkedAccount: Hashable {
  public static func == (a: LinkedAccount, b: LinkedAccount) -> Bool {
    a.number == b.number && a.accountManager === b.accountManager
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}
