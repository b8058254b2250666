import Cairn
import TestSupport
import Testing

/// Other devices may delete much, but not everything at once without being asked.
@Suite struct MassDeleteTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    // Snapshots are there when a test makes one.
    bench.options.compactsAutomatically = false
  }

  /// Two devices with the same records.
  private func pair(_ count: Int) async throws -> (a: Datastore, b: Datastore) {
    let a = try bench.open("a")
    for number in 0..<count { try a.table("t").insert(["n": .int(Int64(number))], id: id(number)) }
    try a.sync()
    try await a.exchange()
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids().count == count)
    return (a, b)
  }

  private func id(_ number: Int) -> RecordID { RecordID("r\(number)") }

  private func delete(_ range: Range<Int>, in datastore: Datastore) async throws {
    for number in range { try datastore.table("t").record(id(number))?.delete() }
    try datastore.sync()
    try await datastore.exchange()
  }

  @Test(arguments: [(49, 50), (100, 50), (1000, 200)])
  func `as many as the limit says go at once`(count: Int, most: Int) async throws {
    let (a, b) = try await pair(count)
    try await delete(0..<min(count, most), in: a)
    try await b.exchange()
    let result = try b.sync()
    #expect(result.massDelete == nil && b.status.massDelete == nil)
    #expect(try b.ids().count == max(0, count - most))
  }

  @Test(arguments: [(51, 51), (100, 51), (1000, 201)])
  func `one more waits for consent`(count: Int, deleted: Int) async throws {
    let (a, b) = try await pair(count)
    try await delete(0..<deleted, in: a)
    try b.table("t").insert(["n": 1], id: "own")
    try await b.exchange()
    #expect(b.status.incoming)
    let result = try b.sync()
    let held = try #require(result.massDelete)
    #expect(held.records == deleted && held.recordsHere == count + 1)
    #expect(held.devices == [MassDelete.Device(id: a.device, user: "ann", records: deleted)])
    for part in [a.device, "ann", "\(deleted)", "\(count + 1)", "--allow-mass-delete"] {
      #expect(held.message.contains(part))
    }
    #expect(b.status.massDelete == held && !b.status.incoming)
    #expect(result.committed && result.incorporated == 0 && result.changes == [])
    #expect(try b.ids().count == count + 1, "nothing was deleted, and the own record is there")
    // What is here goes on to the others.
    #expect(try await b.pull().publishedDeltas == 1)
    #expect(try b.sync().massDelete == held)
    try await a.pull()
    #expect(try a.ids().contains("own"))
    let after = try b.sync(allowingMassDelete: true)
    #expect(after.massDelete == nil && b.status.massDelete == nil)
    #expect(after.changes.count { $0.isDeleted } == deleted)
    try await b.exchange()
    try await a.pull()
    #expect(try content(a) == content(b))
  }

  @Test func `it waits over a restart`() async throws {
    var (a, b) = try await pair(100)
    try await delete(0..<100, in: a)
    try await b.pull()
    try b.close()
    b = try bench.open("b")
    #expect(try b.sync().massDelete?.records == 100)
    #expect(try b.ids().count == 100)
    try b.sync(allowingMassDelete: true)
    #expect(try b.ids() == [])
    #expect(try b.sync().massDelete == nil)
    a = b
  }

  @Test func `what is inserted again there is no delete`() async throws {
    let (a, b) = try await pair(100)
    try await delete(0..<100, in: a)
    try await b.pull()
    #expect(b.status.massDelete?.records == 100)
    for number in 0..<90 { try a.table("t").insert(["n": -1], id: id(number)) }
    try a.sync()
    try await a.exchange()
    try await b.exchange()
    let result = try b.sync()
    #expect(result.massDelete == nil && b.status.massDelete == nil)
    #expect(try content(a) == content(b))
    #expect(try b.ids().count == 90)
  }

  @Test func `records that only the other device had are not counted`() async throws {
    let (a, b) = try await pair(10)
    for round in 0..<3 {
      for number in 0..<100 { try a.table("t").insert([:], id: RecordID("x\(round)-\(number)")) }
      try a.sync()
      for number in 0..<100 { try a.table("t").record(RecordID("x\(round)-\(number)"))?.delete() }
      try a.sync()
    }
    try await a.exchange()
    try await b.exchange()
    #expect(try b.sync().massDelete == nil)
    #expect(try content(a) == content(b))
  }

  @Test func `only the device that deletes waits`() async throws {
    let (a, b) = try await pair(100)
    let c = try bench.open("c")
    try await c.pull()
    try await delete(0..<80, in: a)
    try c.add("of-c")
    try await c.exchange()
    try await b.exchange()
    #expect(try b.sync().massDelete?.devices.map(\.id) == [a.device])
    #expect(try b.ids().count == 101 && b.ids().contains("of-c"))
    // What builds on the held changes waits with them.
    try await c.exchange()
    try c.sync(allowingMassDelete: true)
    try c.add("later")
    try await c.exchange()
    try await b.exchange()
    #expect(try b.sync().massDelete?.records == 80)
    #expect(try !b.ids().contains("later"))
    try b.sync(allowingMassDelete: true)
    try await b.exchange()
    try await a.pull()
    #expect(try content(b) == content(c) && content(a) == content(b))
  }

  @Test func `two devices that delete the same wait both`() async throws {
    let (a, b) = try await pair(100)
    let c = try bench.open("c")
    try await c.pull()
    try await delete(0..<70, in: a)
    for number in 0..<60 { try c.table("t").record(id(number))?.delete() }
    try c.sync()
    try await c.exchange()
    try await b.exchange()
    let held = try #require(try b.sync().massDelete)
    #expect(Set(held.devices.map(\.id)) == [a.device, c.device])
    #expect(held.records == 70 && held.recordsHere == 100)
    #expect(try b.ids().count == 100)
  }

  @Test func `without a limit nobody is asked`() async throws {
    bench.options.massDeleteLimit = nil
    let (a, b) = try await pair(200)
    try await delete(0..<200, in: a)
    try await b.exchange()
    #expect(try b.sync().massDelete == nil)
    #expect(try b.ids() == [])
  }

  @Test func `absurd limits are no traps`() async throws {
    // Without news from others nothing is judged.
    _ = try await bench.publisher("first")
    var limit = MassDeleteLimit()
    for share in [Double.nan, -.infinity, .infinity, 1e300, -0.0] {
      (limit.share, limit.records) = (share, 0)
      bench.options.massDeleteLimit = limit
      let datastore = try bench.open("x\(share)")
      try datastore.add("x\(share)")
      try await datastore.pull()
      #expect(try datastore.ids().contains("first"))
      #expect(datastore.status.massDelete == nil)
    }
  }

  @Test func `a new device takes what there is`() async throws {
    let (a, _) = try await pair(300)
    try await delete(0..<300, in: a)
    let c = try bench.open("c")
    try await c.exchange()
    #expect(try c.sync().massDelete == nil)
    #expect(try c.ids() == [])
  }

  // MARK: snapshots

  /// Writes so much that who is behind rather joins a snapshot, and publishes one.
  private func outgrow(_ device: Datastore) async throws {
    let random = SeededRandom(7)
    let table = try device.table("t")
    for round in 0..<20 {
      let bytes = Value.bytes(random.bytes(80_000))
      if round == 0 {
        try table.insert(["bytes": bytes], id: "big")
      } else {
        try table["big"].set("bytes", bytes)
      }
      try device.sync()
    }
    try device.compact()
    #expect(try await device.exchange().publishedSnapshot)
  }

  private func snapshotsOnTheirWay(_ device: String) throws -> [String] {
    try bench.names(bench.root(device) + "/p-notes/snap", ".tmp")
  }

  enum Consent: CaseIterable { case atOnce, later, afterRestart, withTheRoundAfterRestart }

  @Test(arguments: Consent.allCases)
  func `a snapshot that deletes too much waits`(consent: Consent) async throws {
    let (a, first) = try await pair(300)
    var b = first
    try await delete(0..<290, in: a)
    try await outgrow(a)
    #expect(try await b.exchange().fetchedSnapshot)
    let result = try b.sync()
    #expect(try b.ids().count == 300, "nothing was deleted")
    let held = try #require(result.massDelete)
    #expect(held.records == 290 && held.recordsHere == 300 && result.changes == [])
    #expect(held.devices == [MassDelete.Device(id: a.device, user: "ann", records: 290)])
    #expect(b.status.massDelete == held && !b.status.incoming)
    #expect(try snapshotsOnTheirWay("b").count == 1)
    switch consent {
    case .atOnce: break
    case .later:
      // What is here goes on, and deltas say the same as the snapshot.
      try b.table("t").insert([:], id: "own")
      for _ in 0..<2 { #expect(try await !b.pull().fetchedSnapshot) }
      #expect(try snapshotsOnTheirWay("b") == [])
      #expect(b.status.massDelete?.records == 290)
    case .afterRestart, .withTheRoundAfterRestart:
      try b.close()
      b = try bench.open("b")
      #expect(try b.ids().count == 300)
      try await b.exchange()
      if consent == .afterRestart {
        #expect(try b.sync().massDelete?.records == 290)
        #expect(try b.ids().count == 300)
      }
    }
    let after = try b.sync(allowingMassDelete: true)
    #expect(after.massDelete == nil && b.status.massDelete == nil)
    #expect(after.changes.count { $0.isDeleted } == 290)
    #expect(try b.trash.list().count == 290)
    #expect(try snapshotsOnTheirWay("b") == [])
    try await b.pull()
    try await b.exchange()
    try await a.pull()
    #expect(try content(a) == content(b))
    #expect(try b.sync().massDelete == nil)
  }

  @Test func `deltas that only a snapshot has wait at home`() async throws {
    let (a, b) = try await pair(100)
    try await delete(0..<80, in: a)
    let lost = try bench.segments(a).sorted()[1]
    try a.compact()
    try bench.remove(bench.shared + "/" + lost)
    for _ in 0..<3 { try await a.exchange() }
    #expect(try await b.exchange().fetchedSnapshot)
    #expect(try b.sync().massDelete?.records == 80)
    for round in 0..<3 {
      // It is not fetched again, whatever happens here, and no compaction removes it.
      try b.add("own-\(round)")
      try b.compact()
      #expect(try await !b.pull().fetchedSnapshot)
      #expect(b.status.massDelete?.records == 80)
      #expect(try b.ids().count == 101 + round)
      #expect(try snapshotsOnTheirWay("b").count == 1)
    }
    try b.sync(allowingMassDelete: true)
    #expect(b.status.massDelete == nil)
    #expect(try b.ids().count == 23)
    try await bench.meet(a, b)
    #expect(try content(a) == content(b))
  }

  @Test(arguments: [60, 30])
  func `what is held is not let in by a snapshot`(seen: Int) async throws {
    let (a, b) = try await pair(100)
    let c = try bench.open("c")
    try await c.pull()
    try await delete(0..<30, in: a)
    if seen == 30 { try await c.pull() }
    try await delete(30..<60, in: a)
    try await b.exchange()
    #expect(try b.sync().massDelete?.records == 60)
    if seen == 60 {
      try await c.exchange()
      try c.sync(allowingMassDelete: true)
    }
    #expect(try c.ids().count == 100 - seen)
    // It has all of what waits here, or half of it, which alone would be little enough.
    try await outgrow(c)
    #expect(try await b.exchange().fetchedSnapshot)
    for _ in 0..<3 {
      #expect(try b.sync().massDelete?.records == 60)
      #expect(try b.ids().isSuperset(of: (0..<60).map { "r\($0)" }))
      try await b.exchange()
    }
    try b.sync(allowingMassDelete: true)
    try await bench.meet(a, b, c)
    #expect(try content(a) == content(b) && content(b) == content(c))
    #expect(try b.ids().count == 41)
  }

  @Test func `a snapshot and the deltas behind it are judged together`() async throws {
    let (a, b) = try await pair(100)
    try await delete(0..<40, in: a)
    try await outgrow(a)
    try await delete(40..<80, in: a)
    let report = try await b.exchange()
    #expect(report.fetchedSnapshot && report.fetchedFiles == 2)
    let held = try #require(try b.sync().massDelete)
    #expect(held.records == 80 && held.recordsHere == 101)
    #expect(try b.ids().count == 61, "the one half is little enough")
    try await b.pull()
    #expect(try b.ids().count == 61)
    try b.sync(allowingMassDelete: true)
    #expect(try content(a) == content(b))
  }

  @Test func `what a snapshot has deleted counts as long as the rest waits`() async throws {
    let (a, b) = try await pair(100)
    let c = try bench.open("c")
    try await c.pull()
    try await delete(0..<40, in: a)
    try await outgrow(a)
    try await delete(40..<80, in: a)
    #expect(try await b.exchange().fetchedSnapshot)
    #expect(try b.sync().massDelete?.records == 80)
    // With what is new all is judged again.
    try c.add("of-c")
    try await c.exchange()
    try await b.exchange()
    let held = try #require(try b.sync().massDelete)
    #expect(held.records == 80 && held.recordsHere == 101)
    #expect(try b.ids().count == 62 && b.ids().contains("of-c"))
    try b.sync(allowingMassDelete: true)
    #expect(try b.ids().count == 22)
  }

  @Test func `of a snapshot with changes of several devices all are named`() async throws {
    let (a, b) = try await pair(100)
    let c = try bench.open("c")
    try await c.pull()
    try await delete(0..<80, in: a)
    try await c.exchange()
    try c.sync(allowingMassDelete: true)
    try await outgrow(c)
    #expect(try await b.exchange().fetchedSnapshot)
    let held = try #require(try b.sync().massDelete)
    #expect(Set(held.devices.map(\.id)) == [a.device, c.device])
    #expect(held.message.contains("together delete 80 of the 100 records"))
    #expect(try b.ids().count == 100)
  }

  // MARK: the wrong folder

  @Test(arguments: [false, true])
  func `a folder that was rolled back deletes nothing`(reopens: Bool) async throws {
    var (a, b) = try await pair(100)
    let old = bench.place.path + "/old"
    try bench.copyTree(bench.folder, to: old)
    for name in ["later-1", "later-2"] { try a.add(name) }
    try await a.exchange()
    try await b.pull()
    try b.add("of-b")
    try await b.exchange()
    try await a.pull()
    let before = try content(b)
    try bench.remove(bench.folder)
    try bench.move(old, to: bench.folder)
    if reopens {
      try a.close()
      try b.close()
      (a, b) = (try bench.open("a"), try bench.open("b"))
    }
    for device in [a, b] {
      // Whether it goes on or refuses: what is here stays.
      _ = await device.exchangeError()
      #expect(try device.sync().changes == [])
      #expect(try content(device) == before)
    }
  }

  @Test func `the folder of another account deletes nothing`() async throws {
    let (a, b) = try await pair(60)
    let other = bench.place.path + "/other"
    let manager = try DatastoreManager(
      root: bench.root("x"), account: Account(user: "bob", folder: .directory(other)))
    let stranger = try manager.openOrCreateDatastore(bench.id)
    for number in 0..<60 { try stranger.table("t").insert([:], id: id(number)) }
    try stranger.sync()
    for number in 0..<60 { try stranger.table("t").record(id(number))?.delete() }
    try stranger.sync()
    try await stranger.exchange()
    // Who has never published is not tied to a folder yet.
    try await b.exchange()
    let before = try content(b)
    try b.close()
    let moved = try bench.open("b", folder: other)
    #expect(await moved.exchangeError()?.code == .disallowed)
    #expect(try moved.sync().changes == [] && content(moved) == before)
    #expect(try content(a) == before)
  }

  // MARK: datastores

  @Test func `many datastores deleted at once stay until that is allowed`() async throws {
    let (a, b) = (try bench.manager("a"), try bench.manager("b"))
    let ids = (0..<8).map { "d\($0)" }
    for id in ids {
      let datastore = try a.openOrCreateDatastore(id)
      try datastore.add(id)
      try await datastore.exchange()
      try datastore.close()
    }
    try await a.refresh()
    try await b.refresh()
    for id in ids {
      let datastore = try b.openDatastore(id)
      try await datastore.pull()
      try datastore.close()
    }
    try await b.refresh()
    for id in ids.prefix(6) { try a.deleteDatastore(id) }
    let new = try a.openOrCreateDatastore("new")
    try new.add("new")
    try await new.exchange()
    try await a.refresh()
    for _ in 0..<2 {
      let report = try await b.refresh()
      #expect(report.heldDeletes == Array(ids.prefix(6)) && report.deleted == [])
      #expect(try b.listDatastores().map(\.id) == ids + ["new"], "other news is taken")
    }
    let other = try bench.manager("b")
    #expect(try await other.refresh().heldDeletes.count == 6, "also after a restart")
    let kept = try b.openDatastore("d0")
    #expect(try kept.ids() == ["d0"])
    try kept.close()
    let report = try await b.refresh(allowingMassDelete: true)
    #expect(report.heldDeletes == [] && report.deleted == Array(ids.prefix(6)))
    #expect(try b.listDatastores().map(\.id) == ["d6", "d7", "new"])
    #expect(try await b.refresh().heldDeletes == [])
  }

  /// One that never asked for the list, and one that has lost it, as its damage is mended.
  @Test(arguments: [false, true])
  func `also for a device whose list is new`(losesList: Bool) async throws {
    let (a, b) = (try bench.manager("a"), try bench.manager("b"))
    let ids = (0..<8).map { "d\($0)" }
    for id in ids {
      for manager in [a, b] {
        let datastore = try manager.openOrCreateDatastore(id)
        if manager === a { try datastore.add(id) }
        try await datastore.pull()
        try datastore.close()
      }
    }
    try await a.refresh()
    if losesList {
      try await b.refresh()
      try bench.remove(bench.root("b") + "/CATALOGUE")
    }
    for id in ids.prefix(6) { try a.deleteDatastore(id) }
    try await a.refresh()
    let again = try bench.manager("b")
    for _ in 0..<2 {
      let report = try await again.refresh()
      #expect(report.heldDeletes == Array(ids.prefix(6)) && report.deleted == [])
      #expect(try again.listDatastores().map(\.id) == ids)
    }
    let kept = try again.openDatastore("d0")
    #expect(try kept.ids() == ["d0"])
    try kept.close()
    #expect(try again.trashedDatastores() == [])
    let report = try await again.refresh(allowingMassDelete: true)
    #expect(report.heldDeletes == [] && report.deleted == Array(ids.prefix(6)))
    #expect(try again.listDatastores().map(\.id) == ["d6", "d7"])
  }
}
