import CairnDisk
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Who syncs whenever something is incoming gets all of it, and is not woken for nothing.
@Suite(.timeLimit(.minutes(20))) struct IncomingLoopTests {
  private let bench = IdentityBench(seed: 92)

  /// The name of the one file with deltas that a device has in the folder.
  private func file(of device: Datastore) throws -> String {
    let path = try #require(bench.folder.paths().first { path in
      path.contains("/\(device.device)") && path.hasSuffix(".seg")
    })
    return String(path.split(separator: "/").last ?? "")
  }

  @Test func `what is fetched while a sync takes the rest wakes who sees nothing new`()
    async throws
  {
    let script = ScriptedFolder.Script()
    bench.scripts["b"] = script
    let (a, b, c) = (try bench.open("a"), try bench.open("b"), try bench.open("c"))
    try a.add("base")
    try await bench.settle([a, b, c])
    try a.add("one")
    try await a.exchange()
    // It is named, and stays away: something is to be downloaded all the time.
    try c.add("late")
    try await c.exchange()
    script.showPlaceholders(for: try file(of: c))
    let exchanger = try #require(b.exchanger)
    _ = try await exchanger.run(publishes: false)
    try a.add("two")
    try await a.exchange()

    var statuses = b.statusChanges.makeAsyncIterator()
    let before = try #require(await statuses.next())
    #expect(before.flags == ["downloading", "incoming"])
    let isAsked = Flag()
    let fetched = Shared(0)
    bench.disk("b").intercept { operation in
      guard operation.verb == "sync", operation.path.contains("/log/"), isAsked.raise() else {
        return nil
      }
      // A round in the background, which waits for no sync as long as it publishes nothing.
      let end = DispatchSemaphore(value: 0)
      Task {
        let report = try? await exchanger.run(publishes: false)
        fetched.withLock { $0 = report?.fetchedFiles ?? 0 }
        end.signal()
      }
      end.wait()
      return nil
    }
    // Not in a thread that the round may need.
    let result = await withCheckedContinuation { continuation in
      let thread = BackgroundThread { continuation.resume(returning: try? b.sync()) }
      if thread == nil { continuation.resume(returning: nil) }
    }
    #expect(result?.incorporated == 1 && fetched.withLock { $0 } == 1)
    #expect(b.status == before, "nothing shows")
    #expect(await statuses.next()?.incoming == true)
    try b.sync()
    #expect(try b.ids() == ["base", "one", "two"])
    #expect(await statuses.next()?.incoming == false)
  }

  @Test func `what no sync can take wakes nobody again`() async throws {
    let script = ScriptedFolder.Script()
    bench.scripts["b"] = script
    let (a, b, c) = (try bench.open("a"), try bench.open("b"), try bench.open("c"))
    try a.add("base")
    try await a.exchange()
    try await c.exchange()
    try c.sync()
    try c.table("t")["base"].set("text", "edited")
    try c.sync()
    try await c.exchange()
    script.showPlaceholders(for: try file(of: a))

    let syncs = Shared(0)
    let updates = b.statusChanges
    let loop = Task {
      for await status in updates where status.incoming {
        try b.sync()
        syncs.withLock { $0 += 1 }
      }
    }
    let statuses = b.observers.statuses
    func round() async throws {
      bench.clock.advance(by: 1000)
      try await b.exchange()
      while !statuses.isAtRest { await Task.yield() }
    }
    for _ in 0..<4 {
      try await round()
      #expect(b.status.flags == ["downloading"])
      #expect(syncs.withLock { $0 } == 1)
    }
    script.list(nil)
    try await round()
    #expect(try b.table("t")["base"].get("text") == "edited")
    #expect(syncs.withLock { $0 } == 2 && !b.status.incoming)
    try b.close()
    try await loop.value
  }

  @Test func `who could not sync is told again by the next round, and once`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.add("base")
    try await bench.settle([a, b])
    // Those that run in the background do not show in the status by themselves.
    try #require(b.exchanger).condition.update { $0.isInBackground = true }
    try a.add("one")
    try await a.exchange()
    try await b.exchange()
    #expect(b.status.flags == ["connected", "incoming"])

    let disk = bench.disk("b")
    disk.intercept { operation in
      operation.verb == "write" && operation.path.contains("/log/") ? .noSpace : nil
    }
    let (told, failures) = (Shared(0), Told<CairnError.Code>())
    let updates = b.statusChanges
    let loop = Task {
      for await status in updates where status.incoming {
        told.withLock { $0 += 1 }
        do throws(CairnError) { try b.sync() } catch { failures.add(error.code) }
      }
    }
    let statuses = b.observers.statuses
    func rest() async { while !statuses.isAtRest { await Task.yield() } }
    func round() async throws {
      bench.clock.advance(by: 1000)
      try await b.exchange()
      await rest()
    }
    await rest()
    #expect(failures.all == [.diskSpace], "and it is not tried without a pause")
    try await round()
    #expect(failures.all == [.diskSpace, .diskSpace])
    #expect(try b.ids() == ["base"] && b.status.flags == ["connected", "incoming"])
    disk.heal()
    try await round()
    #expect(try b.ids() == ["base", "one"] && !b.status.incoming)
    try await round()
    #expect(failures.all.count == 2 && told.withLock { $0 } == 3)
    try b.close()
    await loop.value
  }

  @Test func `what nobody tried to sync is told once, whatever rounds come`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.add("base")
    try await bench.settle([a, b])
    try #require(b.exchanger).condition.update { $0.isInBackground = true }
    try a.add("one")
    try await a.exchange()
    try await b.exchange()
    bench.disk("b").intercept { operation in
      operation.verb == "write" && operation.path.contains("/log/") ? .noSpace : nil
    }
    #expect(failure { try b.sync() }?.code == .diskSpace)
    bench.disk("b").heal()
    let told = Shared(0)
    let observation = b.observeStatus(on: { $0() }) { _ in told.withLock { $0 += 1 } }
    for _ in 0..<3 {
      try await b.exchange()
      #expect(told.withLock { $0 } == 2, "what is, and that it can be tried again")
    }
    observation.cancel()
    try b.sync()
    #expect(try b.ids() == ["base", "one"])
  }

  @Test func `an equal status is news only with what has arrived and is incoming`() throws {
    let b = try bench.open("b")
    var status = b.status
    var next = status
    next.arrivals.count += 1
    #expect(next == status && next.isRepeat(of: status))
    (status.incoming, next.incoming) = (true, true)
    #expect(next == status && !next.isRepeat(of: status) && status.isRepeat(of: status))
    next.uploading.toggle()
    status.arrivals = next.arrivals
    #expect(!next.isRepeat(of: status))
  }
}
