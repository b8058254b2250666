import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Versions of an app that share records, and do not know the same of them.
@Suite struct TypedVersionTests {
  struct Old: TableModel, Equatable {
    static let table = "tasks"
    static let rules: [String: ResolutionRule] = ["votes": .max]
    enum Stage: String, Codable { case open, done }

    var title: String
    var stage = Stage.open
    var votes = 0
  }

  struct New: TableModel {
    static let table = "tasks"
    static let rules: [String: ResolutionRule] = ["votes": .sum, "stars": .max]
    enum Stage: String, Codable { case open, paused, done }

    var title: String
    var stage = Stage.open
    var votes = 0
    var stars = 0
  }

  /// What would go with the old one's property.
  struct Newest: TableModel {
    static let table = "tasks"

    var title: String
  }

  @Test func `a case that this version lacks is said to be another version's`() throws {
    let bench = try TypedBench()
    let (old, new) = (
      try bench.datastore.table(of: Old.self), try bench.datastore.table(of: New.self)
    )
    try new.insert(New(title: "later", stage: .paused), id: "r")
    try new.insert(New(title: "now"), id: "s")
    let error = #expect(throws: CairnError.self) { try old.records() }
    #expect(error?.code == .badType && error?.id == "stage")
    #expect(error?.isProgrammingError == false)
    #expect(
      error?.message
        == "table tasks, record r, field stage: Old expects Stage there and does not take the "
        + "record's string \"paused\"; written by another version of the app? see "
        + "records(_:unreadable:)")
    var left: [RecordID] = []
    let readable = try old.records { record, _ in left.append(record.id) }
    #expect(readable.map(\.value.title) == ["now"] && left == ["r"])
    #expect(try new.get("r")?.stage == .paused, "nothing was taken away")
  }

  @Test func `records without a property that the old version needs are left out there`() throws {
    let bench = try TypedBench()
    let old = try bench.datastore.table(of: Old.self)
    try old.insert(Old(title: "old"), id: "o")
    let newest = try bench.datastore.table(of: Newest.self)
    try newest.insert(Newest(title: "new"), id: "n")
    try newest.update("o") { $0.title = "changed" }
    #expect(throws: CairnError.self) { try old.records() }
    var left: [RecordID] = []
    let readable = try old.records { record, _ in left.append(record.id) }
    #expect(readable.map(\.value) == [Old(title: "changed")] && left == ["n"])
  }

  // MARK: rules

  /// Each start of one version would undo what the other has set.
  @Test func `versions with different rules do not take turns`() async throws {
    let devices = try TwoDevices()
    _ = try devices.a.table(of: Old.self)
    try await devices.meet()
    for _ in 0..<2 {
      _ = try devices.b.table(of: New.self)
      try await devices.meet()
      _ = try devices.a.table(of: Old.self)
      #expect(devices.a.unsyncedChangesSize == 0)
    }
    for datastore in [devices.a, devices.b] {
      #expect(try datastore.table("tasks").rule(field: "votes") == .max, "the first one stays")
      #expect(try datastore.table("tasks").rule(field: "stars") == .max, "there was none")
    }
  }

  @Test func `a rule that the app changes stays, whatever versions start later`() async throws {
    let devices = try TwoDevices()
    _ = try devices.a.table(of: Old.self)
    try await devices.meet()
    try devices.b.table(of: New.self).table.setRule(.sum, field: "votes")
    try await devices.meet()
    _ = try devices.a.table(of: Old.self)
    #expect(devices.a.unsyncedChangesSize == 0)
    #expect(try devices.a.table("tasks").rule(field: "votes") == .sum)
  }

  /// It is nothing that this version could go by, and still what somebody has set.
  @Test func `a rule that this version does not know stays`() throws {
    let bench = try TypedBench()
    let datastore = bench.datastore
    let newer: [(field: String, value: FieldValue?)] = [(field: "votes", value: .int(99))]
    try datastore.store.insert(table: ":rules", id: RecordName("tasks"), newer)
    try datastore.sync()
    _ = try datastore.table(of: Old.self)
    #expect(datastore.unsyncedChangesSize == 0)
    _ = try datastore.table(of: New.self)
    let rules = try #require(
      try datastore.store.fields(table: ":rules", id: RecordName("tasks")))
    #expect(rules.first { $0.0 == "votes" }?.1 == .int(99))
    #expect(rules.map(\.0).sorted() == ["stars", "votes"], "the other one was not set yet")
    #expect(try datastore.table("tasks").rule(field: "stars") == .max)
    try datastore.table("tasks").setRule(.sum, field: "votes")
    #expect(try datastore.table("tasks").rule(field: "votes") == .sum, "unless the app says so")
  }
}
