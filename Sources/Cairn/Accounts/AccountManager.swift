package import CairnDisk
internal import CairnLog
internal import Synchronization

/// The accounts that an app is linked to, remembered in a directory, and the managers of their
/// datastores. Thread-safe; several processes may use one directory.
///
/// What another process links or unlinks is noticed at the next call that asks, and soon after it
/// happened where the system can watch directories.
public final class AccountManager: Sendable {
  /// The directory. It belongs to this library alone, and no shared folder lies in it.
  public let directory: String
  /// How the datastores of all managers behave.
  public let options: Options
  let machine: Machine
  let credentialStore: any CredentialStore
  /// The same, unless the app gave it: another manager may keep credentials there, too.
  let ownSecrets: FileCredentialStore?
  /// What was last read of the list. Held over reading and writing it, never over a callback.
  private let turn = Lock(Known())
  /// Held while managers are told their organisation.
  let naming = Lock(())
  /// Unlinked accounts of which files are left. Held over their removal, never over
  /// a callback of an observer.
  let removal = Lock<Set<UInt64>>([])
  let state = Lock(State())

  private struct Known {
    var bytes: [UInt8]?
    var file = AccountsFile()
  }

  struct State {
    /// The list as it was last read.
    var file = AccountsFile()
    var accounts: [UInt64: KnownAccount] = [:]
    var managers: [UInt64: DatastoreManager] = [:]
    var local: DatastoreManager?
    /// There from when somebody first wants to hear of changes.
    var watcher: LateWatcher?
    /// What observers are still to be told.
    var changes: [AccountChange] = []
  }

  let broadcast = Broadcast<[AccountChange]>(merge: { $0.merge($1) })

  /// As long as somebody holds an account, it is the same object for all. Who observes one need not
  /// hold it, and is told of it by whichever object there is.
  struct KnownAccount: Sendable {
    weak let account: LinkedAccount?
    let broadcast: Broadcast<LinkedAccount.Status>
  }

  /// Reads what is remembered in a directory, which is made when something is first linked or
  /// watched, and finishes what a crash interrupted. Credentials are kept in files in it, unless
  /// there is a `credentialStore`.
  ///
  /// - Throws: `needsNewerVersion` or `corrupt` if the list can't be read; it is left as it is.
  public convenience init(
    directory: String, options: Options = Options(),
    credentialStore: (any CredentialStore)? = nil
  ) throws(CairnError) {
    try self.init(
      directory: PathName.absolute(directory), options: options,
      credentialStore: credentialStore, machine: .real)
  }

  package init(
    directory: String, options: Options, credentialStore: (any CredentialStore)?, machine: Machine
  ) throws(CairnError) {
    self.directory = directory
    self.options = options
    self.machine = machine
    let files = FileCredentialStore(
      directory: directory + "/" + FileName.secrets, machine: machine)
    ownSecrets = credentialStore == nil ? files : nil
    self.credentialStore = credentialStore ?? files
    let file = try turn.withLock { known throws(CairnError) in try read(&known) }
    state.withLock { $0.file = file }
    // Whatever can't be removed now is left for the next start.
    do throws(CairnError) { try tidy() } catch {}
  }

  deinit {
    // Nobody is left who could hear of anything.
    let accounts = state.withLock { state in
      defer { state.accounts = [:] }
      return state.accounts.values.map(\.broadcast)
    }
    broadcast.finish()
    for account in accounts { account.finish() }
  }

  private static let sharedSlot = Lock<AccountManager?>(nil)

  /// A convenient place for the app's account manager; nil until the app puts one there.
  public static var shared: AccountManager? {
    get { sharedSlot.withLock { $0 } }
    set {
      // The old one, and what it holds of the app's, goes after this, not under the lock.
      let old = sharedSlot.withLock { slot in
        defer { slot = newValue }
        return slot
      }
      withExtendedLifetime(old) {}
    }
  }

  /// The most recently linked account, nil if there is none. Reads the list again.
  public var linkedAccount: LinkedAccount? {
    get throws(CairnError) { try linkedAccounts.last }
  }

  /// All accounts, from the least to the most recently linked one. Reads the list again.
  public var linkedAccounts: [LinkedAccount] {
    get throws(CairnError) {
      try refresh()
      // The list as it is now: a handler that was called meanwhile may have unlinked one.
      return state.withLock { state in
        let entries = state.file.entries
        return entries.map { account($0, &state) }
      }
    }
  }

  // MARK: the list

  private var path: String { directory + "/" + FileName.accounts }

  func root(_ id: UInt64) -> String { directory + "/" + FileName.accountRoot(id) }

  /// Reads the list; what it was the last time is not decoded again.
  private func read(_ known: inout Known) throws(CairnError) -> AccountsFile {
    do throws(LogError) {
      let bytes = try DurableFile.read(path, limit: AccountsFile.bytesMax, disk: machine.disk)
      if bytes == known.bytes { return known.file }
      let file = try bytes.map { bytes throws(LogError) in try AccountsFile(bytes, path: path) }
      known = Known(bytes: bytes, file: file ?? AccountsFile())
      return known.file
    } catch { throw CairnError(error) }
  }

  /// Reads the list again and does what follows from it.
  @discardableResult
  func refresh() throws(CairnError) -> AccountsFile {
    let (file, news) = try turn.withLock { known throws(CairnError) -> (AccountsFile, News) in
      let file = try read(&known)
      return (file, adopt(file))
    }
    handle(news)
    return file
  }

  /// Changes the list, alone among all threads and processes, durably. Returns the account whose id
  /// `body` returns.
  @discardableResult
  func edit(
    _ body: (inout AccountsFile) throws(CairnError) -> UInt64?
  ) throws(CairnError) -> LinkedAccount? {
    let (linked, news) = try change(body)
    handle(news)
    return linked
  }

  /// The same, for who holds a lock: `handle` gets the news once it is given back.
  func change(
    _ body: (inout AccountsFile) throws(CairnError) -> UInt64?
  ) throws(CairnError) -> (LinkedAccount?, News) {
    try turn.withLock { known throws(CairnError) -> (LinkedAccount?, News) in
      let lock = try lock()
      defer { lock.unlock() }
      let before = try read(&known)
      var file = before
      let id = try body(&file)
      if file != before { try write(file) }
      let news = adopt(file)
      let chosen = state.withLock { state -> LinkedAccount? in
        guard let id, let entry = state.file.entry(id) else { return nil }
        return account(entry, &state)
      }
      return (chosen, news)
    }
  }

  private func lock() throws(CairnError) -> any DiskLock {
    do throws(DiskError) {
      if try machine.disk.info(directory)?.kind != .directory {
        try machine.disk.createDirectory(directory)
      }
      return try machine.disk.lockWaiting(directory + "/" + FileName.lock)
    } catch { throw CairnError(error) }
  }

  /// The bytes of the list's file, if it may be so long.
  func encoded(_ file: AccountsFile) throws(CairnError) -> [UInt8] {
    let bytes = file.encoded()
    guard bytes.count <= AccountsFile.bytesMax else {
      throw CairnError(
        .sizeLimit, "the list of accounts would take \(bytes.count) bytes; unlink some first",
        file: path)
    }
    return bytes
  }

  /// Whether there is a list. Where there is none it may have been lost, and nothing says whose
  /// secrets there are.
  func hasList() throws(CairnError) -> Bool {
    do { return try machine.disk.info(path) != nil } catch { throw CairnError(error) }
  }

  /// Makes an empty list where there is none; for a `body` of `edit`.
  func beginList() throws(CairnError) {
    if try !hasList() { try write(AccountsFile()) }
  }

  private func write(_ file: AccountsFile) throws(CairnError) {
    let bytes = try encoded(file)
    do {
      try DurableFile.replace(
        directory: directory, name: FileName.accounts, bytes: bytes, machine: machine)
    } catch { throw CairnError(error) }
  }

  /// The account's object, a new one if nobody holds it.
  func account(_ entry: AccountsFile.Entry, _ state: inout State) -> LinkedAccount {
    let known = state.accounts[entry.id]
    if let account = known?.account { return account }
    let broadcast = known?.broadcast ?? Broadcast(latest: LinkedAccount.Status.self)
    let account = LinkedAccount(entry, self, broadcast)
    state.accounts[entry.id] = KnownAccount(account: account, broadcast: broadcast)
    return account
  }

  static func unlinkedError(_ account: LinkedAccount) -> CairnError {
    CairnError(
      .shutdown, "the account of \(account.userId) was unlinked; link it again", id: account.id)
  }
}
