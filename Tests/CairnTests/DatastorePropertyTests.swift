import Cairn
import TestSupport
import Testing

/// What managers, datastores, tables and records say of themselves.
@Suite struct DatastorePropertyTests {
  private let place: TemporaryDirectory
  private let account: Account

  init() throws {
    place = try TemporaryDirectory()
    account = Account(user: "ana", folder: .directory(place.path("folder")))
  }

  private func manager(_ name: String) throws -> DatastoreManager {
    try DatastoreManager(root: place.path(name), account: account)
  }

  @Test func `a manager knows whose datastores it has`() throws {
    let linked = try manager("a")
    #expect(linked.account == account)
    #expect(!linked.isLocal)
    let local = try DatastoreManager(root: place.path("local"))
    #expect(local.account == nil)
    #expect(local.isLocal)
  }

  @Test func `a datastore knows what it is`() throws {
    let manager = try manager("a")
    let own = try manager.openOrCreateDatastore("notes")
    #expect(own.id == "notes" && own.manager === manager)
    #expect(own.isOpen && !own.isShareable && own.isWritable)
    let shared = try manager.createDatastore()
    #expect(shared.isShareable && Datastore.isValidShareableId(shared.id))
    try own.close()
    #expect(!own.isOpen && shared.isOpen)
    try shared.close()
  }

  @Test func `a title is set, synced and removed`() async throws {
    let a = try manager("a").openDefaultDatastore()
    let b = try manager("b").openDefaultDatastore()
    #expect(try a.title == nil)
    try a.setTitle("Quarry")
    #expect(try a.title == "Quarry")
    try a.rollback()
    #expect(try a.title == nil)
    try a.setTitle("Quarry")
    try await meet(a, b)
    #expect(try b.title == "Quarry")
    try b.setTitle(nil)
    try await meet(b, a)
    #expect(try a.title == nil)
    try a.close()
    try b.close()
  }

  /// The first one of the two would be the one that `remote` shows.
  @Test(arguments: [(ResolutionRule.max, "a", "b"), (.min, "b", "a")])
  func `a title goes by the default rule`(
    rule: ResolutionRule, first: String, second: String
  ) async throws {
    let a = try manager("a").openDefaultDatastore()
    let b = try manager("b").openDefaultDatastore()
    try a.setDefaultRule(rule)
    try await meet(a, b)
    try a.setTitle(first)
    try a.sync()
    // The clock of both is the machine's: the second commit must not be in the same millisecond.
    try await Task.sleep(for: .milliseconds(5))
    try b.setTitle(second)
    try b.sync()
    try await meet(a, b)
    try await meet(b, a)
    #expect(try a.title == second && b.title == second)
    try a.close()
    try b.close()
  }

  private func meet(_ from: Datastore, _ to: Datastore) async throws {
    try from.sync()
    try await from.exchange()
    try await to.exchange()
    try to.sync()
  }

  @Test func `the time of the last change is none at first and grows`() async throws {
    let a = try manager("a").openDefaultDatastore()
    let b = try manager("b").openDefaultDatastore()
    #expect(a.mtime == nil)
    try a.table("t").insert(["n": 1], id: "r")
    #expect(a.mtime == nil, "nothing is committed yet")
    try a.sync()
    let first = try #require(a.mtime)
    try a.table("t")["r"].set("n", 2)
    try a.sync()
    let second = try #require(a.mtime)
    #expect(second > first)
    #expect(b.mtime == nil)
    try await meet(a, b)
    #expect(try #require(b.mtime) >= second)
    try a.close()
    try b.close()
  }

  @Test func `a table is there with its first record`() throws {
    let datastore = try manager("a").openDefaultDatastore()
    let table = try datastore.table("t")
    #expect(table.id == "t" && table.datastore == datastore)
    #expect(try datastore.tables() == [])
    let record = try table.insert(["n": 1])
    #expect(try datastore.tables() == [table])
    try record.delete()
    #expect(try datastore.tables() == [])
    try datastore.close()
  }

  @Test func `every handle of a record shows the same at once`() throws {
    let datastore = try manager("a").openDefaultDatastore()
    let table = try datastore.table("t")
    let one = try table.insert(["n": 1], id: "r")
    let other = try #require(try table.record("r"))
    #expect(one == other)
    try one.set("n", 2)
    #expect(try other.int("n") == 2)
    try other.delete()
    #expect(try one.isDeleted)
    try datastore.close()
  }

  @Test func `a sync updates the handles that are there`() async throws {
    let a = try manager("a").openDefaultDatastore()
    let b = try manager("b").openDefaultDatastore()
    let other = try a.table("t").insert(["n": 1], id: "r")
    try a.sync()
    try await a.exchange()
    try await b.exchange()
    let record = try b.table("t")["r"]
    #expect(try record.isDeleted)
    try b.sync()
    #expect(try !record.isDeleted && record.int("n") == 1)
    try other.set("n", 2)
    try a.sync()
    try await a.exchange()
    try await b.exchange()
    #expect(try record.int("n") == 1)
    try b.sync()
    #expect(try record.int("n") == 2)
    try a.close()
    try b.close()
  }

  @Test func `rules that are set are listed, on all devices`() async throws {
    let a = try manager("a").openDefaultDatastore()
    let b = try manager("b").openDefaultDatastore()
    #expect(a.rules == [:] && a.defaultRule == .remote)
    try a.table("t").setRule(.sum, field: "n")
    try a.table("u").setRule(.remote, field: "x")
    try a.setDefaultRule(.local)
    let rules: [String: [String: ResolutionRule]] = ["t": ["n": .sum], "u": ["x": .remote]]
    #expect(a.rules == rules && a.defaultRule == .local)
    #expect(b.rules == [:] && b.defaultRule == .remote)
    try await meet(a, b)
    #expect(b.rules == rules && b.defaultRule == .local)
    try b.table("t").setRule(.max, field: "n")
    try b.rollback()
    #expect(b.rules == rules)
    try a.close()
    try b.close()
  }
}
