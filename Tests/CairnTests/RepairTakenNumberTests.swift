import Cairn
import TestSupport
import Testing

/// A copy has committed under numbers for which the folder has other deltas of its device.
@Suite struct RepairTakenNumberTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private var backup: String { bench.bench.place.path + "/backup" }

  /// Keeps a datastore's directory as it is when the datastore is closed.
  private func backUp(_ datastore: Datastore) throws {
    try datastore.close()
    try bench.bench.copyTree(bench.directory(datastore.manager.root), to: backup)
  }

  /// The directory, which is as it was kept.
  private func putBack(_ manager: DatastoreManager) throws -> String {
    let directory = bench.directory(manager.root)
    try bench.bench.remove(directory)
    try bench.bench.copyTree(backup, to: directory)
    return directory
  }

  /// The frame of the last delta rots, and the next one takes its number. `isBent`: a repair is
  /// needed for something else, too; otherwise for nothing, which the doctor must not deny.
  @Test(arguments: [false, true])
  func `what was committed after the log has lost its end is kept`(isBent: Bool) async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try a.add("folded")
    for _ in 0..<2 { try await a.exchange() }
    try a.compact()
    for id in ["kept", "rots"] { try a.add(id) }
    for _ in 0..<2 { try await a.exchange() }
    let manager = a.manager
    try a.close()
    let directory = bench.directory(manager.root)
    let log = try #require(try bench.files(directory + "/log", ".seg").last)
    try bench.spoil(log, at: try bench.bench.read(log).count - 20, count: 4)
    let again = try manager.openDatastore("notes")
    #expect(again.recoveryNotes.count == 1)
    #expect(try again.ids() == ["folded", "kept"])
    try again.add("later")
    try again.close()
    let account = Account(user: "ann", folder: .directory(bench.bench.folder))
    let found = await Doctor(root: manager.root, account: account).examine()
    #expect(!found.findings.contains { $0.message.contains("can't be published") })
    if isBent { try bench.bend(directory + "/CURRENT") { $0[40] ^= 0x04 } }
    #expect(try await manager.repairDatastore("notes").wasNeeded == isBent)
    let repaired = try manager.openDatastore("notes")
    for _ in 0..<3 { try await repaired.pull() }
    #expect(try repaired.ids() == ["folded", "kept", "rots", "later"])
    try repaired.close()
  }

  /// What it did before it was restored it has not seen: that is nothing to write over.
  @Test func `so is what a copy from a backup has committed`() async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try a.table("t").insert(["x": 1], id: "r")
    try a.sync()
    for _ in 0..<2 { try await a.exchange() }
    let manager = a.manager
    try backUp(a)
    let lost = try manager.openDatastore("notes")
    try lost.table("t").record("r")?.set("x", 2)
    try lost.sync()
    try lost.add("elsewhere")
    for _ in 0..<2 { try await lost.exchange() }
    try lost.close()
    let directory = try putBack(manager)
    let restored = try manager.openDatastore("notes")
    #expect(try restored.ids() == ["r"])
    try restored.add("offline")
    try restored.table("t").record("r")?.set("x", 3)
    try restored.sync()
    try restored.close()
    try bench.bend(directory + "/CURRENT") { $0[40] ^= 0x04 }
    let report = try await manager.repairDatastore("notes")
    #expect(report.reinserted == 1)
    #expect(report.losses.filter { $0.message.hasPrefix("t/r.x: it was") }.count == 1)
    let repaired = try manager.openDatastore("notes")
    #expect(try repaired.ids() == ["r", "elsewhere", "offline"])
    #expect(try repaired.table("t").record("r")?.int("x") == 2)
    try repaired.close()
  }

  /// The copy that takes its place begins from a snapshot, and knows no histories of what is in
  /// that: old values are none that had not been published.
  @Test func `nothing old comes back of a copy that has committed nothing since its backup`()
    async throws
  {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    let table = try a.table("t")
    try table.setRule(.local, field: "x")
    try table.insert(["x": 1, "l": ["a", "b"]], id: "r")
    try a.sync()
    for _ in 0..<2 { try await a.exchange() }
    let manager = a.manager
    try backUp(a)
    let lost = try manager.openDatastore("notes")
    try lost.table("t").record("r")?.update(["x": 2, "l": ["a"]])
    try lost.sync()
    for number in 0..<8 {
      try lost.table("t").insert(["b": .bytes(sample(UInt64(number), 60_000))])
      try lost.sync()
    }
    try lost.compact()
    #expect(try await lost.exchange().publishedSnapshot)
    try await lost.exchange()
    try lost.close()
    let directory = try putBack(manager)
    try bench.bend(directory + "/CURRENT") { $0[40] ^= 0x04 }
    let report = try await manager.repairDatastore("notes")
    #expect(report.wasNeeded && report.reinserted == 0 && report.losses.isEmpty)
    let repaired = try manager.openDatastore("notes")
    let record = try #require(try repaired.table("t").record("r"))
    #expect(try record.fields == ["x": 2, "l": ["a"]])
    #expect(try repaired.recordCount == 9)
    try repaired.close()
  }
}
