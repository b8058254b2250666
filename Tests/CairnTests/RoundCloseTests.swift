import CairnDisk
import CairnLog
import Dispatch
import TestSupport
import Testing

@testable import Cairn

/// Datastores that are closed and opened again while a round writes at home.
@Suite(.timeLimit(.minutes(20))) struct RoundCloseTests {
  private let bench = IdentityBench(seed: 97)

  /// Another thread that closes a datastore, and opens it again or removes its copy.
  private final class Reopening: Sendable {
    let hasEnded = Flag()
    let opened = Shared<Datastore?>(nil)
    let failure = Shared<String?>(nil)
    private let removesCopy: Bool
    private let hasBegun = Flag()
    private let end = DispatchSemaphore(value: 0)

    init(removesCopy: Bool = false) { self.removesCopy = removesCopy }

    /// Returns when it is done, or after a second: it may be waiting for the caller.
    func run(_ datastore: Datastore) {
      guard hasBegun.raise() else { return }
      let thread = BackgroundThread { [self] in
        do {
          try datastore.close()
          if removesCopy {
            try datastore.manager.uncacheDatastore(datastore.id)
          } else {
            let again = try datastore.manager.openDatastore(datastore.id)
            opened.withLock { $0 = again }
          }
        } catch { failure.withLock { $0 = "\(error)" } }
        hasEnded.raise()
        end.signal()
      }
      if thread == nil {
        failure.withLock { $0 = "no thread" }
        hasEnded.raise()
      } else {
        _ = end.wait(timeout: .now() + 1)
      }
    }
  }

  @Test func `what a round notes of its head while a datastore is closed is known to the next one`()
    async throws
  {
    let first = try bench.open("a")
    try first.add("one")
    try await first.exchange()
    try first.add("two")
    try first.close()
    // Opened anew, it has nothing else to write when it is closed.
    let (a, reopening) = (try bench.open("a"), Reopening())
    let name = a.device
    bench.disk("a").intercept { step in
      if step.target == "/root/p-notes/" + FileName.publication { reopening.run(a) }
      return nil
    }
    let error = await a.exchangeError()
    #expect(error == nil || error?.code == .closed)
    while !reopening.hasEnded.isUp { await Task.yield() }
    bench.disk("a").intercept(nil)
    #expect(reopening.failure.withLock { $0 } == nil && !a.isOpen)
    let again = try #require(reopening.opened.withLock { $0 })
    let report = try await again.exchange()
    #expect(!report.isRejoining && report.problems == [])
    #expect(try again.sync().newDevice == nil)
    #expect(again.device == name)
    #expect(try again.ids() == ["one", "two"])
    try again.close()
  }

  @Test func `a round that is under way puts nothing back where a copy was removed meanwhile`()
    async throws
  {
    let a = try bench.open("a")
    try a.add("secret")
    try await a.exchange()
    let (fetching, removal) = (Shared<Datastore?>(nil), Reopening(removesCopy: true))
    // The last look before the first file that has come is kept.
    let disk = DeafDisk(
      base: bench.disk("b"), fault: { _ in nil },
      willLookUp: { path in
        guard path == "/root/p-notes/" + FileName.inbox else { return }
        if let datastore = fetching.withLock({ $0 }) { removal.run(datastore) }
      })
    let place = Machine(disk: bench.folder, clock: bench.clock, random: SeededRandom(5))
    let b = try DatastoreManager(
      root: "/root", account: Account(user: "ann", folder: .directory("/folder")),
      folder: { DirectoryFolder("/folder", machine: place) }, options: bench.options,
      machine: Machine(disk: disk, clock: bench.clock, random: bench.random("b"))
    ).openOrCreateDatastore("notes")
    fetching.withLock { $0 = b }
    let error = await b.exchangeError()
    #expect(error == nil || error?.code == .closed)
    while !removal.hasEnded.isUp { await Task.yield() }
    #expect(removal.failure.withLock { $0 } == nil && !b.isOpen)
    #expect(bench.disk("b").paths().filter { $0.hasPrefix("/root/p-notes/") } == [])
    // Nobody holds it any longer than that.
    fetching.withLock { $0 = nil }
  }
}
