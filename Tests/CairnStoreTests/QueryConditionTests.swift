import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Every condition on every kind of value, wherever the value is kept, with and without an index.
struct QueryConditionTests {
  static let values: [FieldValue] = [
    false, true, 0, 1, -1, 5, .int(.max), .int(.max - 1), .int(.min), .int(.min + 1),
    .int(1 << 53), .int(1 << 53 + 1), .int(1 << 53 + 2), .int(-(1 << 53) - 1), 0.0, -0.0, 1.0, 0.5,
    -0.5, 5.5, .double(.nan), .double(.infinity), .double(-.infinity), .double(0x1p53),
    .double(0x1p63), .double(-0x1p63), .double(-0x1.8p63), .double(.leastNonzeroMagnitude),
    .double(.greatestFiniteMagnitude), "", "1", "a", "a\0", "ab", "abcdefgh", "abcdefgh\0",
    "abcdefghi", "abcdefghij", "é", "e\u{301}", "\u{10FFFF}", .bytes([]), .bytes([0]), .bytes([1]),
    .bytes([1, 0]), .bytes([255, 255]), .date(0), .date(1), .date(-1), .date(.max), .date(.min),
    .list([]), .list([1]), .list([1.0]), .list([true]), .list(["1", .double(.nan)]),
    .list([.double(-0.0)]), .list([.int(1), .int(2)]),
    .string(String(repeating: "x", count: 127)), .string(String(repeating: "x", count: 128)),
    .string(String(repeating: "x", count: 129)), .string(String(repeating: "x", count: 200) + "a"),
    .string(String(repeating: "x", count: 200) + "b"),
  ]

  static var tests: [ValueTest] {
    var tests: [ValueTest] = [.exists, .isAbsent, .oneOf([]), .oneOf(values), .hasPrefix("")]
    for value in values {
      tests += [
        .equals(value), .notEquals(value), .oneOf([value, 1, 1.0, "ab"]),
        .range(ValueRange(upper: value, includesUpper: false)), .range(ValueRange(upper: value)),
        .range(ValueRange(lower: value, includesLower: false)), .range(ValueRange(lower: value)),
      ]
      for (index, other) in values.enumerated() where index % 3 == 0 {
        tests.append(.range(ValueRange(lower: value, upper: other)))
        tests.append(
          .range(
            ValueRange(lower: other, upper: value, includesLower: false, includesUpper: false)))
      }
      if case .string(let text) = value {
        tests += [.hasPrefix(text), .hasPrefix(String(text.prefix(text.count / 2)))]
      }
    }
    return tests
  }

  private func check(_ store: Store, _ records: NaiveQuery.Records) throws {
    for test in Self.tests {
      var query = RecordQuery()
      query.conditions = [RecordQuery.Condition(field: "v", test: test)]
      #expect(try store.mistake(table: "t", query, records) == nil)
    }
    for isDescending in [false, true] {
      var query = RecordQuery()
      query.sorts = [RecordQuery.Sort(field: "v", isDescending: isDescending)]
      #expect(try store.mistake(table: "t", query, records) == nil)
      for limit in [0, 1, 2, 7, 30, 1000] {
        query.limit = limit
        query.skip = limit / 2
        #expect(try store.mistake(table: "t", query, records) == nil)
      }
    }
  }

  @Test(arguments: [false, true])
  func `conditions mean what they say in memory, in a snapshot and over one`(
    isIndexed: Bool
  ) throws {
    let device = try StoreDevice(1)
    let index = IndexName(table: "t", field: "v")
    if isIndexed { try device.store.addIndex(index) }
    var records: NaiveQuery.Records = [:]
    for (number, value) in Self.values.enumerated() {
      records["r\(number)"] = ["v": value]
      try device.store.insert("r\(number)", ["v": value])
    }
    records["without"] = ["w": 1]
    try device.store.insert("without", ["w": 1])
    try check(device.store, records)
    try device.store.sync()
    _ = try device.store.compact()
    try device.reopen()
    if isIndexed { try device.store.addIndex(index) }
    try check(device.store, records)
    for number in Self.values.indices { try device.store.set("r\(number)", ["w": 1]) }
    try check(device.store, records)
  }

  /// Columns of one type are stored in forms of their own, each with its own search.
  @Test func `every form of column is searched alike`() throws {
    let forms: [[FieldValue?]] = [
      (0..<40).map { .int(Int64($0 % 5)) }, (0..<40).map { .int(Int64($0 % 3) << 40) },
      (0..<40).map { .int(Int64($0 % 3) * 300 - 200) }, (0..<40).map { .int(Int64($0) << 58) },
      (0..<40).map { $0 % 2 == 0 ? .int(.min) : .int(.max) },
      Array(repeating: 7, count: 40), (0..<40).map { .date(Int64($0 % 4) - 2) },
      (0..<40).map { .double(Double($0 % 6) / 10) }, (0..<40).map { .double(1 / Double($0 + 1)) },
      (0..<40).map { .bool($0 % 3 == 0) }, (0..<40).map { .string("s\($0 % 4)") },
      (0..<40).map { .bytes([UInt8($0 % 4)]) }, (0..<40).map { $0 % 20 == 3 ? "rare" : nil },
      (0..<40).map { .list([.int(Int64($0 % 2))]) },
      (0..<40).map { $0 % 2 == 0 ? .int(1) : .double(1) },
    ]
    let device = try StoreDevice(1)
    var records: NaiveQuery.Records = [:]
    for row in 0..<40 {
      let fields = forms.indices.map { ("f\($0)", forms[$0][row]) }
      try device.store.insert(table: "t", id: RecordName("r\(row)"), fields)
      records["r\(row)"] = fields.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    try device.store.sync()
    _ = try device.store.compact()
    let random = SeededRandom(4)
    for (form, own) in forms.enumerated() {
      let values = own.compactMap { $0 } + Self.values
      for _ in 0..<200 {
        var query = RecordQuery()
        let test = ValueTest.random(random, random.coin() ? values : own.compactMap { $0 })
        query.conditions = [RecordQuery.Condition(field: "f\(form)", test: test)]
        #expect(try device.store.mistake(table: "t", query, records) == nil, "form \(form)")
      }
    }
  }

  @Test func `a value test and the naive one agree`() {
    for test in Self.tests {
      for value in Self.values + [] {
        #expect(test.matches(value) == NaiveQuery.passes(value, test), "\(value) \(test)")
      }
      #expect(test.matches(nil) == NaiveQuery.passes(nil, test))
    }
  }
}
