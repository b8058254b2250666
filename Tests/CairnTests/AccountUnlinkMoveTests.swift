import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Accounts that are unlinked after an interrupted move of the local datastores into them.
@Suite struct AccountUnlinkMoveTests {
  private struct NeverThere: Error {}

  /// The app is killed once it is decided that the local datastore goes to the account.
  private static func killed() async throws -> AccountWorkbench {
    for step in 1..<1000 {
      let bench = try AccountWorkbench()
      let accounts = try bench.manager()
      let linked = try accounts.link(bench.account)
      let local = accounts.localManager
      let target = try accounts.manager(for: linked)
      try await local.with("one") { try $0.add("r") }
      bench.disk.powerOff(before: bench.disk.operations + step)
      do { try local.migrate(to: target) } catch {}
      bench.disk.heal()
      guard bench.disk.bytes(linked.root + "/MIGRATION") != nil else { continue }
      try #require(bench.disk.bytes(local.root + "/MIGRATION") != nil)
      return bench
    }
    throw NeverThere()
  }

  @Test func `a move that was not completed is taken back`() async throws {
    let bench = try await Self.killed()
    let accounts = try bench.manager(7)
    try #require(try accounts.linkedAccount).unlink()
    let local = accounts.localManager
    #expect(try local.ids() == ["one"])
    #expect(bench.disk.bytes(local.root + "/MIGRATION") == nil)
    let datastore = try local.openDatastore("one")
    #expect(try datastore.ids() == ["r"])
    try datastore.close()
  }

  /// As long as nothing has happened yet, whoever uses the local ones completes the move.
  @Test func `an unlink that stops half way takes no datastores from where they came from`()
    async throws
  {
    let before = try await Self.killed().disk
    var step = 0
    while true {
      step += 1
      let disk = before.snapshot()
      let accounts = try AccountWorkbench.manager(disk)
      let root = accounts.localManager.root
      let linked = try #require(try accounts.linkedAccount)
      disk.powerOff(before: disk.operations + step)
      let failure = code { try linked.unlink() }
      if !disk.isOff { #expect(failure == nil) }
      for model in CrashModel.all(seeds: 0..<2) {
        let left = disk.crash(keep: model)
        let machine = Machine(disk: left, clock: ManualClock(), random: SeededRandom(3))
        let local = DatastoreManager(
          root: root, account: nil, folder: nil, options: Options(), machine: machine)
        if try local.ids() == ["one"] {
          let datastore = try local.openDatastore("one")
          #expect(try datastore.ids() == ["r"])
          try datastore.close()
          continue
        }
        #expect(disk.isOff, "an unlink that was completed has taken the move back")
        let again = try AccountWorkbench.manager(left, 9)
        let account = try #require(try again.linkedAccount, "step \(step), \(model)")
        #expect(try again.manager(for: account).ids() == ["one"], "step \(step), \(model)")
      }
      if !disk.isOff { break }
    }
    #expect(step > 10)
  }

  /// Where they came from was not told, and by the old paths nobody finds the other root if the
  /// app's directory is moved.
  @Test(arguments: [false, true])
  func `datastores that have become the account's go with it`(isMoved: Bool) async throws {
    let bench = try await Self.killed()
    var directory = AccountWorkbench.directory
    if isMoved {
      try bench.disk.rename(directory, to: "/cairn-bench/moved")
      directory = "/cairn-bench/moved"
    }
    let accounts = try AccountManager(
      directory: directory, options: Options(), credentialStore: nil,
      machine: Machine(disk: bench.disk, clock: ManualClock(), random: SeededRandom(7)))
    let local = accounts.localManager
    // What may be in a root that is only not to be seen is not taken back.
    if isMoved { #expect(code { _ = try local.ids() } == .notFound) }
    let linked = try #require(try accounts.linkedAccount)
    #expect(try accounts.manager(for: linked).ids() == ["one"])
    for root in [local.root, linked.root] {
      #expect(bench.disk.bytes(root + "/MIGRATION") != nil)
    }
    try linked.unlink()
    #expect(try bench.disk.info(linked.root) == nil)
    #expect(bench.disk.bytes(local.root + "/MIGRATION") == nil)
    #expect(try local.ids() == [])
  }

  /// It tells nobody anything.
  @Test func `a damaged note of a move keeps no account from going`() async throws {
    let bench = try await Self.killed()
    let accounts = try bench.manager(7)
    let linked = try #require(try accounts.linkedAccount)
    try bench.disk.setBytes(linked.root + "/MIGRATION", [1, 2, 3])
    try linked.unlink()
    #expect(try bench.disk.info(linked.root) == nil)
    #expect(try accounts.localManager.ids() == ["one"])
  }
}
