import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Accounts that are unlinked after an interrupted move of the local datastores into them.
@Suite struct AccountUnlinkMoveTests {
  private struct NeverThere: Error {}

  /// The app is killed once it is decided that the local datastores go to the account, and so many
  /// of them are in their places there.
  private static func killed(
    _ ids: [String] = ["one"], installed: Int = 0
  ) async throws -> AccountWorkbench {
    for step in 1..<1000 {
      let bench = try AccountWorkbench()
      let accounts = try bench.manager()
      let linked = try accounts.link(bench.account)
      let local = accounts.localManager
      let target = try accounts.manager(for: linked)
      for id in ids { try await local.with(id) { try $0.add("r") } }
      bench.disk.powerOff(before: bench.disk.operations + step)
      do { try local.migrate(to: target) } catch {}
      bench.disk.heal()
      guard let journal = try MigrationJournal.read(linked.root, disk: bench.disk),
        !journal.isInstalled
      else { continue }
      let places = try journal.items.filter {
        try bench.disk.info(linked.root + "/" + $0.directory) != nil
      }
      guard places.count == installed else { continue }
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
          let again = try AccountWorkbench.manager(left, 9)
          if let account = try again.linkedAccount {
            #expect(try again.manager(for: account).ids() == [], "step \(step), \(model)")
          }
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

  @Test func `an unlink that stops half way leaves no part of a move in the account`()
    async throws
  {
    let before = try await Self.killed(["one", "two"], installed: 1).disk
    var step = 0
    var states: Set<[String]> = []
    while true {
      step += 1
      let disk = before.snapshot()
      let accounts = try AccountWorkbench.manager(disk)
      let linked = try #require(try accounts.linkedAccount)
      disk.powerOff(before: disk.operations + step)
      let failure = code { try linked.unlink() }
      if !disk.isOff { #expect(failure == nil) }
      for model in CrashModel.all(seeds: 0..<2) {
        let again = try AccountWorkbench.manager(disk.crash(keep: model), 9)
        let local = again.localManager
        let ids = try local.ids()
        states.insert(ids)
        for id in ids {
          let datastore = try local.openDatastore(id)
          #expect(try datastore.ids() == ["r"])
          try datastore.close()
        }
        guard let account = try again.linkedAccount else {
          #expect(ids == ["one", "two"], "step \(step), \(model)")
          continue
        }
        #expect(disk.isOff)
        let moved = try again.manager(for: account).ids()
        #expect(ids + moved == ["one", "two"], "step \(step), \(model): \(ids) are local")
      }
      if !disk.isOff { break }
    }
    #expect(step > 10)
    #expect(states == [[], ["one", "two"]])
  }

  @Test func `a move that was begun goes on if the account can't be taken off the list`()
    async throws
  {
    let bench = try await Self.killed(["one", "two"], installed: 1)
    let accounts = try bench.manager(7)
    let linked = try #require(try accounts.linkedAccount)
    let list = AccountWorkbench.directory + "/ACCOUNTS"
    bench.disk.intercept { $0.target == list ? .noSpace : nil }
    #expect(code { try linked.unlink() } == .diskSpace)
    bench.disk.heal()
    #expect(linked.isLinked)
    #expect(try accounts.localManager.ids() == [])
    #expect(try accounts.manager(for: linked).ids() == ["one", "two"])
  }

  /// An observer may use them at once, before any file of the account goes.
  @Test func `who hears that an account goes finds a move taken back that was begun`()
    async throws
  {
    let bench = try await Self.killed(["one", "two"], installed: 1)
    let accounts = try bench.manager(7)
    let linked = try #require(try accounts.linkedAccount)
    let seen = Told<[String]>()
    let observation = accounts.onAccountChange(on: { $0() }) { [weak accounts] _ in
      if let ids = try? accounts?.localManager.ids() { seen.add(ids) }
    }
    try linked.unlink()
    withExtendedLifetime(observation) {}
    #expect(seen.all == [["one", "two"]])
    #expect(try accounts.localManager.ids() == ["one", "two"])
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
