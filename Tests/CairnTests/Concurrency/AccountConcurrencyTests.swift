import Cairn
import CairnDisk
import Synchronization
import TestSupport
import Testing

/// Many threads, and several managers as several processes would have them, on one directory.
@Suite struct AccountConcurrencyTests {
  private let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  private func manager() throws -> AccountManager {
    try AccountManager(directory: place.path("accounts"))
  }
  private func account(_ user: String) -> Account {
    Account(user: user, folder: .directory(place.path("folder")))
  }

  @Test func `managers that link at once lose no account`() throws {
    let managers = try (0..<4).map { _ in try manager() }
    try Threads.run(8) { thread in
      for index in 0..<8 {
        _ = try managers[thread % 4].link(account("u\(thread)-\(index)"))
      }
    }
    let expected = Set((0..<8).flatMap { thread in (0..<8).map { "u\(thread)-\($0)" } })
    for manager in managers + [try manager()] {
      let linked = try manager.linkedAccounts
      #expect(linked.count == 64 && Set(linked.map(\.userId)) == expected)
      #expect(Set(linked.map(\.id)).count == 64)
    }
  }

  @Test func `one account linked by many is one account`() throws {
    let accounts = try manager()
    let seen = Lock<[LinkedAccount]>([])
    try Threads.run(6) { _ in
      for _ in 0..<10 {
        let linked = try accounts.link(account("ann"))
        seen.withLock { $0.append(linked) }
      }
    }
    let all = seen.withLock { $0 }
    #expect(all.count == 60 && all.allSatisfy { $0 === all[0] })
    #expect(try accounts.linkedAccounts.count == 1)
  }

  @Test func `linking, opening and unlinking at once end well`() throws {
    let accounts = try manager()
    let opened = Atomic<Int>(0)
    try Threads.run(6) { thread in
      for round in 0..<12 {
        let linked = try accounts.link(account("u\(thread % 2)"))
        do {
          let datastore = try accounts.openDefaultDatastore(for: linked)
          try datastore.table("t").insert(["thread": .int(Int64(thread))])
          try datastore.sync()
          opened.add(1, ordering: .relaxed)
          try datastore.close()
        } catch let error as CairnError {
          // Another thread has it open, or unlinked the account meanwhile.
          let fine: Set<CairnError.Code> = [.alreadyOpen, .shutdown, .closed, .notFound]
          if !fine.contains(error.code) { throw error }
        }
        if thread >= 4, round % 3 == 2 { try linked.unlink() }
      }
    }
    #expect(opened.load(ordering: .relaxed) > 0)
    for linked in try accounts.linkedAccounts { try linked.unlink() }
    #expect(try manager().linkedAccounts.isEmpty)
    let left = try PosixDisk().list(place.path("accounts")).map(\.name)
    #expect(left == ["ACCOUNTS", "LOCK"])
  }

  @Test func `managers are one for all threads`() throws {
    let accounts = try manager()
    let linked = try accounts.link(account("ann"))
    let seen = Lock<[DatastoreManager]>([])
    try Threads.run(8) { _ in
      let (own, local) = (try accounts.manager(for: linked), accounts.localManager)
      seen.withLock { $0 += [own, local] }
    }
    let all = seen.withLock { $0 }
    let (own, local) = (try accounts.manager(for: linked), accounts.localManager)
    #expect(all.count == 16 && all.allSatisfy { $0 === own || $0 === local })
  }
}
