import CairnMerge
import CairnStore
import TestSupport
import Testing

/// An index gives what a filter and a sort over everything give, whatever happened to the records.
struct IndexPropertyTests {
  private static let fields = ["a", "b", "n", "s"]

  private let values: [FieldValue] =
    QueryConditionTests.values + (0..<30).map { .int(Int64($0)) }
    + (0..<20).map { .string("user-\($0)") }

  private func value(_ field: String, _ random: SeededRandom) -> FieldValue? {
    switch field {
    case "a": random.below(9) == 0 ? nil : .int(Int64(random.below(12)))
    case "n": .double(Double(random.below(4000)) / 8)
    case "s": .string("user-\(random.below(300))")
    default: random.below(4) == 0 ? nil : values[random.below(values.count)]
    }
  }

  private func records(_ store: Store) throws -> NaiveQuery.Records {
    try StoreContent(store).tables["t"] ?? [:]
  }

  private func check(_ device: StoreDevice, _ random: SeededRandom, queries: Int) throws {
    let records = try records(device.store)
    for _ in 0..<queries {
      let query = RecordQuery.random(random, fields: Self.fields, values: values)
      let mistake = try device.store.mistake(table: "t", query, records)
      try Difference.demand(mistake == nil, mistake ?? "")
    }
  }

  private func addIndexes(_ store: Store) throws {
    for field in Self.fields { try store.addIndex(IndexName(table: "t", field: field)) }
  }

  private func change(_ device: StoreDevice, _ random: SeededRandom, count: Int) throws {
    for _ in 0..<count {
      let id = "r\(random.below(900))"
      let field = Self.fields[random.below(4)]
      if try device.store.get(id) == nil {
        let fields = Self.fields.map { ($0, value($0, random)) }
        try device.store.insert(
          table: "t", id: RecordName(id), fields.filter { _ in random.below(8) > 0 })
      } else if random.below(5) == 0 {
        try device.store.delete(id)
      } else if random.below(4) == 0, Self.takesItems(try device.store.get(id)?["b"]) {
        try device.store.edit(
          table: "t", id: RecordName(id), field: "b",
          .append(.int(Int64(random.below(3)))))
      } else {
        let value = random.below(10) == 0 ? nil : value(field, random)
        try device.store.update(table: "t", id: RecordName(id), [(field, value)])
      }
    }
  }

  private static func takesItems(_ value: FieldValue?) -> Bool {
    switch value {
    case nil, .list: true
    default: false
    }
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `a random life gives the same results with and without`(seed: UInt64) throws {
    let random = SeededRandom(seed)
    let devices = [try StoreDevice(seed * 2 + 1), try StoreDevice(seed * 2 + 2)]
    for device in devices { try addIndexes(device.store) }
    try change(devices[0], random, count: 900)
    try devices[0].store.sync()
    _ = try devices[1].store.sync(packs: [try devices[0].store.pack()])
    var packed: [UInt64] = [0, 0]
    for step in 0..<40 {
      let number = random.below(2)
      let device = devices[number]
      switch random.below(9) {
      case 0...3: try change(device, random, count: 1 + random.below(step % 4 == 0 ? 300 : 20))
      case 4: try device.store.rollBack()
      case 5:
        try device.store.sync()
        _ = try device.store.compact()
      case 6:
        try device.store.sync()
        try device.reopen()
        try addIndexes(device.store)
      case 7:
        let rule = Rule.allCases[random.below(Rule.allCases.count)]
        try device.store.setRule(rule, table: "t", field: Self.fields[random.below(4)])
      default:
        try device.store.sync()
        let other = devices[1 - number].store
        _ = try other.sync(packs: [try device.store.pack(after: packed[number])])
        packed[number] = device.store.vector[device.id]
      }
      try check(device, random, queries: 6)
    }
    for device in devices { try check(device, random, queries: 40) }
  }

  @Test func `an index follows while queries come between the changes`() throws {
    let random = SeededRandom(77)
    let device = try StoreDevice(1)
    try addIndexes(device.store)
    try change(device, random, count: 700)
    for _ in 0..<80 {
      try change(device, random, count: 1 + random.below(3))
      try check(device, random, queries: 1)
    }
  }

  @Test func `a bound that is longer than any value finds the same with an index`() throws {
    let device = try StoreDevice(1)
    for text in ["", "x", "xx"] {
      try device.store.insert("r\(text)", ["s": .string(text), "b": .bytes([UInt8](text.utf8))])
    }
    try addIndexes(device.store)
    let records = try records(device.store)
    // From 16 MiB on a length has more bits than a cell's word has for it.
    for length in [1 << 24, (1 << 24) + 1] {
      let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: length)
      let text = String(decoding: bytes, as: UTF8.self)
      let bounds: [(field: String, value: FieldValue)] = [
        ("s", .string(text)), ("b", .bytes(bytes)),
      ]
      for (field, value) in bounds {
        var tests: [(test: ValueTest, found: Int)] = [
          (.equals(value), 0), (.range(ValueRange(upper: value, includesUpper: false)), 3),
          (.range(ValueRange(lower: value)), 0),
        ]
        if field == "s" { tests.append((.hasPrefix(text), 0)) }
        for (number, (test, found)) in tests.enumerated() {
          var query = RecordQuery()
          query.conditions = [RecordQuery.Condition(field: field, test: test)]
          let note: Comment = "test \(number) of \(field) with \(length) bytes"
          #expect(try device.store.count(table: "t", query) == found, note)
          // What it says has all of the bound in it.
          let isRight = try device.store.mistake(table: "t", query, records) == nil
          #expect(isRight, note)
        }
      }
    }
  }

  @Test func `what a delete and an insert leave of the snapshot is not found`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("x", ["a": 1, "n": 2])
    try device.store.insert("y", ["a": 2, "n": 2])
    try device.store.sync()
    _ = try device.store.compact()
    try addIndexes(device.store)
    #expect(try device.store.find("a", 1) == ["x"])
    try device.store.delete("x")
    #expect(try device.store.find("a", 1) == [])
    try device.store.insert("x", ["n": 3])
    #expect(try device.store.find("a", 1) == [])
    #expect(try device.store.find("n", 3) == ["x"])
    try device.store.rollBack()
    #expect(try device.store.find("a", 1) == ["x"])
    #expect(try device.store.find("n", 2) == ["x", "y"])
  }

  @Test func `a rule decides anew what an index finds`() throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2, time: 1_700_000_000_500))
    try a.store.insert("x", ["a": 0])
    try a.store.sync()
    _ = try b.store.sync(packs: [try a.store.pack()])
    try a.store.set("x", ["a": 1])
    try b.store.set("x", ["a": 2])
    try a.store.sync()
    try b.store.sync()
    _ = try a.store.sync(packs: [try b.store.pack()])
    // The record in conflict is in the snapshot, and stays there.
    _ = try a.store.compact()
    try addIndexes(a.store)
    #expect(try a.store.find("a", 1) == ["x"])
    try a.store.setRule(.max, table: "t", field: "a")
    #expect(try a.store.find("a", 2) == ["x"] && a.store.find("a", 1) == [])
    try a.store.rollBack()
    #expect(try a.store.find("a", 1) == ["x"] && a.store.find("a", 2) == [])
  }

  @Test func `the planner uses an index where it leaves few records`() throws {
    let device = try StoreDevice(1)
    for number in 0..<1000 {
      try device.store.insert("r\(number)", ["a": .int(Int64(number % 50)), "s": "x"])
    }
    var query = RecordQuery()
    query.conditions = [RecordQuery.Condition(field: "a", test: .equals(7))]
    #expect(try device.store.explain(table: "t", query) == "scan of 1000 records")
    try addIndexes(device.store)
    #expect(try device.store.explain(table: "t", query) == "index of a, 20 candidates")
    query.conditions.append(RecordQuery.Condition(field: "s", test: .equals("x")))
    #expect(try device.store.explain(table: "t", query) == "index of a, 20 candidates")
    query.conditions.removeFirst()
    #expect(try device.store.explain(table: "t", query) == "scan of 1000 records")
    query.conditions = [
      RecordQuery.Condition(field: "a", test: .range(ValueRange(lower: 7))),
      RecordQuery.Condition(field: "a", test: .range(ValueRange(upper: 8, includesUpper: false))),
    ]
    #expect(try device.store.explain(table: "t", query) == "index of a, 20 candidates")
    query.conditions = []
    query.sorts = [RecordQuery.Sort(field: "a", isDescending: true)]
    query.limit = 5
    let order = "order of the index of a, at most 1000 candidates, until there are 5"
    #expect(try device.store.explain(table: "t", query) == order)
    try device.store.removeIndex(IndexName(table: "t", field: "a"))
    #expect(try device.store.explain(table: "t", query) == "scan of 1000 records")
    #expect(device.store.indexNames.count == 3)
  }
}
