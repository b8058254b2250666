import Cairn
import CairnDisk
import TestSupport
import Testing

/// Accounts are remembered, in order, in every run.
@Suite struct AccountManagerTests {
  private let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  private var directory: String { place.path("accounts") }
  private func manager() throws -> AccountManager { try AccountManager(directory: directory) }
  private func account(_ user: String = "ann", _ folder: String = "folder") -> Account {
    Account(user: user, folder: .directory(place.path(folder)))
  }

  @Test func `before anything is linked there is nothing, and nothing is made`() throws {
    let accounts = try manager()
    #expect(try accounts.linkedAccount == nil)
    #expect(try accounts.linkedAccounts.isEmpty)
    #expect(try PosixDisk().info(directory) == nil)
  }

  @Test func `accounts are remembered from the least to the most recent one`() throws {
    do {
      let accounts = try manager()
      let info = AccountInfo(userName: "Ann", orgName: "Quarry")
      try #expect(accounts.link(account(), info: info).userId == "ann")
      try #expect(accounts.link(account("bob")).isLinked)
      try #expect(accounts.link(account("ann", "other")).info == nil)
    }
    let accounts = try manager()
    let all = try accounts.linkedAccounts
    #expect(all.map(\.userId) == ["ann", "bob", "ann"])
    #expect(try accounts.linkedAccount == all.last)
    #expect(all.map(\.info?.displayName) == ["Ann (Quarry)", nil, nil])
    #expect(Set(all.map(\.id)).count == 3 && Set(all.map(\.root)).count == 3)
    #expect(all.first?.folder == .directory(place.path("folder")))
  }

  @Test func `the same user and folder is the same account, and the most recent one`() throws {
    let accounts = try manager()
    let first = try accounts.link(account(), info: AccountInfo(userName: "Ann"))
    let second = try accounts.link(account("bob"))
    #expect(try accounts.linkedAccount === second)
    let same = Account(user: "ann", folder: .directory(place.path("x/../folder/")))
    #expect(try accounts.link(same) === first)
    #expect(try accounts.linkedAccounts == [second, first])
    #expect(first.info?.displayName == "Ann")
    #expect(try accounts.link(account(), info: AccountInfo(userName: "Anna")) === first)
    #expect(first.info?.displayName == "Anna")
    #expect(try manager().linkedAccounts.map(\.id) == [second.id, first.id])
  }

  @Test func `what an account manager holds is the same object for all who ask`() throws {
    let accounts = try manager()
    let linked = try accounts.link(account())
    #expect(try accounts.linkedAccount === linked)
    #expect(try accounts.linkedAccounts.first === linked)
    let id = linked.id
    #expect(try manager().linkedAccount?.id == id)
  }

  @Test func `a folder and the accounts do not lie inside one another`() throws {
    let accounts = try manager()
    for path in ["accounts", "accounts/sub", ""] {
      let inside = Account(user: "ann", folder: .directory(place.path(path)))
      #expect(code { _ = try accounts.link(inside) } == .parent, "\(path)")
    }
    #expect(try accounts.linkedAccounts.isEmpty)
  }

  @Test func `a folder that can't be reached is not linked`() throws {
    let accounts = try manager()
    let file = try PosixDisk().open(place.path("file"), .create)
    file.close()
    #expect(code { _ = try accounts.link(account("ann", "file")) } == .fileIO)
    #expect(code { _ = try accounts.link(account("ann", "no/such")) } == .notFound)
    #expect(try PosixDisk().info(place.path("no")) == nil)
    #expect(code { _ = try accounts.link(account("")) } == .illegalArgument)
    let long = String(repeating: "a", count: 1025)
    #expect(code { _ = try accounts.link(account(long)) } == .illegalArgument)
    let nowhere = Account(user: "ann", folder: .directory(""))
    #expect(code { _ = try accounts.link(nowhere) } == .illegalArgument)
    #expect(try accounts.linkedAccounts.isEmpty)
    // What is missing is made, if only its last part is.
    try #expect(accounts.link(account("ann", "new")).isLinked)
    #expect(try PosixDisk().info(place.path("new"))?.kind == .directory)
  }

  @Test func `names of users never become names of files`() throws {
    let accounts = try manager()
    let users = ["../../evil", "a/b", ".", "ä \u{0} b", "CON"]
    for user in users { try #expect(accounts.link(account(user)).userId == user) }
    let names = try PosixDisk().list(directory).map(\.name)
    #expect(names == ["ACCOUNTS", "LOCK"])
    let again = try manager()
    #expect(try again.linkedAccounts.map(\.userId) == users)
    for linked in try again.linkedAccounts {
      try again.openDefaultDatastore(for: linked).close()
      let name = try #require(linked.root.split(separator: "/").last)
      #expect(name == "a-" + linked.id)
    }
  }

  @Test func `the manager of an account is one until it is shut down`() throws {
    let accounts = try manager()
    let ann = try accounts.link(account())
    let bob = try accounts.link(account("bob"))
    let manager = try accounts.manager(for: ann)
    #expect(try accounts.manager(for: ann) === manager)
    #expect(try DatastoreManager.manager(for: ann) === manager)
    #expect(try accounts.manager(for: bob) !== manager)
    #expect(manager.account == ann.account && !manager.isLocal && manager.root == ann.root)
    let datastore = try accounts.openDefaultDatastore(for: ann)
    #expect(datastore.manager === manager && datastore.id == "default")
    try manager.shutDown()
    #expect(!datastore.isOpen)
    let next = try accounts.manager(for: ann)
    #expect(next !== manager && !next.isShutDown)
    #expect(code { _ = try manager.openDefaultDatastore() } == .shutdown)
    let other = try self.manager()
    #expect(code { _ = try other.manager(for: ann) } == .illegalArgument)
  }

  @Test func `local datastores have a manager of their own`() throws {
    let accounts = try manager()
    let local = accounts.localManager
    #expect(local.isLocal && local.account == nil && accounts.localManager === local)
    let datastore = try accounts.openDefaultLocalDatastore()
    try datastore.table("t").insert(["x": 1], id: "r")
    try datastore.sync()
    try local.shutDown()
    #expect(accounts.localManager !== local)
    #expect(try accounts.openDefaultLocalDatastore().table("t").count == 1)
  }

  @Test func `what an account's devices write they exchange`() async throws {
    let one = try AccountManager(directory: place.path("one"))
    let two = try AccountManager(directory: place.path("two"))
    let a = try one.openDefaultDatastore(for: one.link(account()))
    let b = try two.openDefaultDatastore(for: two.link(account()))
    try a.table("t").insert(["x": 1], id: "r")
    try a.sync()
    try await a.exchange()
    try await b.exchange()
    try b.sync()
    #expect(try b.table("t")["r"].int("x") == 1)
  }

  @Test func `another manager on the same directory sees what was linked`() throws {
    let (one, two) = (try manager(), try manager())
    let linked = try one.link(account())
    let seen = try #require(try two.linkedAccount)
    #expect(seen.id == linked.id && seen != linked)
    try seen.setInfo(AccountInfo(userName: "Ann"))
    #expect(try one.linkedAccounts.first?.info?.userName == "Ann")
    #expect(linked.info?.userName == "Ann")
  }

  /// An account on a server, opened by something that tells by its name that it was asked.
  private func held(_ name: String, _ asked: Told<String>) -> Account {
    let folder = ServerFolder("held://bench/folder", kind: kind(name, asked))
    return Account(user: "ann", folder: .server(folder))
  }

  private func kind(_ name: String, _ asked: Told<String>) -> FolderKind {
    let path = place.path("folder")
    return FolderKind(schemes: ["held"]) { (_, _) throws(CairnError) in
      asked.add(name)
      return DirectoryFolder(path)
    }
  }

  /// An account whose folder is opened by something that looks around before it does.
  private func looking(
    _ asked: Told<String>, _ look: @escaping @Sendable () throws(CairnError) -> String
  ) -> Account {
    let path = place.path("folder")
    let kind = FolderKind(schemes: ["held"]) { (_, _) throws(CairnError) in
      asked.add(try look())
      return DirectoryFolder(path)
    }
    let folder = ServerFolder("held://bench/folder", kind: kind)
    return Account(user: "ann", folder: .server(folder))
  }

  @Test(.timeLimit(.minutes(20)))
  func `what opens a folder may ask for the account whose manager is made`() throws {
    let accounts = try manager()
    let asked = Told<String>()
    let account = looking(asked) { [weak accounts] () throws(CairnError) in
      let linked = try accounts?.linkedAccount
      return linked?.info?.userName ?? "nobody"
    }
    let linked = try accounts.link(account, info: AccountInfo(userName: "Ann"))
    #expect(asked.all == ["nobody"])
    let first = try accounts.manager(for: linked)
    #expect(asked.all == ["nobody", "Ann", "Ann"])
    #expect(try accounts.manager(for: linked) === first)
    #expect(asked.all.count == 3)
    try first.shutDown()
    let second = try accounts.manager(for: linked)
    #expect(second !== first && !second.isShutDown)
    #expect(asked.all.count == 5)
    try accounts.openDefaultDatastore(for: linked).close()
  }

  @Test(.timeLimit(.minutes(20)))
  func `what opens a folder may ask for the manager whose datastore is opened`() throws {
    let accounts = try manager()
    let asked = Told<String>()
    let made = Told<DatastoreManager>()
    let account = looking(asked) { [weak accounts] () throws(CairnError) in
      guard let manager = made.all.first, let accounts else { return "not made yet" }
      // As if another process had given the user an organisation: that is told to the manager.
      let info = AccountInfo(userName: "Ann", orgName: "Quarry")
      try accounts.linkedAccount?.setInfo(info)
      let name = try accounts.linkedAccount?.info?.displayName ?? "nobody"
      let ids = try manager.listDatastores().map(\.id).joined(separator: " ")
      return "\(name): \(ids), \(manager.isShutDown)"
    }
    let linked = try accounts.link(account, info: AccountInfo(userName: "Ann"))
    let manager = try accounts.manager(for: linked)
    made.add(manager)
    let before = [String](repeating: "not made yet", count: 3)
    #expect(asked.all == before)
    try manager.openOrCreateDatastore("notes").close()
    #expect(asked.all == before + ["Ann (Quarry): , false"])
    let datastore = try manager.openDatastore("notes")
    #expect(asked.all == before + ["Ann (Quarry): , false", "Ann (Quarry): notes, false"])
    #expect(datastore.isOpen)
    try manager.shutDown()
  }

  @Test(.timeLimit(.minutes(20)))
  func `an account that is unlinked while its datastore is opened has none`() throws {
    let accounts = try manager()
    let asked = Told<String>()
    let account = looking(asked) { [weak accounts] () throws(CairnError) in
      if asked.all.count == 3 { try accounts?.linkedAccount?.unlink() }
      return "asked"
    }
    let linked = try accounts.link(account)
    let manager = try accounts.manager(for: linked)
    #expect(linked.isLinked && asked.all.count == 3)
    #expect(code { _ = try manager.openDefaultDatastore() } == .shutdown)
    #expect(asked.all.count == 4)
    #expect(!linked.isLinked && manager.isShutDown)
    #expect(try PosixDisk().info(linked.root) == nil)
  }

  @Test(.timeLimit(.minutes(20)))
  func `of two managers that are made at once the first one is everybody's`() throws {
    let accounts = try manager()
    let asked = Told<String>()
    let faster = Told<ObjectIdentifier>()
    let account = looking(asked) { [weak accounts] () throws(CairnError) in
      // Once, while another one is being made.
      guard asked.all.count == 1, let accounts, let linked = try accounts.linkedAccount else {
        return "asked"
      }
      asked.add("in between")
      faster.add(ObjectIdentifier(try accounts.manager(for: linked)))
      return "asked"
    }
    let linked = try accounts.link(account)
    let made = try accounts.manager(for: linked)
    #expect(asked.all == ["asked", "in between"] + [String](repeating: "asked", count: 4))
    #expect(faster.all == [ObjectIdentifier(made)])
    #expect(try accounts.manager(for: linked) === made && !made.isShutDown)
    try accounts.openDefaultDatastore(for: linked).close()
  }

  @Test(.timeLimit(.minutes(20)))
  func `an account that is unlinked while its manager is made gets none`() throws {
    let accounts = try manager()
    let asked = Told<String>()
    let account = looking(asked) { [weak accounts] () throws(CairnError) in
      if asked.all.count == 1 { try accounts?.linkedAccount?.unlink() }
      return "asked"
    }
    let linked = try accounts.link(account)
    #expect(code { _ = try accounts.manager(for: linked) } == .shutdown)
    #expect(!linked.isLinked)
    #expect(try PosixDisk().info(linked.root) == nil)
  }

  /// Of any account; another kind would understand the address as well.
  private func manager(_ asked: Told<String>, hasOther: Bool) throws -> AccountManager {
    var options = Options()
    if hasOther { options.folderKinds = [kind("other", asked)] }
    return try AccountManager(directory: directory, options: options)
  }

  /// Who is asked to open the account's folder for a new manager.
  private func opening(_ linked: LinkedAccount, _ asked: Told<String>) throws -> Set<String> {
    let before = asked.all.count
    try linked.accountManager.manager(for: linked).shutDown()
    return Set(asked.all.dropFirst(before))
  }

  @Test(arguments: [false, true])
  func `what an account was linked with opens it after any change`(hasOther: Bool) throws {
    let asked = Told<String>()
    let accounts = try manager(asked, hasOther: hasOther)
    let linked = try accounts.link(held("given", asked))
    #expect(asked.all == ["given"])
    try linked.setInfo(AccountInfo(userName: "Ann"))
    #expect(try opening(linked, asked) == ["given"])
    _ = try accounts.link(account("bob"))
    #expect(try opening(linked, asked) == ["given"])
    let elsewhere = try #require(try manager().linkedAccounts.first)
    try elsewhere.setInfo(nil)
    #expect(try opening(linked, asked) == ["given"])
    #expect(linked.info == nil)
  }

  @Test(arguments: [false, true])
  func `an account that is linked again is opened by what is given then`(hasOther: Bool) throws {
    let asked = Told<String>()
    _ = try manager(asked, hasOther: hasOther).link(held("earlier", asked))
    let accounts = try manager(asked, hasOther: hasOther)
    let linked = try #require(try accounts.linkedAccount)
    #expect(try accounts.link(held("given", asked)) === linked)
    #expect(asked.all == ["earlier", "given"])
    #expect(try opening(linked, asked) == ["given"])
    let info = AccountInfo(userName: "Ann")
    #expect(try accounts.link(held("newer", asked), info: info) === linked)
    #expect(try opening(linked, asked) == ["newer"])
    guard hasOther else { return }
    // Its address alone says nothing else.
    let bare = Account(user: "ann", folder: .server(ServerFolder("held://bench/folder")))
    #expect(try accounts.link(bare) === linked)
    #expect(try opening(linked, asked) == ["newer"])
  }
}

/// The places of the whole process: nobody else uses them meanwhile.
@Suite(.serialized) struct AccountSharedTests {
  @Test func `the app's managers have a convenient place`() throws {
    let place = try TemporaryDirectory()
    let accounts = try AccountManager(directory: place.path("accounts"))
    AccountManager.shared = accounts
    DatastoreManager.shared = accounts.localManager
    #expect(AccountManager.shared === accounts)
    #expect(DatastoreManager.shared === accounts.localManager)
    AccountManager.shared = nil
    DatastoreManager.shared = nil
    #expect(AccountManager.shared === nil && DatastoreManager.shared === nil)
  }

  /// What an app has put into the options of a manager; looks around as it goes.
  private final class Held: Sendable {
    private let look: @Sendable () -> Void

    init(_ look: @escaping @Sendable () -> Void) { self.look = look }
    deinit { look() }

    func open() throws(CairnError) -> any Folder { throw CairnError(.noConnection, "nowhere") }

    static func options(_ look: @escaping @Sendable () -> Void) -> Options {
      let held = Held(look)
      var options = Options()
      options.folderKinds = [
        FolderKind(schemes: ["held"]) { (_, _) throws(CairnError) in try held.open() }
      ]
      return options
    }
  }

  @Test(.timeLimit(.minutes(20)))
  func `what the one before holds may ask for the one that takes its place`() throws {
    let place = try TemporaryDirectory()
    let seen = Told<String>()
    defer { (AccountManager.shared, DatastoreManager.shared) = (nil, nil) }
    AccountManager.shared = try AccountManager(
      directory: place.path("one"),
      options: Held.options { seen.add(AccountManager.shared?.directory ?? "none") })
    DatastoreManager.shared = try DatastoreManager(
      root: place.path("two"),
      options: Held.options { seen.add(DatastoreManager.shared?.root ?? "none") })
    #expect(seen.all == [])
    let accounts = try AccountManager(directory: place.path("three"))
    let local = try DatastoreManager(root: place.path("four"))
    AccountManager.shared = accounts
    #expect(seen.all == [accounts.directory])
    DatastoreManager.shared = local
    #expect(seen.all == [accounts.directory, local.root])
  }
}
