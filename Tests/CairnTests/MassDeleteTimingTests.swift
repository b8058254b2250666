import CairnDisk
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Mass deletes that come while something else is under way.
@Suite struct MassDeleteTimingTests {
  private let bench = IdentityBench(seed: 91)

  private final class Report: Sendable {
    let found = Lock<ExchangeReport?>(nil)
  }

  private func delete(_ count: Int, in datastore: Datastore) throws {
    for number in 0..<count { try datastore.table("t").record(RecordID("r\(number)"))?.delete() }
    try datastore.sync()
  }

  private func insert(_ count: Int, in datastore: Datastore) throws {
    for number in 0..<count {
      try datastore.table("t").insert(["n": .int(Int64(number))], id: RecordID("r\(number)"))
    }
    try datastore.sync()
  }

  @Test func `what is fetched while a sync takes the rest was not judged and waits`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try insert(100, in: a)
    try await bench.settle([a, b])
    try a.add("news")
    try await a.exchange()
    try await b.exchange()
    try delete(60, in: a)
    try await a.exchange()

    let exchanger = try #require(b.exchanger)
    let isAsked = Flag()
    let report = Report()
    bench.disk("b").intercept { operation in
      guard operation.verb == "sync", operation.path.contains("/log/"), isAsked.raise() else {
        return nil
      }
      // A round in the background. It waits for no sync as long as it publishes nothing.
      let end = DispatchSemaphore(value: 0)
      Task {
        let found = try? await exchanger.run(publishes: false)
        report.found.withLock { $0 = found }
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
    #expect(report.found.withLock { $0?.fetchedFiles } == 1)
    #expect(result?.incorporated == 1)
    #expect(try b.ids().count == 101)
    #expect(b.status.incoming)
    let held = try b.sync()
    #expect(held.massDelete?.records == 60 && held.incorporated == 0)
    #expect(try b.ids().count == 101)
    #expect(try b.sync(allowingMassDelete: true).incorporated == 1)
    #expect(try b.ids().count == 41)
  }

  @Test func `a store that is put together in two rounds asks nobody`() async throws {
    let script = ScriptedFolder.Script()
    bench.scripts["a"] = script
    var (a, b) = (try bench.open("a"), try bench.open("b"))
    try insert(100, in: a)
    try await bench.settle([a, b])
    try delete(60, in: b)
    try await b.exchange()
    try await a.exchange()
    try a.sync(allowingMassDelete: true)
    #expect(try await bench.settle([a, b]))
    let name = a.device
    try a.close()
    bench.clone("a", as: "twin")
    let twin = try bench.open("twin")
    try twin.add("of-the-twin")
    try await twin.exchange()
    a = try bench.open("a")
    try a.add("mine")

    let file = try #require(bench.folder.paths().first { path in
      path.contains("/\(b.device)") && path.hasSuffix(".seg")
    })
    script.showPlaceholders(for: String(file.split(separator: "/").last ?? ""))
    #expect(try await a.exchange().isRejoining)
    try a.sync()
    #expect(a.device == name)
    script.list(nil)
    #expect(try await bench.settle([a, b, twin]), "\(bench.unrest)")
    #expect(a.device != name)
    try bench.expectEqual([a, b, twin])
    #expect(try a.ids().count == 42)
  }
}
