import Cairn
import TestSupport
import Testing

/// A snapshot that does not say any more which deltas are in it.
@Suite struct RepairUntoldTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  /// The log, all of which the new one has, must not stand for what was in the snapshot.
  @Test func `what can be read of it is kept where the log behind it has nothing of it`()
    async throws
  {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try a.add("own")
    for _ in 0..<2 { try await a.exchange() }
    try a.compact()
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try b.add("of-b")
    try await b.exchange()
    try await a.pull()
    #expect(try a.ids() == ["own", "of-b"])
    let manager = a.manager
    try a.close()
    let directory = bench.directory(manager.root)
    let snapshot = try #require(try bench.files(directory + "/snap", ".snap").first)
    try bench.spoil(snapshot, at: try bench.bench.read(snapshot).count - 20)
    let report = try await manager.repairDatastore("notes", usingFolder: false)
    #expect(report.wasNeeded)
    #expect(report.losses.contains { $0.message.hasPrefix("the description of the snapshot") })
    let repaired = try manager.openDatastore("notes")
    #expect(try repaired.ids() == ["own", "of-b"])
    try repaired.close()
  }
}
