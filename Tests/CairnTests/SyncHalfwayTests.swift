import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Syncs that fail after they have done a part of their work: the next one tells of that.
@Suite struct SyncHalfwayTests {
  private let bench = IdentityBench(seed: 33)

  @Test func `what was committed and taken before a sync failed is in the next result`()
    async throws
  {
    bench.options.limits = Limits(
      recordBytes: 4 << 20, datastoreBytes: 1 << 30, deltaBytes: 32 << 20)
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.table("t").insert(["f": "begin"], id: "r")
    try await bench.settle([a, b])
    try a.table("t").record("r")?.set("f", "of a")
    try a.sync()
    bench.clock.advance(by: 10)
    try b.table("t").record("r")?.set("f", "of b")
    try b.sync()
    // More than goes into one batch, and nothing makes it smaller.
    let random = SeededRandom(3)
    for number in 0..<6 {
      for part in 0..<4 {
        let bytes = Value.bytes(random.bytes(900_000))
        try b.table("t").insert(["b": bytes], id: RecordID("big\(number)-\(part)"))
      }
      try b.sync()
    }
    try await b.exchange()
    try await a.exchange()

    try a.setTitle("new")
    try a.table("t").insert([:], id: "own")
    // Room for one of two batches, behind which comes the second sync of the log.
    let (disk, syncs) = (bench.disk("a"), Shared(0))
    disk.intercept { step in
      guard step.path.contains("/log/") else { return nil }
      return syncs.withLock { count in
        if step.verb == "sync" { count += 1 }
        return count > 1 && step.verb == "write" ? .noSpace : nil
      }
    }
    #expect(failure { try a.sync() }?.code == .diskSpace)
    disk.heal()
    let count = try a.ids().count
    #expect(count > 2 && count < 26, "the first batch was taken, and the second one was not")
    #expect(try a.manager.listDatastores().map(\.title) == ["new"])

    let result = try a.sync()
    #expect(!result.committed, "that was done before")
    #expect(result.incorporated == 7)
    #expect(result.conflicts.map(\.id) == ["r"])
    let big = (0..<6).flatMap { number in (0..<4).map { RecordID("big\(number)-\($0)") } }
    #expect(result.changedRecords["t"] == Set(big + ["r"]))
    #expect(result.changes.count == 25, "each of them once")
    let after = try a.sync()
    #expect(!after.committed && after.incorporated == 0 && after.changes == [])
  }

  @Test func `a sync that did nothing before it failed leaves nothing to tell`() throws {
    let a = try bench.open("a")
    try a.table("t").insert([:], id: "own")
    bench.disk("a").intercept { operation in
      operation.verb == "write" && operation.path.contains("/log/") ? .noSpace : nil
    }
    #expect(failure { try a.sync() }?.code == .diskSpace)
    bench.disk("a").heal()
    #expect(a.unsyncedChangesSize > 0)
    #expect(try a.sync().committed)
    #expect(try !a.sync().committed)
  }
}
