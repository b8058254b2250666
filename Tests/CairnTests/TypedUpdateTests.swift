import Cairn
import TestSupport
import Testing

/// An update writes what changed, and nothing else.
@Suite struct TypedUpdateTests {
  struct Item: Codable, Sendable, Equatable {
    var name: String
    var count: Int
    var note: String?
    var tags: [String]
  }

  private let bench: TypedBench
  private let table: TypedTable<Item>
  private let item = Item(name: "nail", count: 100, note: "steel", tags: ["a", "b"])

  init() throws {
    bench = try TypedBench()
    table = try bench.table(of: Item.self)
    try table.insert(item, id: "r")
    try bench.datastore.sync()
  }

  /// What the changes since the last sync count with: 100, 100 for the record, and 100 and the new
  /// value's size for each field.
  private var pending: Int { bench.datastore.unsyncedChangesSize }

  @Test func `what did not change is not written`() throws {
    try table.update("r", item)
    #expect(try table.update("r") { $0.count = 100 } == item)
    try table.update("r") { _ in }
    #expect(pending == 0)
    #expect(try !bench.datastore.sync().committed)
  }

  @Test func `one field that changed is one field that is written`() throws {
    try table.update("r") { $0.count += 1 }
    #expect(pending == 100 + 100 + 100)
    #expect(try table.get("r")?.count == 101)
    try bench.datastore.sync()
    var changed = item
    changed.count = 101
    changed.name = "screw"
    try table.update("r", changed)
    #expect(pending == 100 + 100 + 100 + 5)
    #expect(try table.get("r") == changed)
  }

  @Test func `a property that is nil removes its field`() throws {
    #expect(try table.update("r") { $0.note = nil }.note == nil)
    #expect(pending == 100 + 100 + 100)
    #expect(try table.table["r"].get("note") == nil)
    try table.update("r", item)
    #expect(try table.table["r"].get("note") == "steel")
    var without = item
    without.note = nil
    try table.update("r", without)
    #expect(try table.table["r"].fields.keys.sorted() == ["count", "name", "tags"])
  }

  @Test func `a list that changed is edited item by item`() throws {
    try table.update("r") { $0.tags.insert("x", at: 1) }
    #expect(pending == 100 + 100 + 100 + 21)
    #expect(try table.table["r"].listValues("tags") == ["a", "x", "b"])
    try table.update("r") { $0.tags = ["y"] }
    #expect(try table.get("r")?.tags == ["y"])
    try bench.datastore.rollback()
    #expect(try table.get("r") == item)
  }

  @Test func `an update with a list is all or nothing`() throws {
    let bench = try TypedBench { $0.limits.recordBytes = 1000 }
    let table = try bench.table(of: Item.self)
    try table.insert(item, id: "r")
    try bench.datastore.sync()
    let error = #expect(throws: CairnError.self) {
      try table.update("r") {
        $0.count = 7
        $0.tags = ["c"] + $0.tags + [String(repeating: "x", count: 900)]
      }
    }
    #expect(error?.code == .sizeLimit)
    #expect(try table.get("r") == item)
    #expect(bench.datastore.unsyncedChangesSize == 0)
  }

  @Test func `texts that look the same and differ in bytes are different`() throws {
    try table.update("r") { $0.name = "caf\u{e9}" }
    try bench.datastore.sync()
    try table.update("r") { $0.name = "cafe\u{301}" }
    #expect(pending > 0)
    #expect(try table.table["r"].string("name")?.utf8.count == 6)
  }

  @Test func `fields that the model does not know stay`() throws {
    try table.table["r"].set("color", "red")
    try table.update("r", Item(name: "x", count: 1, note: nil, tags: []))
    try table.update("r") { $0.count = 2 }
    #expect(
      try table.table["r"].fields == ["name": "x", "count": 2, "tags": [], "color": "red"])
  }

  struct WithDefault: Codable, Sendable, Equatable {
    var name: String
    var stars: Int
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      stars = try container.decodeIfPresent(Int.self, forKey: .stars) ?? 3
    }
  }

  @Test func `what the model makes up for an absent field is not written`() throws {
    let other = try bench.table(of: WithDefault.self)
    try other.update("r") { $0.name = "bolt" }
    #expect(pending == 100 + 100 + 100 + 4)
    #expect(try table.table["r"].get("stars") == nil)
    try other.update("r") { $0.stars = 4 }
    #expect(try table.table["r"].get("stars") == 4)
  }

  @Test func `an update that fails changes nothing`() throws {
    let before = try table.table["r"].fields
    let large = String(repeating: "x", count: 200_000)
    let error = #expect(throws: CairnError.self) {
      try table.update("r") {
        $0.count = 7
        $0.name = large
      }
    }
    #expect(error?.code == .sizeLimit)
    #expect(try table.table["r"].fields == before)
    #expect(pending == 0)
  }

  @Test func `a set is the same whatever its order`() throws {
    struct Bag: Codable, Sendable { var things: Set<String> }
    let bags = try bench.table(of: Bag.self)
    let things = Set((0..<50).map { "thing \($0)" })
    try bags.insert(Bag(things: things), id: "bag")
    try bench.datastore.sync()
    try bags.update("bag", Bag(things: Set(things.sorted().reversed())))
    #expect(pending == 0)
    try bags.update("bag") { $0.things.remove("thing 3") }
    #expect(try bags.table["bag"].listValues("things")?.count == 49)
  }

  private func succeeds(_ body: () throws -> Void) {
    do { try body() } catch { Issue.record(error) }
  }

  @Test func `an update made in between is not lost`() throws {
    let raw = table.table["r"]
    var calls = 0
    let result = try table.update("r") { item in
      calls += 1
      // As if another thread had been quicker; only once, or there would be no end.
      if calls == 1 { succeeds { try raw.set("count", 500) } }
      item.count += 1
    }
    #expect(calls == 2)
    #expect(result.count == 501)
    #expect(try table.get("r")?.count == 501)
  }

  @Test func `a record that is deleted in between stays deleted`() throws {
    let raw = table.table["r"]
    let error = #expect(throws: CairnError.self) {
      try table.update("r") { item in
        succeeds { try raw.delete() }
        item.count += 1
      }
    }
    #expect(error?.code == .deleted)
    #expect(try table.count == 0)
  }

  @Test func `a typed record follows its own updates`() throws {
    var record = try #require(try table.record("r"))
    #expect(record.value == item && record.id == "r")
    try table.table["r"].set("name", "other")
    try record.update { $0.count = 5 }
    #expect(record.value.count == 5 && record.value.name == "other")
    let again = try #require(try table.record("r"))
    #expect(again == record && again.hashValue == record.hashValue)
    try record.delete()
    try record.delete()
    #expect(try record.record.isDeleted)
    #expect(code { try record.update { $0.count = 6 } } == .deleted)
    #expect(record.value.count == 5)
  }
}

extension TypedUpdateTests.Item: Hashable {}
