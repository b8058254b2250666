import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Syncs of one datastore in two threads, of which one makes it another datastore.
@Suite struct SyncOverlapTests {
  private let bench = IdentityBench(seed: 93)

  private typealias Continuation = CheckedContinuation<String?, Never>

  /// What a thread does beside a sync: it syncs, looks at the folder, and syncs again.
  private final class Beside: Sendable {
    let end = DispatchSemaphore(value: 0)
    let isOver = Flag()
    let error = Shared<String?>(nil)

    func run(_ device: Datastore) {
      do {
        try device.sync()
        let exchanger = try #require(device.exchanger)
        let round = DispatchSemaphore(value: 0)
        Task {
          do { _ = try await exchanger.run(publishes: false) } catch { note(error) }
          round.signal()
        }
        round.wait()
        try device.sync()
      } catch { note(error) }
      isOver.raise()
      end.signal()
    }

    private func note(_ failure: any Error) { _ = error.exchange("\(failure)") }
  }

  /// Runs a sync that takes in what was fetched. When its first deltas are in the log, and it has
  /// the next ones in its hands, another thread has a second to make the store another one.
  private func overlap(_ device: Datastore, _ disk: MemoryDisk) async throws {
    let isAsked = Flag()
    let beside = Beside()
    disk.intercept { operation in
      guard operation.verb == "sync", operation.path.contains("/log/"), isAsked.raise() else {
        return nil
      }
      if BackgroundThread({ beside.run(device) }) != nil {
        // It waits for this one; it would be at its end by now if it did not.
        _ = beside.end.wait(timeout: .now() + 1)
      }
      return nil
    }
    #expect(await failureOfSync(device) == nil)
    try #require(!isAsked.raise(), "the sync has taken nothing in")
    for _ in 0..<2000 where !beside.isOver.isUp { try await Task.sleep(for: .milliseconds(5)) }
    disk.intercept(nil)
    try #require(beside.isOver.isUp)
    #expect(beside.error.withLock { $0 } == nil)
  }

  /// What a sync in a thread of its own has thrown.
  private func failureOfSync(_ device: Datastore) async -> String? {
    await withCheckedContinuation { (continuation: Continuation) in
      let thread = BackgroundThread {
        do {
          try device.sync()
          continuation.resume(returning: nil)
        } catch { continuation.resume(returning: "\(error)") }
      }
      if thread == nil { continuation.resume(returning: "no thread") }
    }
  }

  /// Runs a sync, and a round beside it when a snapshot that it takes in is verified and not yet
  /// the store's. `reason`: what the disk says then.
  private func roundBeside(
    _ device: Datastore, _ disk: MemoryDisk, _ reason: DiskError.Reason?
  ) async throws -> (report: ExchangeReport?, failure: String?) {
    let exchanger = try #require(device.exchanger)
    let isAsked = Flag()
    let report = Shared<ExchangeReport?>(nil)
    disk.intercept { operation in
      let isOfSnapshot = operation.path.contains("/\(FileName.snapshots)/")
      guard operation.verb == "sync", isOfSnapshot, isAsked.raise() else { return nil }
      let end = DispatchSemaphore(value: 0)
      Task {
        do {
          let found = try await exchanger.run(publishes: false)
          _ = report.exchange(found)
        } catch { Issue.record("\(error)") }
        end.signal()
      }
      // It waits for nothing that the sync has; if it ever does, no test hangs.
      if end.wait(timeout: .now() + 60) == .timedOut { Issue.record("the round does not end") }
      return reason
    }
    let failure = await failureOfSync(device)
    disk.intercept(nil)
    return (report.withLock { $0 }, failure)
  }

  /// `fails`: it can't be taken in.
  @Test(arguments: [false, true])
  func `a snapshot that a sync is taking in is not fetched beside it`(fails: Bool) async throws {
    bench.options.tuning.smallFileBytes = 0
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for number in 0..<3 {
      try a.add("r\(number)")
      try await a.exchange()
    }
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    #expect(try await b.exchange().fetchedSnapshot)
    let (found, failure) = try await roundBeside(b, bench.disk("b"), fails ? .denied : nil)
    let report = try #require(found)
    #expect(!report.fetchedSnapshot && report.fetchedFiles == 0 && report.fetchedDeltas == 0)
    #expect(report.problems == [] && report.waiting == [])
    #expect((failure != nil) == fails)
    // What was not taken in is gone, and fetched again.
    let next = try await b.exchange()
    #expect(next.fetchedSnapshot == fails && next.fetchedFiles == (fails ? 1 : 0))
    try b.sync()
    #expect(try b.ids() == ["r0", "r1", "r2"])
  }

  /// A reader of a device and of its clone, whose views of the folder come together while it takes
  /// in the branch that loses.
  @Test func `a branch that has lost is not taken in behind the one that has won`() async throws {
    bench.options.limits = Limits(
      recordBytes: 16 << 20, datastoreBytes: 1 << 30, deltaBytes: 32 << 20)
    for name in ["a", "c"] {
      let device = try bench.open(name)
      try device.add("common-\(name)")
      try await device.exchange()
      try device.close()
    }
    bench.clone("a", as: "b")
    for view in ["one", "two"] { bench.use(bench.folder.snapshot(), for: "folder " + view) }
    for (name, view) in [("a", "one"), ("c", "one"), ("b", "two")] { bench.view(view, of: name) }
    let (a, c) = (try bench.open("a"), try bench.open("c"))
    var b = try bench.open("b")
    try await bench.settle([a, c])
    let (name, before) = (a.store.device, a.store.vector[a.store.device])
    // Two files that go into no batch together.
    for number in 0..<2 {
      let bytes = Value.bytes([UInt8](repeating: UInt8(number), count: 9 << 20))
      try a.table("t").insert(["b": bytes], id: RecordID("lost\(number)"))
      try a.sync()
    }
    try await a.exchange()
    // So that its log needs no look at what was recovered.
    try c.add("of-c")
    #expect(try await c.exchange().fetchedFiles == 2)
    try b.add("won")
    try await b.exchange()
    let (one, two) = (bench.folder(of: "a"), bench.folder(of: "b"))
    for path in two.paths() where path.contains("/\(b.device)") {
      try one.setBytes(path, try #require(two.bytes(path)))
    }
    try await overlap(c, bench.disk("c"))
    #expect(c.store.vector[name] == before + 1)
    #expect(try c.ids() == ["common-a", "common-c", "of-c", "won"])

    try b.close()
    bench.view("one", of: "b")
    b = try bench.open("b")
    #expect(try await bench.settle([a, b, c]), "\(bench.unrest)")
    try bench.expectEqual([a, b, c])
    #expect(try c.ids() == ["common-a", "common-c", "of-c", "won", "lost0", "lost1"])
    #expect(a.device != b.device)
  }

  @Test func `a device gives way once, however many syncs hear of it`() async throws {
    let (a, b, away) = (try bench.open("a"), try bench.open("b"), try bench.open("away"))
    try a.table("t").setRule(.sum, field: "n")
    try a.table("t").insert(["n": 10, "l": .list(["x"])], id: "r")
    try await bench.settle([a, b, away])
    let name = away.device
    let record = try #require(try away.table("t").record("r"))
    try record.set("n", 15)
    try record.list("l").append("mine")
    try away.sync()
    // Something of the others can be taken in beside the cut.
    try a.add("news")
    try a.retireDevice(name)
    try await bench.settle([a, b])
    let cut = try #require(a.store.cuts.cuts.first)
    #expect(cut.isSealed)
    try await away.exchange()
    try await overlap(away, bench.disk("away"))
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    try bench.expectEqual([a, b, away])
    #expect(away.device != name)
    #expect(away.store.cuts.earlierNames.count == 1)
    #expect(try record.int("n") == 15)
    #expect(try record.list("l").values == ["x", "mine"])

    // Whoever comes with the old news is too late.
    let exchanger = try #require(away.exchanger)
    let now = away.device
    exchanger.note(cutOff: cut)
    #expect(exchanger.memory.withLock { $0.cutOff == nil })
    exchanger.memory.withLock { $0.cutOff = cut }
    #expect(try await !away.exchange().isRejoining)
    try away.sync()
    #expect(away.device == now)
  }

  @Test func `who is told of something in the middle of a sync may sync`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.table("t").insert(["f": "old"], id: "r")
    try await bench.settle([a, b])
    try a.add("news")
    try await a.exchange()
    try await b.exchange()
    // What makes no difference is taken back by the sync, and that is told.
    let record = try #require(try b.table("t").record("r"))
    try record.set("f", "new")
    try record.set("f", "old")
    let told = Told<String>()
    let observation = b.observe(on: { $0() }) { _ in
      do {
        let result = try b.sync()
        told.add("committed: \(result.committed)")
      } catch { told.add("\(error)") }
    }
    try b.sync()
    observation.cancel()
    #expect(Set(told.all) == ["committed: false"])
    #expect(try b.ids() == ["r", "news"])
  }

  /// `waits`: segments are so small that a compaction drops some of what is to be taken along.
  @Test(arguments: [true, false])
  func `what a sync has committed it tells, whatever becomes of the switch`(
    waits: Bool
  ) async throws {
    if waits { bench.options.tuning.segmentBytes = 600 }
    let (a, b, away) = (try bench.open("a"), try bench.open("b"), try bench.open("away"))
    try a.add("begin")
    try await bench.settle([a, b, away])
    let name = away.device
    try a.retireDevice(name)
    try await bench.settle([a, b])
    for number in 0..<9 { try away.add("mine\(number)") }
    try await away.exchange()
    try away.sync()
    for number in 0..<9 { try away.add("later\(number)") }
    #expect(try await away.exchange().isRejoining)
    func log() -> [String] {
      bench.disk("away").paths().filter { $0.hasPrefix("/root/p-notes/log/") }
    }
    let before = log()
    // Own deltas may go that are to be taken along, and that the folder has.
    try away.compact()
    if waits { #expect(!Set(before).isSubset(of: log())) }
    try away.table("t").insert(["late": true], id: "late")
    let result = try away.sync()
    #expect(result.committed)
    #expect((result.newDevice == nil) == (away.device == name))
    if waits { #expect(away.device == name) }
    #expect(try !away.sync().committed)
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    try bench.expectEqual([a, b, away])
    #expect(try a.ids().count == 20)
  }
}
