import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// What happens to accounts while local datastores are being moved into one.
@Suite(.timeLimit(.minutes(20))) struct AccountMoveTests {
  private let bench: AccountWorkbench
  private let accounts: AccountManager
  private let linked: LinkedAccount
  private let local: DatastoreManager
  private let target: DatastoreManager

  init() async throws {
    bench = try AccountWorkbench()
    accounts = try bench.manager()
    linked = try accounts.link(bench.account)
    local = accounts.localManager
    target = try accounts.manager(for: linked)
    try await local.with("one") { try $0.add("r") }
    try target.openDefaultDatastore().close()
  }

  /// Moves, and has something done once, before MIGRATION gets its name in one of the two roots.
  private func move(
    before root: String, _ body: @escaping @Sendable () throws -> Void
  ) -> CairnError.Code? {
    let isOver = Flag()
    bench.disk.intercept { step in
      guard step.target == root + "/MIGRATION", isOver.raise() else { return nil }
      do { try body() } catch { Issue.record(error) }
      return nil
    }
    let result = code { _ = try local.migrate(to: target) }
    bench.disk.intercept(nil)
    #expect(isOver.isUp)
    return result
  }

  /// The local datastores are as they were, and nothing is left of the account.
  private func checkNothingMoved() throws {
    #expect(!linked.isLinked && target.isShutDown && !local.isShutDown)
    #expect(try local.ids() == ["one"])
    let one = try local.openDatastore("one")
    #expect(try one.ids() == ["r"])
    try one.close()
    #expect(try bench.disk.info(linked.root) == nil)
    #expect(bench.disk.bytes(local.root + "/MIGRATION") == nil)
    #expect(bench.disk.heldLocks == 0 && bench.disk.openFiles == 0)
  }

  @Test func `nothing is moved into an account that another process unlinks meanwhile`() throws {
    let other = try bench.manager(5)
    let theirs = try #require(try other.linkedAccount)
    let result = move(before: local.root) { try theirs.unlink() }
    #expect(result == .shutdown)
    try checkNothingMoved()
  }

  /// It has come as far as the list when the move is decided, and has seen nothing of that.
  @Test func `a move that is decided after the account has left the list is taken back`() throws {
    let (other, id) = (try bench.manager(5), linked.number)
    let result = move(before: linked.root) {
      try other.edit { file throws(CairnError) in
        file.entries.removeAll { $0.id == id }
        file.leaving.append(id)
        return nil
      }
    }
    #expect(result == .shutdown)
    try checkNothingMoved()
  }

  /// Which waits for the move once the list has been written.
  @Test func `nothing is moved into an account that another thread unlinks meanwhile`() throws {
    let threads = Shared<[BackgroundThread]>([])
    let failures = Told<CairnError.Code?>()
    let result = move(before: local.root) { [linked] in
      let thread = BackgroundThread { failures.add(code { try linked.unlink() }) }
      threads.withLock { $0 = [thread].compactMap(\.self) }
      for _ in 0..<10_000 where linked.isLinked { Pause.brief() }
    }
    for thread in threads.withLock({ $0 }) { thread.join() }
    #expect(result == .shutdown)
    #expect(failures.all == [nil])
    try checkNothingMoved()
  }

  /// Who asks for the local manager meanwhile waits for the end of the move, and nobody else does.
  @Test func `the list of accounts can be had during a move`() throws {
    let threads = Shared<[BackgroundThread]>([])
    let (isAnswered, isInTime) = (Flag(), Flag())
    let result = move(before: linked.root) { [accounts] in
      let first = BackgroundThread { _ = accounts.localManager }
      let second = BackgroundThread {
        // Often enough for the first one to get as far as it can.
        for _ in 0..<200 {
          _ = try? accounts.linkedAccounts
          Pause.brief()
        }
        isAnswered.raise()
      }
      threads.withLock { $0 = [first, second].compactMap(\.self) }
      for _ in 0..<10_000 where !isAnswered.isUp { Pause.brief() }
      if isAnswered.isUp { isInTime.raise() }
    }
    for thread in threads.withLock({ $0 }) { thread.join() }
    #expect(result == nil)
    #expect(isInTime.isUp)
    #expect(accounts.localManager !== local && !accounts.localManager.isShutDown)
    #expect(try target.ids() == ["default", "one"])
  }
}
