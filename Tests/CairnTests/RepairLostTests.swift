import CairnLog
import CairnMerge
import CairnStore
import Testing

@testable import Cairn

/// What the log says of records that were in a lost block of the snapshot.
@Suite struct RepairLostTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private typealias Content = [String: [String: Value]]

  private func content(_ datastore: Datastore) throws -> Content {
    var result: Content = [:]
    for table in try datastore.tables() {
      for record in try table.query() { result["\(table.id)/\(record.id)"] = try record.fields }
    }
    return result
  }

  /// Closes a datastore, and damages all that its snapshot has of the first table.
  private func lose(_ datastore: Datastore) throws {
    let directory = bench.directory(datastore.manager.root)
    try datastore.close()
    let snapshot = try #require(bench.files(directory + "/snap", ".snap").first)
    try bench.spoil(snapshot, at: 600, count: 40)
  }

  private func isLost(_ table: String, _ report: RepairReport) -> Bool {
    report.losses.contains {
      $0.message.hasPrefix("block 0 is damaged: records of table \(table)")
    }
  }

  // MARK: fields

  enum Change: CaseIterable {
    case put, edit, removal, putAfterRemoval
    /// The log has the record's insert, too, which was published.
    case putKept
  }

  private func make(_ change: Change, _ record: Record) throws {
    switch change {
    case .put, .putKept: try record.set("text", "B")
    case .edit: try record.list("items").append("z")
    case .removal: try record.remove("text")
    case .putAfterRemoval:
      try record.remove("text")
      try record.table.datastore.sync()
      try record.set("text", "C")
    }
    try record.table.datastore.sync()
  }

  @Test(arguments: Change.allCases)
  func `a field that is lost and was not removed stays as the others have it`(
    change: Change
  ) async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try bench.fill(a, 60, compacts: change != .putKept)
    let record = try #require(try a.table("odd").record("r3"))
    try record.set("items", .list(["x", "y"]))
    try a.sync()
    try await a.exchange()
    // Nothing of what is published stays in the log.
    if change != .putKept { try a.compact() }
    try make(change, record)
    // An edit finds no list if it is behind the snapshot, and none of it is left if it is in there.
    if change != .edit { try a.compact() }
    try record.set("n", 5)
    try a.sync()
    let manager = a.manager
    try lose(a)
    let report = try await manager.repairDatastore("notes")
    #expect(isLost("odd", report) && report.reinserted == 1)
    let field = change == .edit ? "items" : "text"
    let here = change == .putKept ? ", " : " is lost"
    let told = report.losses.map(\.message).filter { $0.hasPrefix("odd/r3.") }
    #expect(told.count == (change == .removal ? 0 : 1))
    #expect(told.allSatisfy { $0.hasPrefix("odd/r3.\(field): what was written here" + here) })

    let repaired = try manager.openDatastore("notes")
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await bench.bench.meet(repaired, b)
    let text: Value? = change == .removal ? nil : .string(DamageWorkbench.text(3))
    for datastore in [repaired, b] {
      let fields = try #require(try datastore.table("odd").record("r3")).fields
      #expect(fields["n"] == 5 && fields["text"] == text)
      #expect(fields["items"] == .list(["x", "y"]))
      #expect(datastore.recordCount == 60)
    }
    try repaired.close()
  }

  /// What was written before the removal can still be read, in a segment that is kept; the removal
  /// itself is in the snapshot only.
  @Test func `a field that a whole snapshot does not have was removed`() async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try bench.fill(a, 60, compacts: true)
    try await a.exchange()
    try a.compact()
    let record = try #require(try a.table("odd").record("r3"))
    try record.set("text", "B")
    try a.sync()
    try record.remove("text")
    try a.sync()
    try a.compact()
    let (device, manager) = (a.store.device, a.manager)
    let last = a.store.vector[device]
    try a.close()
    let log = bench.directory(manager.root) + "/log"
    let numbers: [UInt64] = [device.rawValue, last]
    let name = numbers.flatMap { number -> [UInt8] in
      (0..<8).map { (place: UInt64) -> UInt8 in UInt8(truncatingIfNeeded: number >> (8 * place)) }
    }
    var hits = 0
    for path in try bench.files(log, ".seg") {
      try bench.bend(path) { bytes in
        for start in 0..<max(0, bytes.count - 64) where Array(bytes[start..<start + 16]) == name {
          hits += 1
          // Device and sequence are in the middle of a frame's header.
          for index in 0..<8 { bytes[start - 16 + FrameFormat.headerSize + index] ^= 0x5A }
          // The footer names it once more.
          break
        }
      }
    }
    try #require(hits == 1)
    let report = try await manager.repairDatastore("notes")
    #expect(!report.losses.isEmpty)
    #expect(!report.losses.contains { $0.message.hasPrefix("odd/r3.") })
    let repaired = try manager.openDatastore("notes")
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await bench.bench.meet(repaired, b)
    for datastore in [repaired, b] {
      let fields = try #require(try datastore.table("odd").record("r3")).fields
      #expect(fields["text"] == nil && fields["n"] != nil)
    }
    try repaired.close()
  }

  // MARK: lists

  @Test func `an edit of a list that is lost ends nothing that is said behind it`() async throws {
    let datastore = try bench.local().openOrCreateDatastore("notes")
    try bench.fill(datastore, 40, compacts: false)
    let (odd, t) = (try datastore.table("odd"), try datastore.table("t"))
    let lost = try #require(try odd.record("r0"))
    let whole = try #require(try t.record("r1"))
    for record in [lost, whole] { try record.set("items", .list(["w", "x"])) }
    try datastore.sync()
    try datastore.compact()
    try lost.list("items").append("y")
    try datastore.sync()
    // One commit, the lost one's first.
    try lost.list("items").append("z")
    try whole.list("items").insert("v", at: 0)
    try datastore.sync()
    let new = try t.insert(["fresh": 1], id: "x")
    try datastore.sync()
    try new.set("fresh", 2)
    try datastore.sync()
    try whole.list("items").insert("u", at: 1)
    try datastore.sync()
    let manager = datastore.manager
    try lose(datastore)
    let report = try await manager.repairDatastore("notes")
    #expect(isLost("odd", report))
    let messages = report.losses.map(\.message)
    let told = messages.filter { $0.hasPrefix("delta ") }
    #expect(told.count == 2)
    let why = " can't be applied wholly: a delta edits a list that is not in field items of record "
      + "r0 of table odd"
    #expect(told.allSatisfy { $0.hasSuffix(why) }, "\(told)")
    #expect(!messages.contains { $0.contains("are not here") }, "\(messages)")

    let repaired = try manager.openDatastore("notes")
    let after = try repaired.table("t")
    #expect(try after.record("x")?.fields == ["fresh": 2])
    #expect(try after.record("r1")?.list("items").values == ["v", "u", "w", "x"])
    #expect(try repaired.table("odd").record("r0") == nil)
    // Those of t, and the new one.
    #expect(repaired.recordCount == 27)
    try repaired.close()
  }

  // MARK: records

  /// A device whose log has all of what the first block of its snapshot has, unpublished: of 60
  /// records one was deleted before the snapshot, one was changed and one deleted after it.
  private func makeKept(hasExchanged: Bool) async throws -> Datastore {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    if hasExchanged {
      try a.add("first")
      try await a.exchange()
    }
    try bench.fill(a, 60, compacts: false)
    let odd = try a.table("odd")
    try odd.record("r9")?.delete()
    try a.sync()
    try a.compact()
    try odd.record("r3")?.set("n", 5)
    try odd.record("r6")?.delete()
    try a.sync()
    return a
  }

  @Test(arguments: [false, true])
  func `records that were not published come back from the segments that are kept for that`(
    hasExchanged: Bool
  ) async throws {
    let a = try await makeKept(hasExchanged: hasExchanged)
    let (before, manager) = (try content(a), a.manager)
    try #require(before.count == (hasExchanged ? 59 : 58))
    try lose(a)
    let report = try await manager.repairDatastore("notes")
    #expect(isLost("odd", report) && report.reinserted == 58)
    let repaired = try manager.openDatastore("notes")
    #expect(try content(repaired) == before)
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await bench.bench.meet(repaired, b)
    #expect(try content(b) == before)
    try repaired.close()
  }

  // MARK: records of others

  /// A device that has changed records of another one and published nothing of that: all of it is
  /// in its snapshot, and in a segment that is kept.
  private func makeChanged() async throws -> (a: Datastore, b: Datastore) {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try bench.fill(a, 60, compacts: false)
    try await a.exchange()
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    let odd = try b.table("odd")
    try odd.record("r3")?.set("n", 500)
    try b.sync()
    try odd.record("r6")?.set("extra", 1)
    try b.sync()
    try b.compact()
    return (a, b)
  }

  @Test(arguments: [false, true])
  func `own changes of others' records are named where the snapshot has lost them`(
    isMissing: Bool
  ) async throws {
    let (a, b) = try await makeChanged()
    let manager = b.manager
    if isMissing {
      try b.close()
      let snapshots = bench.directory(manager.root) + "/snap"
      try bench.bench.remove(try #require(bench.files(snapshots, ".snap").first))
    } else {
      try lose(b)
    }
    let report = try await manager.repairDatastore("notes")
    #expect(isLost("odd", report) == !isMissing && report.reinserted == 0)
    let told = report.losses.map(\.message).filter { $0.hasPrefix("odd/r") }
    let words = "what was written here is lost where it was not published; what the others have "
    #expect(
      told == ["odd/r3.n: \(words)stays: \(FieldValue.int(3))", "odd/r6.extra: \(words)stays"])
    let repaired = try manager.openDatastore("notes")
    #expect(try content(repaired) == content(a))
    try repaired.close()
  }

  @Test func `a change comes back from the snapshot where the log has lost it`() async throws {
    let (a, b) = try await makeChanged()
    let (before, manager) = (try content(b), b.manager)
    #expect(before["odd/r3"]?["n"] == 500 && before["odd/r6"]?["extra"] == 1)
    let device = b.device
    try b.close()
    let inspector = try DatastoreInspector(root: manager.root, id: "notes")
    let deltas = try inspector.deltas().filter { $0.device == device && $0.tables == ["odd"] }
    inspector.close()
    try #require(deltas.count == 2)
    let delta = deltas[0]
    let path = bench.directory(manager.root) + "/log/" + FileName.segment(delta.segment)
    try bench.spoil(path, at: delta.offset + FrameFormat.headerSize, count: 4)
    let report = try await manager.repairDatastore("notes")
    #expect(Set(report.losses.map(\.file)) == [path])
    let words = "was folded into the snapshot, and only own deltas that were not published yet may "
    #expect(report.losses.first?.message.contains(words + "be lost") == true)
    #expect(report.reinserted == 2)
    let repaired = try manager.openDatastore("notes")
    #expect(try content(repaired) == before)
    try await bench.bench.meet(repaired, a)
    #expect(try content(a) == before)
    try repaired.close()
  }

  /// What it lacks may be a delete.
  @Test func `a kept segment that is damaged gives nothing back`() async throws {
    let a = try await makeKept(hasExchanged: true)
    let (before, manager) = (try content(a), a.manager)
    try lose(a)
    let log = bench.directory(manager.root) + "/log"
    try bench.spoil(try #require(bench.files(log, ".seg").first), at: 300, count: 20)
    let report = try await manager.repairDatastore("notes")
    #expect(isLost("odd", report))
    let repaired = try manager.openDatastore("notes")
    // What was changed behind the snapshot is all that there is of its table.
    var left = before.filter { !$0.key.hasPrefix("odd/") }
    left["odd/r3"] = ["n": 5]
    #expect(try content(repaired) == left)
    try repaired.close()
  }
}
