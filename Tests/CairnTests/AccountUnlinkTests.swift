import CairnDisk
import CairnLog
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Unlinking takes everything of an account from this device, and nothing from the folder.
@Suite struct AccountUnlinkTests {
  /// An account with credentials and a datastore that is open, and has published something.
  private func prepared(
    _ bench: AccountWorkbench
  ) async throws -> (AccountManager, LinkedAccount, Datastore) {
    let accounts = try bench.manager()
    let info = AccountInfo(userName: "Ann")
    let linked = try accounts.link(bench.account, info: info, credentials: bench.credentials)
    let datastore = try accounts.openDefaultDatastore(for: linked)
    try datastore.table("t").insert(["x": 1], id: "r")
    try datastore.sync()
    try await datastore.exchange()
    return (accounts, linked, datastore)
  }

  @Test func `everything on this device goes and the folder stays`() async throws {
    let bench = try AccountWorkbench()
    let (accounts, linked, datastore) = try await prepared(bench)
    let manager = datastore.manager
    let folder = AccountWorkbench.folderFiles(bench.disk)
    #expect(folder.count == 3)
    try linked.unlink()
    #expect(!linked.isLinked && !datastore.isOpen && manager.isShutDown)
    #expect(try accounts.linkedAccounts.isEmpty)
    #expect(AccountWorkbench.files(bench.disk) == [])
    #expect(AccountWorkbench.folderFiles(bench.disk) == folder)
    #expect(bench.disk.heldLocks == 0 && bench.disk.openFiles == 0)
    #expect(code { _ = try manager.openDefaultDatastore() } == .shutdown)
    #expect(code { _ = try accounts.manager(for: linked) } == .shutdown)
    #expect(code { try linked.setInfo(nil) } == .shutdown)
    #expect(code { _ = try linked.credentials() } == .shutdown)
    #expect(code { _ = try datastore.table("t") } == .shutdown)
    try linked.unlink()
  }

  @Test func `linked again it is another account that fetches everything`() async throws {
    let bench = try AccountWorkbench()
    let (accounts, linked, _) = try await prepared(bench)
    try linked.unlink()
    let again = try accounts.link(bench.account)
    #expect(again != linked && again.id != linked.id && again.info == nil)
    #expect(try again.credentials() == nil)
    let datastore = try accounts.openDefaultDatastore(for: again)
    #expect(try datastore.table("t").count == 0)
    try await datastore.exchange()
    try datastore.sync()
    #expect(try datastore.table("t")["r"].int("x") == 1)
  }

  @Test func `other accounts and local datastores stay`() async throws {
    let bench = try AccountWorkbench()
    let (accounts, linked, _) = try await prepared(bench)
    let bob = try accounts.link(Account(user: "bob", folder: linked.folder))
    let theirs = try accounts.openDefaultDatastore(for: bob)
    try accounts.openDefaultLocalDatastore().close()
    try linked.unlink()
    #expect(bob.isLinked && theirs.isOpen)
    #expect(try accounts.linkedAccounts == [bob])
    try theirs.close()
    #expect(try accounts.localManager.listDatastores().map(\.id) == ["default"])
  }

  @Test func `a power cut in the middle leaves all of it or nothing`() async throws {
    var step = 0
    var states: Set<Int> = []
    while true {
      step += 1
      let bench = try AccountWorkbench()
      let (accounts, linked, _) = try await prepared(bench)
      let folder = AccountWorkbench.folderFiles(bench.disk)
      bench.disk.powerOff(before: bench.disk.operations + step)
      let failure = code { try linked.unlink() }
      if !bench.disk.isOff {
        #expect(failure == nil)
        break
      }
      for model in CrashModel.all(seeds: 0..<4) {
        let disk = bench.disk.crash(keep: model)
        let next = try AccountWorkbench.manager(disk)
        let left = try next.linkedAccounts
        states.insert(left.count)
        #expect(AccountWorkbench.folderFiles(disk) == folder)
        guard let account = left.first else {
          #expect(AccountWorkbench.files(disk) == [], "step \(step), \(model)")
          continue
        }
        #expect(account.id == linked.id && account.info?.userName == "Ann")
        #expect(try account.credentials() == bench.credentials)
        let datastore = try next.openDefaultDatastore(for: account)
        #expect(try datastore.table("t")["r"].int("x") == 1)
        try datastore.close()
        #expect(code { try account.unlink() } == nil)
        #expect(AccountWorkbench.files(disk) == [])
      }
      withExtendedLifetime(accounts) {}
    }
    #expect(step > 15)
    #expect(states == [0, 1])
  }

  @Test func `a power cut while linking leaves no credentials without an account`() throws {
    var step = 0
    var states: Set<Int> = []
    while true {
      step += 1
      let bench = try AccountWorkbench()
      let accounts = try bench.manager()
      bench.disk.powerOff(before: bench.disk.operations + step)
      let failure = code {
        _ = try accounts.link(bench.account, credentials: bench.credentials)
      }
      if !bench.disk.isOff {
        #expect(failure == nil)
        break
      }
      for model in CrashModel.all(seeds: 0..<4) {
        let disk = bench.disk.crash(keep: model)
        let left = try AccountWorkbench.manager(disk).linkedAccounts
        states.insert(left.count)
        #expect(AccountWorkbench.files(disk).count == left.count, "step \(step), \(model)")
        #expect(try left.first?.credentials() == (left.isEmpty ? nil : bench.credentials))
      }
    }
    #expect(step > 8)
    #expect(states == [0, 1])
  }

  @Test func `what is acknowledged survives any power cut`() async throws {
    let bench = try AccountWorkbench()
    let (_, linked, _) = try await prepared(bench)
    for model in CrashModel.all(seeds: 0..<4) {
      let next = try AccountWorkbench.manager(bench.disk.crash(keep: model))
      #expect(try next.linkedAccounts.map(\.id) == [linked.id])
    }
    try linked.unlink()
    for model in CrashModel.all(seeds: 0..<4) {
      let disk = bench.disk.crash(keep: model)
      #expect(try AccountWorkbench.manager(disk).linkedAccounts.isEmpty)
      #expect(AccountWorkbench.files(disk) == [])
    }
  }

  @Test func `files that can't be removed now go at the next start`() async throws {
    let bench = try AccountWorkbench()
    let (accounts, linked, _) = try await prepared(bench)
    bench.disk.intercept { $0.verb == "remove the directory" ? .io(errno: 5) : nil }
    #expect(code { try linked.unlink() } == .fileIO)
    #expect(!linked.isLinked)
    #expect(try accounts.linkedAccounts.isEmpty)
    bench.disk.heal()
    #expect(try bench.manager(7).linkedAccounts.isEmpty)
    #expect(AccountWorkbench.files(bench.disk) == [])
  }

  @Test func `a list that can't be written leaves the account linked`() async throws {
    let bench = try AccountWorkbench()
    let (_, linked, datastore) = try await prepared(bench)
    bench.disk.intercept { $0.verb == "create" ? .noSpace : nil }
    #expect(code { try linked.unlink() } == .diskSpace)
    #expect(linked.isLinked && datastore.isOpen)
    bench.disk.heal()
    #expect(try datastore.table("t").count == 1)
  }

  @Test func `datastores in use elsewhere are removed when they are free`() async throws {
    let bench = try AccountWorkbench()
    let (accounts, linked, datastore) = try await prepared(bench)
    // Another process with the same directory.
    let other = try bench.manager(5)
    try #require(try other.linkedAccount).unlink()
    #expect(datastore.isOpen && linked.isLinked)
    #expect(try datastore.table("t").count == 1)
    #expect(AccountWorkbench.files(bench.disk).contains { $0.hasSuffix("/p-default/CURRENT") })
    // It looks at the list.
    #expect(try accounts.linkedAccount == nil)
    #expect(!datastore.isOpen && !linked.isLinked && datastore.manager.isShutDown)
    #expect(AccountWorkbench.files(bench.disk) == [])
  }

  /// As when its process slept meanwhile.
  @Test(arguments: [false, true])
  func `who has not noticed an unlinking does not make the root anew`(refreshes: Bool) async throws
  {
    let bench = try AccountWorkbench()
    let (accounts, linked, datastore) = try await prepared(bench)
    let manager = datastore.manager
    try datastore.close()
    let folder = AccountWorkbench.folderFiles(bench.disk)
    let other = try bench.manager(5)
    try #require(try other.linkedAccount).unlink()
    #expect(linked.isLinked && !manager.isShutDown)
    if refreshes {
      #expect(await manager.refreshError()?.code == .shutdown)
    } else {
      #expect(code { _ = try manager.openOrCreateDatastore("default") } == .shutdown)
    }
    #expect(AccountWorkbench.files(bench.disk) == [])
    #expect(!linked.isLinked && manager.isShutDown)
    #expect(try accounts.linkedAccount == nil)
    #expect(AccountWorkbench.files(bench.disk) == [])
    #expect(AccountWorkbench.folderFiles(bench.disk) == folder)
    #expect(bench.disk.heldLocks == 0 && bench.disk.openFiles == 0)
  }

  @Test func `local datastores do not go into an account that another process has unlinked`()
    async throws
  {
    let bench = try AccountWorkbench()
    let (accounts, linked, datastore) = try await prepared(bench)
    let (manager, local) = (datastore.manager, accounts.localManager)
    try datastore.close()
    try await local.with("one") { try $0.add("r") }
    let other = try bench.manager(5)
    try #require(try other.linkedAccount).unlink()
    #expect(code { _ = try local.migrate(to: manager) } == .shutdown)
    #expect(!linked.isLinked && manager.isShutDown && !local.isShutDown)
    #expect(try bench.disk.info(linked.root) == nil)
    #expect(try local.ids() == ["one"])
    let one = try local.openDatastore("one")
    #expect(try one.ids() == ["r"])
    try one.close()
    let again = try accounts.link(bench.account)
    let report = try local.migrate(to: try accounts.manager(for: again))
    #expect(report.datastores.map(\.id) == ["one"])
    #expect(try accounts.manager(for: again).ids() == ["one"])
  }

  /// Nothing says then that anybody has unlinked them.
  @Test(arguments: [false, true])
  func `no files go because the list of accounts is lost`(linksAnother: Bool) async throws {
    let bench = try AccountWorkbench()
    let (accounts, linked, datastore) = try await prepared(bench)
    try datastore.close()
    let files = AccountWorkbench.files(bench.disk)
    try bench.disk.remove(AccountWorkbench.directory + "/ACCOUNTS")
    if linksAnother {
      let bob = try accounts.link(Account(user: "bob", folder: bench.account.folder))
      #expect(try accounts.linkedAccounts == [bob])
    } else {
      #expect(try accounts.linkedAccounts == [])
    }
    #expect(!linked.isLinked)
    #expect(AccountWorkbench.files(bench.disk) == files)
  }

  /// Its root is that of an account which nobody has unlinked.
  @Test func `no files go because another process replaces a list that was lost`() async throws {
    let bench = try AccountWorkbench()
    let (accounts, linked, datastore) = try await prepared(bench)
    let manager = datastore.manager
    try datastore.close()
    let files = AccountWorkbench.files(bench.disk)
    try bench.disk.remove(AccountWorkbench.directory + "/ACCOUNTS")
    let other = try bench.manager(5)
    let again = try other.link(bench.account)
    #expect(again.id != linked.id)
    #expect(AccountWorkbench.files(bench.disk) == files)
    let reopened = try manager.openOrCreateDatastore("default")
    #expect(try reopened.table("t")["r"].int("x") == 1)
    try reopened.close()
    let kept = AccountWorkbench.files(bench.disk)
    #expect(kept.contains(linked.root + "/p-default/CURRENT"))
    #expect(try accounts.linkedAccounts.map(\.id) == [again.id])
    #expect(!linked.isLinked && manager.isShutDown)
    #expect(AccountWorkbench.files(bench.disk) == kept)
  }

  @Test func `no files go because a link that fails has begun a new list`() async throws {
    let bench = try AccountWorkbench()
    let (accounts, linked, datastore) = try await prepared(bench)
    try datastore.close()
    let files = AccountWorkbench.files(bench.disk)
    let list = AccountWorkbench.directory + "/ACCOUNTS"
    try bench.disk.remove(list)
    let bob = Account(user: "bob", folder: bench.account.folder)
    let temporary = Credentials.accessKey(id: "k", secret: "s", sessionToken: "t")
    #expect(code { _ = try accounts.link(bob, credentials: temporary) } == .illegalArgument)
    #expect(bench.disk.bytes(list) == AccountsFile().encoded())
    #expect(try accounts.linkedAccounts == [])
    #expect(!linked.isLinked)
    #expect(AccountWorkbench.files(bench.disk) == files)
  }

  /// An account behind a hook, with a datastore that is open, and a list that is in the folder.
  private func listed(
    _ bench: AccountWorkbench, _ hook: HookedFolder.Switch
  ) async throws -> (LinkedAccount, DatastoreManager) {
    let accounts = try bench.manager(hook)
    let linked = try accounts.link(bench.hookedAccount)
    let datastore = try accounts.openDefaultDatastore(for: linked)
    try datastore.add("r")
    try await datastore.exchange()
    try await datastore.manager.refresh()
    #expect(bench.disk.bytes(linked.root + "/CATALOGUE") != nil)
    let catalogue = AccountWorkbench.folder + "/catalogue/"
    #expect(AccountWorkbench.folderFiles(bench.disk).keys.count { $0.hasPrefix(catalogue) } == 1)
    return (linked, datastore.manager)
  }

  @Test func `an account that is unlinked while its list is exchanged does not come back`()
    async throws
  {
    let bench = try AccountWorkbench()
    let hook = HookedFolder.Switch()
    let (linked, manager) = try await listed(bench, hook)
    let folder = AccountWorkbench.folderFiles(bench.disk)
    hook.set { request, path throws(CairnError) in
      if request == .list, path == "catalogue" { try linked.unlink() }
    }
    #expect(await manager.refreshError()?.code == .shutdown)
    #expect(!linked.isLinked && manager.isShutDown)
    #expect(AccountWorkbench.files(bench.disk) == [])
    #expect(AccountWorkbench.folderFiles(bench.disk) == folder)
    #expect(bench.disk.heldLocks == 0 && bench.disk.openFiles == 0)
  }

  /// One that waited for its turn, for example.
  @Test func `a round with the list that begins after the account has gone makes no root`()
    async throws
  {
    let bench = try AccountWorkbench()
    let (linked, manager) = try await listed(bench, HookedFolder.Switch())
    let folder = AccountWorkbench.folderFiles(bench.disk)
    try linked.unlink()
    let catalogue = try #require(manager.catalogue)
    let error = await #expect(throws: CairnError.self) {
      _ = try await catalogue.run(manager, allowingMassDelete: false)
    }
    #expect(error?.code == .shutdown)
    #expect(code { try manager.installation.update { $0.installation = 7 } } == .shutdown)
    #expect(await manager.refreshError()?.code == .shutdown)
    #expect(try bench.disk.info(linked.root) == nil)
    #expect(AccountWorkbench.files(bench.disk) == [])
    #expect(AccountWorkbench.folderFiles(bench.disk) == folder)
  }

  /// A bad file is put into quarantine, in the root.
  @Test(arguments: [false, true])
  func `an account that another process unlinks while its list is exchanged does not come back`(
    hasBadFile: Bool
  ) async throws {
    let bench = try AccountWorkbench()
    let hook = HookedFolder.Switch()
    let (linked, manager) = try await listed(bench, hook)
    for datastore in manager.openDatastores { try datastore.close() }
    if hasBadFile {
      let path = AccountWorkbench.folder + "/catalogue/" + FileName.catalogue(installation: 7)
      try bench.disk.setBytes(path, [UInt8](repeating: 7, count: 100))
    }
    let folder = AccountWorkbench.folderFiles(bench.disk)
    let other = try #require(try bench.manager(5).linkedAccount)
    hook.set { request, path throws(CairnError) in
      if request == .list, path == "catalogue" { try other.unlink() }
    }
    #expect(await manager.refreshError()?.code == .shutdown)
    #expect(!other.isLinked && linked.isLinked)
    #expect(AccountWorkbench.files(bench.disk) == [])
    // The next round notices.
    #expect(await manager.refreshError()?.code == .shutdown)
    #expect(!linked.isLinked && manager.isShutDown)
    #expect(AccountWorkbench.files(bench.disk) == [])
    #expect(AccountWorkbench.folderFiles(bench.disk) == folder)
    #expect(bench.disk.heldLocks == 0 && bench.disk.openFiles == 0)
  }

  @Test func `another process may unlink another account in the middle`() async throws {
    let bench = try AccountWorkbench()
    let secrets = HookedCredentials()
    let machine = Machine(disk: bench.disk, clock: ManualClock(), random: SeededRandom(1))
    let accounts = try AccountManager(
      directory: AccountWorkbench.directory, options: Options(), credentialStore: secrets,
      machine: machine)
    let ann = try accounts.link(bench.account)
    let bob = try accounts.link(Account(user: "bob", folder: bench.account.folder))
    let theirs = try accounts.openDefaultDatastore(for: bob)
    let other = try bench.manager(5)
    secrets.hook.withLock {
      $0 = { try? other.linkedAccounts.first { $0.userId == "bob" }?.unlink() }
    }
    try ann.unlink()
    #expect(!ann.isLinked && !bob.isLinked && !theirs.isOpen)
    #expect(AccountWorkbench.files(bench.disk) == [])
    #expect(bench.disk.heldLocks == 0)
  }
}

/// Keeps nothing, and does something once when credentials are removed.
private final class HookedCredentials: CredentialStore {
  let hook = Lock<(@Sendable () -> Void)?>(nil)

  func credentials(for id: String) throws(CairnError) -> Credentials? { nil }
  func setCredentials(_ credentials: Credentials, for id: String) throws(CairnError) {}
  func removeCredentials(for id: String) throws(CairnError) {
    let hook = hook.withLock { hook in
      defer { hook = nil }
      return hook
    }
    hook?()
  }
}
