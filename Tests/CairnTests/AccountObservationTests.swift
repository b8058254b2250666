import Cairn
import CairnDisk
import Synchronization
import TestSupport
import Testing

/// Whoever wants to know is told what happens to accounts, here and elsewhere.
@Suite(.timeLimit(.minutes(20))) struct AccountObservationTests {
  private let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  private func manager() throws -> AccountManager {
    try AccountManager(directory: place.path("accounts"))
  }
  private func account(_ user: String = "ann") -> Account {
    Account(user: user, folder: .directory(place.path("folder")))
  }

  @Test func `links and unlinks are told in order`() async throws {
    let accounts = try manager()
    var changes = accounts.accountChanges.makeAsyncIterator()
    let ann = try accounts.link(account())
    #expect(await changes.next() == [.linked(ann)])
    let bob = try accounts.link(account("bob"))
    #expect(try accounts.link(account()) === ann)
    #expect(await changes.next() == [.linked(bob), .linked(ann)])
    try ann.setInfo(AccountInfo(userName: "Ann"))
    #expect(await changes.next() == [.infoChanged(ann)])
    try ann.setInfo(AccountInfo(userName: "Ann"))
    try ann.unlink()
    #expect(await changes.next() == [.unlinked(ann)])
  }

  @Test func `what nobody reads is one change an account`() async throws {
    let accounts = try manager()
    var changes = accounts.accountChanges.makeAsyncIterator()
    let ann = try accounts.link(account())
    for number in 0..<50 { try ann.setInfo(AccountInfo(userName: "Ann \(number)")) }
    #expect(await changes.next() == [.linked(ann)])
    for number in 0..<50 { try ann.setInfo(AccountInfo(userName: "Anna \(number)")) }
    #expect(await changes.next() == [.infoChanged(ann)])
    #expect(ann.info?.userName == "Anna 49")
  }

  /// Runs what it is given when it is told to.
  private final class Queue: Sendable {
    private let waiting = Lock<[@Sendable () -> Void]>([])
    var scheduler: Scheduler { { body in self.waiting.withLock { $0.append(body) } } }
    func run() {
      while true {
        let next = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let next else { return }
        next()
      }
    }
  }

  @Test func `a handler is called as long as somebody holds its observation`() throws {
    let accounts = try manager()
    let queue = Queue()
    let heard = Lock<[AccountChange]>([])
    let observation = accounts.onAccountChange(on: queue.scheduler) { changes in
      // A handler may use the manager.
      let known = (try? accounts.linkedAccounts.count) ?? -1
      #expect(known >= 0)
      heard.withLock { $0 += changes }
    }
    let ann = try accounts.link(account())
    queue.run()
    try ann.unlink()
    queue.run()
    #expect(heard.withLock { $0 } == [.linked(ann), .unlinked(ann)])
    observation.cancel()
    _ = try accounts.link(account("bob"))
    queue.run()
    #expect(heard.withLock { $0.count } == 2)
  }

  @Test func `an account tells what becomes of it`() async throws {
    let accounts = try manager()
    let ann = try accounts.link(account())
    var statuses = ann.changes.makeAsyncIterator()
    let info = AccountInfo(userName: "Ann", orgName: "Quarry")
    try ann.setInfo(info)
    let status = await statuses.next()
    #expect(status?.info == info && status?.isLinked == true)
    try ann.unlink()
    #expect(await statuses.next()?.isLinked == false)
    #expect(await statuses.next() == nil)
  }

  @Test func `an observation is told although nobody holds the account`() throws {
    let accounts = try manager()
    _ = try accounts.link(account())
    let heard = Lock<[LinkedAccount.Status]>([])
    let observation = try accounts.linkedAccount?.onChange(on: { $0() }) { status in
      heard.withLock { $0.append(status) }
    }
    let info = AccountInfo(userName: "Ann")
    try accounts.linkedAccount?.setInfo(info)
    try accounts.linkedAccount?.unlink()
    #expect(heard.withLock { $0.map(\.isLinked) } == [true, false])
    #expect(heard.withLock { $0.map(\.info) } == [info, info])
    withExtendedLifetime(observation) {}
  }

  @Test func `a loop over an account ends with it although nobody holds it`() async throws {
    let accounts = try manager()
    _ = try accounts.link(account())
    let changes = try #require(try accounts.linkedAccount?.changes)
    try accounts.linkedAccount?.unlink()
    var statuses = changes.makeAsyncIterator()
    #expect(await statuses.next()?.isLinked == false)
    #expect(await statuses.next() == nil)
  }

  @Test func `loops end when nobody holds the account manager any more`() async throws {
    func begin() throws -> (Updates<[AccountChange]>, Updates<LinkedAccount.Status>) {
      let accounts = try manager()
      let ann = try accounts.link(account())
      return (accounts.accountChanges, ann.changes)
    }
    let (all, one) = try begin()
    for await _ in all { Issue.record("nothing has happened") }
    for await _ in one { Issue.record("nothing has happened") }
  }

  @Test func `what another manager does is told when somebody asks`() async throws {
    let (here, elsewhere) = (try manager(), try manager())
    let ann = try here.link(account())
    let datastore = try here.openDefaultDatastore(for: ann)
    var changes = here.accountChanges.makeAsyncIterator()
    let queue = Queue()
    let last = Lock<LinkedAccount.Status?>(nil)
    let observation = ann.onChange(on: queue.scheduler) { status in
      last.withLock { $0 = status }
    }
    try #require(try elsewhere.linkedAccount).unlink()
    #expect(try here.linkedAccounts.isEmpty)
    #expect(await changes.next() == [.unlinked(ann)])
    queue.run()
    #expect(last.withLock { $0 }?.isLinked == false)
    #expect(!datastore.isOpen)
    withExtendedLifetime(observation) {}
  }

  @Test func `an account that a handler unlinks is not among those that were asked for`() throws {
    // Its disk can't be watched: only asking brings what the other manager did.
    let bench = try AccountWorkbench()
    let (here, there) = (try bench.manager(1), try bench.manager(2))
    let old = try here.link(bench.account)
    let atOnce: Scheduler = { $0() }
    let observation = here.onAccountChange(on: atOnce) { changes in
      guard changes.contains(where: { $0.account.userId == "bob" }) else { return }
      do { try old.unlink() } catch { Issue.record(error) }
    }
    _ = try there.link(Account(user: "bob", folder: bench.account.folder))
    let linked = try here.linkedAccounts
    #expect(linked.map(\.userId) == ["bob"])
    #expect(linked.allSatisfy(\.isLinked) && !old.isLinked)
    withExtendedLifetime(observation) {}
  }

  #if os(Linux)
    @Test func `what another process does is told without asking`() async throws {
      let (here, elsewhere) = (try manager(), try manager())
      var changes = here.accountChanges.makeAsyncIterator()
      _ = try elsewhere.link(account())
      let linked = try #require(await changes.next()?.first)
      #expect(linked.account.userId == "ann")
      let datastore = try here.openDefaultDatastore(for: linked.account)
      try #require(try elsewhere.linkedAccount).unlink()
      #expect(await changes.next() == [.unlinked(linked.account)])
      #expect(!datastore.isOpen && !linked.account.isLinked)
    }

    /// Tells a handler what happens to the accounts, at once.
    private func observe(_ accounts: AccountManager, _ told: Told<AccountChange>) -> Observation {
      let atOnce: Scheduler = { $0() }
      return accounts.onAccountChange(on: atOnce) { changes in
        for change in changes { told.add(change) }
      }
    }

    @Test(.timeLimit(.minutes(20)))
    func `a directory that can't be watched at first is watched once it can be`() async throws {
      let (here, elsewhere) = (try manager(), try manager())
      let (disk, told) = (PosixDisk(), Told<AccountChange>())
      try disk.open(place.path("accounts"), .create).close()
      let observation = observe(here, told)
      try disk.remove(place.path("accounts"))
      _ = here.accountChanges
      _ = try elsewhere.link(account())
      while told.all.isEmpty, !Task.isCancelled { await Task.yield() }
      let heard = told.all
      let ann = try #require(try here.linkedAccount)
      #expect(heard == [.linked(ann)])
      withExtendedLifetime(observation) {}
    }

    @Test(.timeLimit(.minutes(20)))
    func `a directory that takes the place of another one is watched, too`() async throws {
      let (here, elsewhere) = (try manager(), try manager())
      let ann = try here.link(account())
      let told = Told<AccountChange>()
      let observation = observe(here, told)
      try PosixDisk().rename(place.path("accounts"), to: place.path("elsewhere"))
      while told.all.isEmpty, !Task.isCancelled { await Task.yield() }
      _ = here.accountChanges
      _ = try elsewhere.link(account("bob"))
      while told.all.count < 2, !Task.isCancelled { await Task.yield() }
      let heard = told.all
      let bob = try #require(try here.linkedAccount)
      #expect(heard == [.unlinked(ann), .linked(bob)])
      withExtendedLifetime(observation) {}
    }
  #endif
}
