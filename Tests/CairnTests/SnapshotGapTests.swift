import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Deltas that are in no file of their device any more, only in a snapshot.
@Suite struct SnapshotGapTests {
  private let bench: DamageWorkbench

  init() throws {
    bench = try DamageWorkbench()
    // Every compaction makes a snapshot that is published.
    bench.bench.options.tuning.smallFileBytes = 1
  }

  /// A device that has published three records, a file each, of which the folder has lost the
  /// second one for good.
  private func owner() async throws -> Datastore {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    for number in 1...3 {
      try a.add("a\(number)")
      try await a.exchange()
    }
    let files = try bench.bench.segments(a).sorted()
    try #require(files.count == 3)
    try a.compact()
    let shared = bench.bench.shared
    try bench.bench.remove(shared + "/" + files[1])
    for _ in 0..<8 { try await a.pull() }
    let head = try Head(
      bench.bench.read(shared + "/" + bench.bench.head(a)), name: "head", datastore: nil)
    try #require(head.gaps == [2...2] && head.snapshot != nil)
    return a
  }

  @Test func `what lies before a gap is not waited for, and one round brings all of it`()
    async throws
  {
    let a = try await owner()
    let c = try bench.linked("c").openOrCreateDatastore("notes")
    try c.add("c")
    let report = try await c.exchange()
    #expect(report.fetchedSnapshot && report.complaints == [])
    try c.sync()
    #expect(try c.ids() == ["a1", "a2", "a3", "c"])
    for datastore in [a, c] { try datastore.close() }
  }

  /// A new store begins with the larger snapshot, and needs the other one, too.
  @Test func `a repair fetches until nothing comes any more`() async throws {
    try await owner().close()
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try bench.fill(b, 60, compacts: false)
    try b.compact()
    // It has taken in nothing of the first device.
    #expect(try await b.exchange().publishedSnapshot)
    try b.close()
    let c = try bench.linked("c").openOrCreateDatastore("notes")
    try c.add("c")
    let manager = c.manager
    try c.close()
    try bench.bend(bench.directory(manager.root) + "/CURRENT") { $0[40] ^= 0x04 }
    let report = try await manager.repairDatastore("notes")
    #expect(report.wasNeeded && report.reinserted == 1 && report.waiting == [])
    let repaired = try manager.openDatastore("notes")
    let ids = try repaired.ids()
    #expect(ids.isSuperset(of: ["a1", "a2", "a3", "c"]), "\(ids)")
    #expect(ids.count == 44, "two thirds of 60 beside them")
    try repaired.close()
  }
}
