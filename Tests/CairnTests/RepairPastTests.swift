import Cairn
import CairnDisk
import TestSupport
import Testing

/// What was published, and the folder does not have just now: a repair must not make it something
/// new.
@Suite struct RepairPastTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private var shared: String { bench.bench.shared }
  private var away: String { bench.bench.place.path + "/away" }

  /// A device that has published a sum of 5 and then 2 more, closed, with a bit of its CURRENT that
  /// has flipped; and another one that has all of it. `folds`: its log has none of it any more.
  /// `meets`: the other one has told that it has it, and the first one has heard that.
  private func make(
    folds: Bool, meets: Bool = false
  ) async throws -> (a: DatastoreManager, b: Datastore) {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    let sums = try a.table("sums")
    try sums.setRule(.sum, field: "n")
    try sums.insert(["n": 5], id: "r")
    try a.sync()
    try await a.exchange()
    try sums.record("r")?.set("n", 7)
    try a.sync()
    for _ in 0..<2 { try await a.exchange() }
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    #expect(try sum(b) == 7)
    if meets {
      try b.add("of-b")
      try await b.exchange()
      try await a.pull()
    }
    if folds { try a.compact() }
    let manager = a.manager
    try moveAway(a)
    try a.close()
    try bench.bend(bench.directory(manager.root) + "/CURRENT") { $0[40] ^= 0x04 }
    return (manager, b)
  }

  /// The folder has none of its segments for a while.
  private func moveAway(_ a: Datastore) throws {
    try bench.disk.createDirectory(away)
    for name in try bench.bench.segments(a) {
      try bench.bench.move(shared + "/" + name, to: away + "/" + name)
    }
    try #require(try !bench.bench.names(away).isEmpty)
  }

  private func sum(_ datastore: Datastore) throws -> Int64? {
    try datastore.table("sums").record("r")?.int("n")
  }

  private func putBack() throws {
    for name in try bench.bench.names(away) {
      try bench.bench.move(away + "/" + name, to: shared + "/" + name)
    }
  }

  /// Both have 7, for good, once the folder is whole.
  private func check(_ manager: DatastoreManager, _ b: Datastore) async throws {
    let repaired = try manager.openDatastore("notes")
    #expect(try sum(repaired) == 7)
    try await bench.bench.meet(repaired, b)
    for datastore in [repaired, b] { #expect(try sum(datastore) == 7, "\(datastore.device)") }
    try repaired.close()
  }

  @Test func `own deltas that the log still has are taken from there under their own name`()
    async throws
  {
    let (a, b) = try await make(folds: false)
    let report = try await a.repairDatastore("notes")
    #expect(report.wasNeeded && report.reinserted == 0 && report.waiting == [])
    try putBack()
    try await check(a, b)
  }

  @Test func `nor does it count twice where the snapshot does not say any more what is in it`()
    async throws
  {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    let sums = try a.table("sums")
    try sums.setRule(.sum, field: "n")
    try sums.insert(["n": 5], id: "r")
    try a.sync()
    try sums.record("r")?.set("n", 7)
    try a.sync()
    // It is not published yet: the segment is kept, which gives the table's name.
    try a.compact()
    for _ in 0..<2 { try await a.exchange() }
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    #expect(try sum(b) == 7)
    let manager = a.manager
    try moveAway(a)
    try a.close()
    let directory = bench.directory(manager.root)
    let snapshot = try #require(try bench.files(directory + "/snap", ".snap").first)
    try bench.spoil(snapshot, at: try bench.bench.read(snapshot).count - 20)
    let report = try await manager.repairDatastore("notes")
    #expect(report.wasNeeded && report.reinserted == 0)
    #expect(report.losses.contains { $0.message.hasPrefix("the description of the snapshot") })
    try putBack()
    try await check(manager, b)
  }

  @Test func `a repair waits for what only the snapshot has and nothing counts twice`()
    async throws
  {
    let (a, b) = try await make(folds: true)
    let image = try bench.image(a.root)
    let error = await #expect(throws: CairnError.self) { try await a.repairDatastore("notes") }
    #expect(error?.code == .retryLater && error?.id == "notes")
    #expect(error?.message.contains("Nothing was changed") == true)
    #expect(try bench.image(a.root) == image)
    // There is a way out all the same.
    let dry = try await a.repairDatastore("notes", dryRun: true, usingFolder: false)
    #expect(dry.wasNeeded && dry.reinserted == 2, "the record and its rule")
    try putBack()
    let report = try await a.repairDatastore("notes")
    #expect(report.wasNeeded && report.reinserted == 0)
    try await check(a, b)
  }

  @Test(arguments: [false, true])
  func `what another device says that it has was published, though nothing else tells that`(
    folds: Bool
  ) async throws {
    let (a, b) = try await make(folds: folds, meets: true)
    let heads = try bench.bench.names(shared, ".head").filter { !$0.hasPrefix(b.device) }
    try #require(heads.count == 1)
    try bench.bench.move(shared + "/" + heads[0], to: away + "/" + heads[0])
    try bench.spoil(bench.directory(a.root) + "/PUBLISHED", at: 40)
    let image = try bench.image(a.root)
    let error = await #expect(throws: CairnError.self) { try await a.repairDatastore("notes") }
    #expect(error?.code == .retryLater && error?.id == "notes")
    #expect(try bench.image(a.root) == image)
    try putBack()
    let report = try await a.repairDatastore("notes")
    #expect(report.wasNeeded && report.reinserted == 0)
    try await check(a, b)
  }
}
