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
}
