import Cairn
import CairnDisk
import TestSupport
import Testing

/// Deletes that were not published when the copy was damaged.
@Suite struct RepairDeleteTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  /// Published before the other device hears of any of it.
  private func changeThere(_ b: Datastore) async throws {
    let t = try b.table("t")
    for (id, fields) in [("r4", ["m": 4]), ("r10", ["m": 10])] as [(RecordID, [String: Value])] {
      try t.record(id)?.delete()
      try b.sync()
      try t.insert(fields: fields, id: id)
      try b.sync()
    }
    try t.record("r5")?.set("n", 500)
    try t.record("r8")?.set("text", "of-b")
    try t.insert(["n": 1], id: "both")
    try b.sync()
    try await b.exchange()
  }

  /// Not published. `syncs`: between a delete and the insert of the same record.
  private func changeHere(_ a: Datastore, syncs: Bool) throws {
    let t = try a.table("t")
    for id in ["r4", "r5"] as [RecordID] { try t.record(id)?.delete() }
    try a.sync()
    for number in [7, 8, 10] {
      let id = RecordID("r\(number)")
      try t.record(id)?.delete()
      if syncs { try a.sync() }
      try t.insert(["n": .int(Int64(-number))], id: id)
    }
    try t.insert(["n": 2], id: "both")
    try a.sync()
    try t.record("both")?.delete()
    try a.sync()
  }

  private func check(_ datastore: Datastore) throws {
    let wanted: [RecordID: [String: Value]?] = [
      // It was inserted again by one whose delete this one did not know.
      "r4": ["m": 4],
      // A delete wins.
      "r5": nil, "both": nil,
      // Nothing is left of what was deleted.
      "r7": ["n": -7], "r8": ["n": -8],
      "r10": ["m": 10, "n": -10],
    ]
    for (id, fields) in wanted {
      #expect(try datastore.table("t").record(id)?.fields == fields, "\(id) of \(datastore.device)")
    }
  }

  @Test(arguments: [false, true], [false, true])
  func `they take what they would have taken without a repair`(
    isDamaged: Bool, syncs: Bool
  ) async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try bench.fill(a, 60)
    try await a.exchange()
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    try await changeThere(b)
    try changeHere(a, syncs: syncs)
    let manager = a.manager
    try a.close()
    if isDamaged {
      let snapshots = bench.directory(manager.root) + "/snap"
      try bench.spoil(try #require(bench.files(snapshots, ".snap").first), at: 500)
      let report = try await manager.repairDatastore("notes")
      #expect(report.reinserted == 3, "r7, r8 and r10: \(report.losses)")
    }
    let again = try manager.openDatastore("notes")
    if isDamaged { try check(again) }
    try await bench.bench.meet(again, b)
    try check(again)
    try check(b)
    try again.close()
  }
}
