import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Whoever does not want an exchange any more does not wait for the folder.
@Suite(.timeLimit(.minutes(20)))
struct ExchangeCancelTests {
  private let bench: FolderWorkbench
  private let gate = FarFolder.Gate()

  init() throws { bench = try FolderWorkbench() }

  private func open(_ device: String) throws -> Datastore { try bench.open(device, gate) }

  private func someoneWaits() async { while gate.waiting == 0 { await Task.yield() } }

  @Test func `cancelling an exchange reaches its requests, and the next one goes on`() async throws
  {
    let a = try open("a")
    try a.add("one")
    gate.shut()
    let task = Task { await a.exchangeError()?.code }
    await someoneWaits()
    task.cancel()
    #expect(await task.value == .cancelled)
    gate.open()
    #expect(try await a.exchange().publishedDeltas == 1)
  }

  @Test func `who waits for a turn and is cancelled cancels no other round`() async throws {
    let a = try open("a")
    try a.add("one")
    gate.shut()
    let first = Task { await a.exchangeError()?.code }
    await someoneWaits()
    let second = Task { await a.exchangeError()?.code }
    while a.exchanger?.condition.current.rounds != 2 { await Task.yield() }
    second.cancel()
    gate.open()
    #expect(await first.value == nil)
    _ = await second.value
    #expect(a.status.uploadError == nil)
  }

  @Test(arguments: [false, true])
  func `who waits for a turn and is cancelled waits no more for the one before`(
    repairs: Bool
  ) async throws {
    let a = try open("a")
    try a.add("one")
    gate.shut()
    let first = Task { await a.exchangeError()?.code }
    await someoneWaits()
    let second = Task { () -> CairnError.Code? in
      do throws(CairnError) {
        if repairs { _ = try await a.repairFolder() } else { _ = try await a.exchange() }
        return nil
      } catch { return error.code }
    }
    while a.exchanger?.condition.current.rounds != 2 { await Task.yield() }
    second.cancel()
    #expect(await second.value == .cancelled)
    #expect(gate.waiting == 1 && a.publishedDeltas == 0, "the first one waits for the folder")
    gate.open()
    #expect(await first.value == nil)
    #expect(a.status.uploadError == nil && a.publishedDeltas == 1)
  }

  @Test func `who waits for a turn in a datastore that is closed is told so`() async throws {
    let a = try open("a")
    gate.shut()
    let first = Task { await a.exchangeError()?.code }
    await someoneWaits()
    let second = Task { await a.exchangeError()?.code }
    while a.exchanger?.condition.current.rounds != 2 { await Task.yield() }
    try a.close()
    #expect(await first.value == .closed)
    #expect(await second.value == .closed)
  }

  @Test func `closing ends a round that waits for the folder`() async throws {
    let a = try open("a")
    gate.shut()
    let task = Task { await a.exchangeError()?.code }
    await someoneWaits()
    try a.close()
    #expect(await task.value == .closed)
  }

  @Test(arguments: [true, false])
  func `of a datastore that is closed no devices are told`(isBefore: Bool) async throws {
    let hook = HookedFolder.Switch()
    _ = try await bench.publisher("b")
    let a = try bench.open("a", hook)
    try await a.pull()
    #expect(try await a.devices().map(\.incorporatedDeltas) == [1])
    if isBefore { try a.close() }
    hook.set { request, _ in
      guard request == .list, a.isOpen else { return }
      do { try a.close() } catch { Issue.record("\(error)") }
    }
    do throws(CairnError) {
      let devices = try await a.devices()
      Issue.record("\(devices)")
    } catch { #expect(error.code == .closed) }
  }

  /// Closed, it knows none of the heads by which it would tell that the folder is the same.
  @Test func `a follower that is closed while it waits is not told of another folder`()
    async throws
  {
    let hook = HookedFolder.Switch()
    _ = try await bench.publisher("a")
    let follower = try await bench.follow("follower", FollowPolicy(), hook)
    try await follower.pull()
    try bench.write(bench.folder + "/cairn.json", FolderIdentity.encode(7))
    #expect(try await follower.datastore.devices().count == 1)
    hook.set { request, _ in
      guard request == .list, follower.isOpen else { return }
      do { try follower.close() } catch { Issue.record("\(error)") }
    }
    do throws(CairnError) {
      let devices = try await follower.datastore.devices()
      Issue.record("\(devices)")
    } catch { #expect(error.code == .closed) }
    #expect(!follower.isOpen)
    hook.set(nil)
  }

  @Test func `a background that is stopped ends its round, and reports no error`() async throws {
    let a = try open("a")
    let failures = Told<CairnError.Code>()
    gate.shut()
    try a.startExchanging { result in
      if case .failure(let error) = result { failures.add(error.code) }
    }
    await someoneWaits()
    a.stopExchanging()
    while gate.waiting > 0 { await Task.yield() }
    gate.open()
    try await a.exchange()
    #expect(failures.all == [])
    #expect(a.status.uploadError == nil)
  }

  @Test func `a content is fetched on when one of two who wait for it is cancelled`() async throws {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    bench.options.attachments = .onDemand
    let b = try open("b")
    try await b.pull()
    let photo = try b.photo("r")
    gate.shut()
    let tasks = (0..<2).map { _ in
      Task { () -> CairnError.Code? in
        do throws(CairnError) {
          try await photo.fetch()
          return nil
        } catch { return error.code }
      }
    }
    await someoneWaits()
    while b.exchanger?.blobs?.flights.withLock({ $0.values.first?.waiting }) != 2 {
      await Task.yield()
    }
    tasks[0].cancel()
    #expect(try photo.state != .here)
    gate.open()
    #expect(await tasks[1].value == nil)
    #expect(try b.content(of: "r") == sample(1))
  }

  @Test func `a content that nobody waits for any more is not fetched on, and can be again`()
    async throws
  {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    bench.options.attachments = .onDemand
    let b = try open("b")
    try await b.pull()
    let photo = try b.photo("r")
    gate.shut()
    let task = Task { () -> CairnError.Code? in
      do throws(CairnError) {
        try await photo.fetch()
        return nil
      } catch { return error.code }
    }
    await someoneWaits()
    task.cancel()
    #expect(await task.value == .cancelled)
    gate.open()
    try await photo.fetch()
    #expect(try b.content(of: "r") == sample(1))
  }
}
