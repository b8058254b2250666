import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Queries: what equals what, and that base, overlay, deleted and conflicting records agree with a
/// filter over everything.
struct StoreQueryTests {
  private static let values: [FieldValue] = [
    false, true, 0, 1, -1, .int(.max), .int(.min), .int(1 << 53), .int(1 << 53 + 1), 0.0, -0.0, 1.0,
    0.1, .double(.nan), .double(.infinity), .double(-.infinity), .double(0x1p53), .double(0x1p63),
    "", "1", "é", "e\u{301}", .bytes([]), .bytes([1]), .bytes([1, 0]), .date(0), .date(1),
    .list([]), .list([1]), .list([1.0]), .list([true]), .list(["1", .double(.nan)]),
    .list([.double(-0.0)]), .list([0]), .list([.bytes([1])]),
  ]

  /// Part I 7 of the semantics, the obvious way.
  private static func equal(_ a: FieldValue, _ b: FieldValue) -> Bool {
    switch (a, b) {
    case (.int(let a), .int(let b)): a == b
    case (.double(let a), .double(let b)): a == b || a.isNaN && b.isNaN
    case (.int(let a), .double(let b)), (.double(let b), .int(let a)): Int64(exactly: b) == a
    case (.bool(let a), .bool(let b)): a == b
    case (.date(let a), .date(let b)): a == b
    case (.string(let a), .string(let b)): Array(a.utf8) == Array(b.utf8)
    case (.bytes(let a), .bytes(let b)): a == b
    case (.list(let a), .list(let b)):
      a.count == b.count && zip(a, b).allSatisfy { equal($0, $1) }
    default: false
    }
  }

  private func check(_ store: Store) throws {
    for wanted in Self.values {
      let expected = Self.values.indices.filter { Self.equal(Self.values[$0], wanted) }
      #expect(try store.find("v", wanted) == expected.map { "r\($0)" }.sorted(), "\(wanted)")
    }
  }

  @Test func `values equal what they should, in memory, in a snapshot and over one`() throws {
    let device = try StoreDevice(1)
    for (index, value) in Self.values.enumerated() {
      try device.store.insert("r\(index)", ["v": value])
    }
    try device.store.insert("without", ["w": 1])
    try check(device.store)
    try device.store.sync()
    _ = try device.store.compact()
    try device.reopen()
    try check(device.store)
    for index in Self.values.indices { try device.store.set("r\(index)", ["w": 1]) }
    try check(device.store)
  }

  /// Columns of one type are stored in forms of their own, each with its own search.
  @Test func `every form of column is searched alike`() throws {
    let forms: [[FieldValue]] = [
      (0..<40).map { .int(Int64($0 % 5)) }, (0..<40).map { .int(Int64($0 % 3) << 40) },
      Array(repeating: 7, count: 40), (0..<40).map { .date(Int64($0 % 4) - 2) },
      (0..<40).map { .double(Double($0 % 6) / 10) }, (0..<40).map { .double(1 / Double($0 + 1)) },
      (0..<40).map { .bool($0 % 3 == 0) }, (0..<40).map { .string("s\($0 % 4)") },
      (0..<40).map { .list([.int(Int64($0 % 2))]) },
      (0..<40).map { $0 % 2 == 0 ? .int(1) : .double(1) },
    ]
    let device = try StoreDevice(1)
    for row in 0..<40 {
      let fields = forms.indices.map { ("f\($0)", Optional(forms[$0][row])) }
      try device.store.insert(table: "t", id: RecordName("r\(row)"), fields)
    }
    try device.store.sync()
    _ = try device.store.compact()
    for (form, values) in forms.enumerated() {
      for wanted in Set(values + [.int(0), .int(7), .int(-1), 0.0, .date(0), true, "s", .list([])])
      {
        let expected = (0..<40).filter { Self.equal(values[$0], wanted) }
        let found = try device.store.find("f\(form)", wanted)
        #expect(found == expected.map { "r\($0)" }.sorted(), "form \(form): \(wanted)")
      }
    }
  }

  @Test func `all conditions have to hold, and none is everything`() throws {
    let store = try StoreDevice(1).store
    try store.insert("a", ["x": 1, "y": 1])
    try store.insert("b", ["x": 1, "y": 2])
    try store.insert("c", ["x": 1])
    let both: [(String, FieldValue)] = [("x", 1), ("y", 2.0)]
    #expect(try store.query(table: "t", both).map(\.text) == ["b"])
    #expect(try store.query(table: "t", []).count == 3)
    #expect(try store.query(table: "t", [("never", 1)]).isEmpty)
    #expect(try store.query(table: "none", []).isEmpty)
  }

  /// Thousands of records in several blocks, some changed, deleted, in conflict.
  @Test(arguments: 0..<3 as Range<UInt64>)
  func `base, overlay, deletions and conflicts agree with a filter`(seed: UInt64) throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2))
    let random = SeededRandom(seed)
    func value() -> FieldValue { .int(Int64(random.below(6))) }
    for number in 0..<3000 {
      let text = FieldValue.string(String(repeating: "\(random.next())", count: 3))
      try a.store.insert("r\(number)", ["v": value(), "text": text])
    }
    try a.store.sync()
    _ = try b.store.sync(packs: [try a.store.pack()])
    for device in [a, b] {
      for _ in 0..<100 {
        let id = "r\(random.below(300))"
        if try device.store.get(id) == nil { continue }
        if random.below(4) == 0 {
          try device.store.delete(id)
        } else {
          try device.store.set(id, ["v": value()])
        }
      }
      try device.store.sync()
    }
    _ = try a.store.sync(packs: [try b.store.pack()])
    _ = try a.store.compact()
    try a.reopen()
    for _ in 0..<200 {
      let id = "r\(random.below(3000))"
      if try a.store.get(id) == nil {
        try a.store.insert(id, ["v": value()])
      } else if random.coin() {
        try a.store.delete(id)
      } else {
        try a.store.set(id, ["v": random.coin() ? value() : nil, "w": 1])
      }
    }
    let content = try #require(try StoreContent(a.store).tables["t"])
    #expect(try a.store.count(table: "t") == content.count)
    for number in -1..<7 {
      let wanted = content.filter { $0.value["v"] == .int(Int64(number)) }.keys.sorted()
      #expect(try a.store.find("v", .double(Double(number))) == wanted)
    }
    for text in content.values.compactMap({ $0["text"] }).prefix(10) {
      let wanted = content.filter { $0.value["text"] == text }.keys.sorted()
      #expect(try a.store.find("text", text) == wanted)
    }
  }
}
