import Cairn
import TestSupport
import Testing

/// A damaged copy has unpublished changes, and the folder has something that it had not seen.
@Suite struct RepairUnseenTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  /// Two devices that have a record with a value and a list.
  private func pair() async throws -> (a: Datastore, b: Datastore) {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try a.table("t").insert(["x": 1, "items": .list(["a", "b", "c"])], id: "r")
    try a.sync()
    try await a.exchange()
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    return (a, b)
  }

  private func publish(_ b: Datastore, _ change: (Table) throws -> Void) async throws {
    try change(b.table("t"))
    try b.sync()
    try await b.exchange()
  }

  private func record(_ datastore: Datastore) throws -> Record {
    try #require(try datastore.table("t").record("r"))
  }

  /// Closes it, damages it so that nothing is lost, and repairs it. Returns it open, with the
  /// losses that are told of the record.
  private func repair(
    _ a: Datastore
  ) async throws -> (datastore: Datastore, report: RepairReport, told: [String]) {
    let manager = a.manager
    try a.close()
    try bench.bend(bench.directory(manager.root) + "/CURRENT") { $0[40] ^= 0x04 }
    let report = try await manager.repairDatastore("notes")
    #expect(report.wasNeeded)
    let told = report.losses.map(\.message).filter { $0.hasPrefix("t/r.") }
    return (try manager.openDatastore("notes"), report, told)
  }

  @Test func `what nobody else has changed is put on top of what the folder has`() async throws {
    let (a, b) = try await pair()
    try await publish(b) { try $0.insert(["y": 9], id: "r9") }
    try record(a).set("x", 2)
    try record(a).remove("items")
    try a.sync()
    let (repaired, report, told) = try await repair(a)
    #expect(told == [] && report.reinserted == 1)
    try await bench.bench.meet(repaired, b)
    for datastore in [repaired, b] {
      #expect(try record(datastore).fields == ["x": 2])
      #expect(try datastore.ids() == ["r", "r9"])
    }
    try repaired.close()
  }

  @Test func `so is a list that was edited here alone`() async throws {
    let (a, b) = try await pair()
    try await publish(b) { try $0.insert(["y": 9], id: "r9") }
    let list = try record(a).list("items")
    try list.remove(at: 1)
    try list.replace(at: 0, with: "A")
    try a.sync()
    #expect(try record(a).list("items").values == ["A", "c"])
    let (repaired, _, told) = try await repair(a)
    #expect(told == [])
    try await bench.bench.meet(repaired, b)
    for datastore in [repaired, b] {
      #expect(try record(datastore).list("items").values == ["A", "c"])
    }
    try repaired.close()
  }

  @Test func `of a list that others have edited too only additions are sure, and that is told`()
    async throws
  {
    let (a, b) = try await pair()
    try await publish(b) { try $0.record("r")?.list("items").append("d") }
    let list = try record(a).list("items")
    try list.remove(at: 1)
    try list.append("e")
    try a.sync()
    let (repaired, _, told) = try await repair(a)
    #expect(told.count == 1)
    #expect(told.allSatisfy { $0.hasPrefix("t/r.items: it was edited elsewhere, too") })
    try await bench.bench.meet(repaired, b)
    for datastore in [repaired, b] {
      #expect(try record(datastore).list("items").values == ["a", "b", "c", "d", "e"])
    }
    try repaired.close()
  }

  /// As it is without a repair, where the first one in commit order wins.
  @Test(arguments: [ResolutionRule.remote, .local])
  func `a removal goes by the rule like any value`(rule: ResolutionRule) async throws {
    let (a, b) = try await pair()
    try a.table("t").setRule(rule, field: "x")
    try a.sync()
    try await a.exchange()
    try await b.pull()
    try await publish(b) { try $0.record("r")?.set("x", 5) }
    try record(a).remove("x")
    try a.sync()
    let (repaired, _, told) = try await repair(a)
    let words = "t/r.x: it was removed here, which was not published; what the others have stays"
    #expect(told.count == (rule == .remote ? 1 : 0))
    #expect(told.allSatisfy { $0.hasPrefix(words) })
    try await bench.bench.meet(repaired, b)
    for datastore in [repaired, b] {
      #expect(try record(datastore).fields["x"] == (rule == .remote ? 5 : nil))
    }
    try repaired.close()
  }

  // MARK: deletes of others

  @Test(arguments: [2, 150])
  func `what others have deleted is in the trash and much of it is told`(
    count: Int
  ) async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    for number in 0..<200 {
      try a.table("t").insert(["n": .int(Int64(number))], id: RecordID("r\(number)"))
    }
    try a.sync()
    try await a.exchange()
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    try await publish(b) { table in
      for number in 0..<count { try table.record(RecordID("r\(number)"))?.delete() }
    }
    try await a.exchange()
    let (repaired, report, _) = try await repair(a)
    #expect(report.records == 200 - count)
    let told = report.losses.map(\.message).filter { $0.hasPrefix("other devices have deleted") }
    #expect(told.count == (count == 150 ? 1 : 0))
    #expect(told.allSatisfy { $0.contains("deleted 150 of the 200 records") })
    let trash = try repaired.trash.list()
    #expect(Set(trash.map(\.id)) == Set((0..<count).map { RecordID("r\($0)") }))
    #expect(trash.first(where: { $0.id == "r1" })?.fields == ["n": 1])
    #expect(trash.allSatisfy { $0.device == b.device })
    #expect(try repaired.trash.restoreAll() == count)
    #expect(try repaired.ids().count == 200)
    try repaired.close()
  }
}
