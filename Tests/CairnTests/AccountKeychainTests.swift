import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A store of credentials of an app's own may refuse to let go of them.
@Suite struct AccountKeychainTests {
  /// Stands for a keychain that may be locked.
  private final class Keychain: CredentialStore {
    let kept = Shared<[String: Credentials]>([:])
    let isLocked = Shared(false)

    func credentials(for id: String) throws(CairnError) -> Credentials? {
      kept.withLock { $0[id] }
    }

    func setCredentials(_ credentials: Credentials, for id: String) throws(CairnError) {
      kept.withLock { $0[id] = credentials }
    }

    func removeCredentials(for id: String) throws(CairnError) {
      if isLocked.withLock({ $0 }) {
        throw CairnError(.auth, "the keychain is locked; unlock it", id: id)
      }
      kept.withLock { $0[id] = nil }
    }
  }

  private func manager(
    _ bench: AccountWorkbench, _ keychain: Keychain, _ seed: UInt64
  ) throws -> AccountManager {
    try AccountManager(
      directory: AccountWorkbench.directory, options: Options(), credentialStore: keychain,
      machine: Machine(disk: bench.disk, clock: ManualClock(), random: SeededRandom(seed)))
  }

  @Test func `a secret that can't be removed now is told, and goes at a later start`() throws {
    let (bench, keychain) = (try AccountWorkbench(), Keychain())
    let accounts = try manager(bench, keychain, 1)
    let linked = try accounts.link(bench.account, credentials: bench.credentials)
    try accounts.openDefaultDatastore(for: linked).close()
    keychain.isLocked.withLock { $0 = true }
    let error = failure { try linked.unlink() }
    #expect(error?.code == .auth)
    #expect(error?.message.contains("is unlinked, but its files") == true)
    #expect(error?.message.contains("the keychain is locked; unlock it") == true)
    #expect(!linked.isLinked)
    #expect(try accounts.linkedAccounts.isEmpty)
    // It is not forgotten by a start that can't do it either.
    #expect(try manager(bench, keychain, 2).linkedAccounts.isEmpty)
    #expect(keychain.kept.withLock { $0.count } == 1)
    keychain.isLocked.withLock { $0 = false }
    #expect(try manager(bench, keychain, 3).linkedAccounts.isEmpty)
    #expect(keychain.kept.withLock { $0.isEmpty })
    #expect(AccountWorkbench.files(bench.disk) == [])
  }

  @Test func `what an account can't be linked with is not kept`() throws {
    let (bench, keychain) = (try AccountWorkbench(), Keychain())
    let accounts = try manager(bench, keychain, 1)
    let long = AccountInfo(userName: String(repeating: "n", count: AccountsFile.bytesMax))
    func refusal(_ credentials: Credentials) -> CairnError.Code? {
      code { _ = try accounts.link(bench.account, info: long, credentials: credentials) }
    }
    #expect(refusal(bench.credentials) == .sizeLimit)
    #expect(keychain.kept.withLock { $0.isEmpty })
    let linked = try accounts.link(bench.account, credentials: bench.credentials)
    #expect(refusal(.bearer("new")) == .sizeLimit)
    #expect(try linked.credentials() == bench.credentials)
    #expect(keychain.kept.withLock { $0.count } == 1)
  }

  @Test func `nor what the disk does not let be linked, unless it is all the same`() throws {
    let (bench, keychain) = (try AccountWorkbench(), Keychain())
    let accounts = try manager(bench, keychain, 1)
    let list = AccountWorkbench.directory + "/ACCOUNTS"
    let disk = bench.disk
    disk.intercept { $0.target == list ? .noSpace : nil }
    func refusal() -> CairnError.Code? {
      code { _ = try accounts.link(bench.account, credentials: bench.credentials) }
    }
    #expect(refusal() == .diskSpace)
    disk.heal()
    #expect(try accounts.linkedAccounts.isEmpty)
    #expect(keychain.kept.withLock { $0.isEmpty })
    // The list has its name, and the sync of that fails.
    disk.intercept { step in
      if step.target == list { disk.failAt(operation: step.number + 1, reason: .io(errno: 5)) }
      return nil
    }
    #expect(refusal() == .fileIO)
    disk.heal()
    #expect(try accounts.linkedAccount?.credentials() == bench.credentials)
  }
}
