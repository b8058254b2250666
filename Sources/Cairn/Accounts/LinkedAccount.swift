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
  private let state: Lock<State>

  private struct State {
    var info: AccountInfo?
    var isLinked = true
  }

  init(_ entry: AccountsFile.Entry, _ accountManager: AccountManager) {
    number = entry.id
    id = FileName.hex(entry.id)
    account = entry.account
    self.accountManager = accountManager
    state = Lock(State(info: entry.info))
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
  /// are deleted when that process has noticed. Unlinking twice does nothing.
  ///
  /// - Throws: errors of the disk. The account is linked still if `isLinked` says so, otherwise
  ///   only files are left, which the next start removes.
  public func unlink() throws(CairnError) { try accountManager.unlink(self) }

  // Told by the account manager.

  func update(_ info: AccountInfo?) { state.withLock { $0.info = info } }
  func markUnlinked() { state.withLock { $0.isLinked = false } }
}

extension LinkedAccount: Hashable {
  public static func == (a: LinkedAccount, b: LinkedAccount) -> Bool {
    a.number == b.number && a.accountManager === b.accountManager
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}
