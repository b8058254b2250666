import Cairn
import TestSupport
import Testing

/// What a repair that does without the folder takes from the copy's own log.
@Suite struct RepairLogTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private func sum(_ datastore: Datastore) throws -> Int64? {
    try datastore.table("sums").record("r")?.int("n")
  }

  @Test func `deltas of other devices keep their names there, and nothing counts twice`()
    async throws
  {
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    let sums = try b.table("sums")
    try sums.setRule(.sum, field: "n")
    try sums.insert(["n": 5], id: "r")
    try b.sync()
    try await b.exchange()
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try await a.pull()
    let manager = a.manager
    try a.close()
    try bench.bend(bench.directory(manager.root) + "/CURRENT") { $0[40] ^= 0x04 }
    let report = try await manager.repairDatastore("notes", usingFolder: false)
    #expect(report.wasNeeded && report.reinserted == 0)
    let repaired = try manager.openDatastore("notes")
    #expect(try sum(repaired) == 5)
    try await bench.bench.meet(repaired, b)
    for datastore in [repaired, b] { #expect(try sum(datastore) == 5) }
    try repaired.close()
  }
}
