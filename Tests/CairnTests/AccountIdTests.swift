import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// The ids that accounts get are random, and never one that the list of accounts can't have: with
/// one that is there twice, or 0, nobody could read the list again.
@Suite struct AccountIdTests {
  /// Gives out what was put into it first.
  private final class LoadedRandom: RandomSource {
    private let loaded = Lock<[UInt64]>([])
    private let rest = SeededRandom(9)

    func load(_ numbers: [UInt64]) { loaded.withLock { $0 = numbers } }

    func next() -> UInt64 {
      let first = loaded.withLock { numbers -> UInt64? in
        numbers.isEmpty ? nil : numbers.removeFirst()
      }
      return first ?? rest.next()
    }
  }

  @Test func `an id is neither 0, nor another account's, nor that of one that is leaving`() throws {
    let bench = try AccountWorkbench()
    let random = LoadedRandom()
    let accounts = try AccountManager(
      directory: AccountWorkbench.directory, options: Options(), credentialStore: nil,
      machine: Machine(disk: bench.disk, clock: ManualClock(), random: random))
    random.load([0, 5])
    let ann = try accounts.link(bench.account)
    #expect(ann.id == "0000000000000005")
    random.load([5, 0, 6])
    let bob = try accounts.link(Account(user: "bob", folder: bench.account.folder))
    #expect(bob.id == "0000000000000006" && bob != ann)

    // What is left of its files must not become those of another account.
    try accounts.openDefaultDatastore(for: ann).close()
    bench.disk.intercept { $0.verb == "remove the directory" ? .io(errno: 5) : nil }
    #expect(code { try ann.unlink() } == .fileIO)
    bench.disk.heal()
    random.load([5, 7])
    let cid = try accounts.link(Account(user: "cid", folder: bench.account.folder))
    #expect(cid.id == "0000000000000007")
    let again = try bench.manager(3)
    #expect(try again.linkedAccounts.map(\.userId) == ["bob", "cid"])
  }
}
