import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Limits to the byte: equal is allowed, one more is refused and changes nothing, and what does not
/// grow is never refused.
struct StoreLimitTests {
  private func store(_ change: (inout Limits) -> Void) throws -> Store {
    try StoreDevice(1) { change(&$0.limits) }.store
  }

  /// Nothing at all changes when a change is refused.
  private func refused(_ store: Store, _ body: () throws -> Void) throws {
    let before = (try StoreContent(store), store.totals)
    #expect(refusal(body) == .sizeLimit)
    #expect(try StoreContent(store) == before.0)
    #expect(store.totals == before.1)
  }

  private func text(_ count: Int) -> FieldValue { .string(String(repeating: "x", count: count)) }

  @Test func `the default limits are those of the original`() throws {
    let store = try StoreDevice(1).store
    try store.insert("r", ["a": text(102_400 - 200)])
    #expect(try store.size(table: "t", id: RecordName("r")) == 102_400)
    try refused(store) { try store.set("r", ["a": text(102_400 - 199)]) }
    try refused(store) { try store.insert("s", ["a": text(102_400 - 199)]) }
    try refused(store) { try store.set("r", ["b": true]) }
  }

  @Test func `a record's limit counts what each type counts`() throws {
    let store = try store { $0.recordBytes = 300 }
    for value: FieldValue in [
      text(100), .bytes([UInt8](repeating: 0, count: 100)),
      .list([text(60), .bytes([UInt8](repeating: 1, count: 0))]), .string(
        String(repeating: "é", count: 50)),
    ] {
      try store.insert("r", ["a": value])
      #expect(try store.size(table: "t", id: RecordName("r")) == 300)
      try store.delete("r")
    }
    for value: FieldValue in [
      text(101), .bytes([UInt8](repeating: 0, count: 101)),
      .list([text(61), 1]), .string(String(repeating: "é", count: 50) + "x"),
    ] {
      try refused(store) { try store.insert("r", ["a": value]) }
    }
    try store.insert("two", ["a": 1, "b": .double(.nan)])
    try refused(store) { try store.set("two", ["c": .date(1)]) }
    try store.set("two", ["a": nil, "c": .date(1)])
  }

  @Test func `the number of records`() throws {
    let store = try store { $0.records = 3 }
    for id in ["a", "b", "c"] { try store.insert(id) }
    try refused(store) { try store.insert("d") }
    try refused(store) { _ = try store.getOrInsert(table: "t", id: RecordName("d"), []) }
    #expect(try !store.getOrInsert(table: "t", id: RecordName("a"), []))
    try store.setRule(.sum, table: "t", field: "n")
    try store.set("a", ["n": 1])
    try store.delete("b")
    try store.insert("d")
    try refused(store) { try store.insert("b") }
  }

  @Test func `the size of the datastore`() throws {
    let store = try store { $0.datastoreBytes = 1000 + 300 }
    try store.insert("r", ["a": text(100)])
    try refused(store) { try store.insert("s") }
    try refused(store) { try store.set("r", ["a": text(101)]) }
    try store.set("r", ["a": text(99)])
    try store.set("r", ["a": text(100)])
    try store.delete("r")
    try store.insert("r", ["a": text(100)])
    #expect(store.totals.size == 1300)
  }

  @Test func `rules cost nothing, the first of a table and those behind it`() throws {
    let store = try store {
      $0.datastoreBytes = 1000 + 300
      $0.recordBytes = 300
    }
    try store.insert("r", ["a": text(100)])
    for field in ["a", "b", "c", "d"] { try store.setRule(.max, table: "t", field: field) }
    #expect(store.totals.size == 1300)
    try store.sync()
    try store.setRule(.min, table: "t", field: "a")
    try store.setRule(.min, table: "t", field: "e")
    try store.sync()
    #expect(store.ownRule(table: "t", field: "e") == .min)
    #expect(store.totals.size == 1300)
    try refused(store) { try store.set("r", ["a": text(101)]) }
  }

  @Test func `the changes between two syncs`() throws {
    let store = try store { $0.deltaBytes = 100 + 100 + 100 + 50 }
    try store.insert("r", ["a": text(50)])
    #expect(store.totals.pending == 350)
    try refused(store) { try store.insert("s") }
    try refused(store) { try store.set("r", ["a": text(51)]) }
    try store.set("r", ["a": text(49)])
    #expect(store.totals.pending == 349)
    try store.sync()
    #expect(store.totals.pending == 0)
    try store.set("r", ["a": nil])
    #expect(store.totals.pending == 300)
    try refused(store) { try store.set("r", ["b": 1]) }
    try store.rollBack()
    try store.delete("r")
    #expect(store.totals.pending == 200)
  }

  @Test func `a delete is never refused, however full the delta is`() throws {
    let store = try store { $0.deltaBytes = 100 + 100 + 100 }
    for id in ["a", "b", "c"] {
      try store.insert(id)
      try store.sync()
    }
    for id in ["a", "b", "c"] { try store.delete(id) }
    #expect(store.totals.pending == 400)
    try refused(store) { try store.insert("d") }
    #expect(try store.sync().committed != nil)
  }

  @Test func `the removal of a field that has no value is no change`() throws {
    let store = try store { $0.deltaBytes = 100 + 100 + 100 + 50 }
    try store.insert("r", ["a": text(50)])
    try store.set("r", ["never": nil])
    #expect(store.totals.pending == 350)
    try store.sync()
    try store.set("r", ["never": nil])
    #expect(store.totals.pending == 0 && !store.standing.hasPending)
    #expect(try store.sync().committed == nil)
    try store.set("r", ["a": nil])
    #expect(store.totals.pending == 300)
    try store.sync()
    try store.set("r", ["a": nil, "never": nil])
    #expect(store.totals.pending == 0 && !store.standing.hasPending)
    #expect(try store.sync().committed == nil)
    try store.set("r", ["b": 1, "a": nil, "never": nil])
    #expect(store.totals.pending == 300)
  }

  @Test func `deleting and inserting again counts as both`() throws {
    let store = try StoreDevice(1).store
    try store.insert("r", ["a": text(10), "b": 1])
    try store.sync()
    try store.delete("r")
    try store.insert("r")
    #expect(store.totals.pending == 100 + 100 + 100)
    try store.set("r", ["a": text(10)])
    #expect(store.totals.pending == 300 + 110)
    try store.set("r", ["a": text(11)])
    #expect(store.totals.pending == 300 + 111)
    try store.delete("r")
    #expect(store.totals.pending == 200)
  }

  @Test func `merges pass limits, and then only shrinking is allowed`() throws {
    let limits: (inout StoreOptions) -> Void = {
      $0.limits.records = 2
      $0.limits.datastoreBytes = 1500
      $0.limits.recordBytes = 400
    }
    let a = try StoreDevice(1, configure: limits)
    let b = try StoreDevice(2, configure: limits)
    for (device, id) in [(a, "a"), (b, "b")] {
      try device.store.insert("both", [id: text(20), "\(id)2": text(20)])
      try device.store.insert(id)
      try device.store.sync()
    }
    let packs = [try a.store.pack(), try b.store.pack()]
    for device in [a, b] { _ = try device.store.sync(packs: packs) }
    #expect(a.store.totals == (1780, 3, 0))
    try refused(a.store) { try a.store.insert("c") }
    try refused(a.store) { try a.store.set("both", ["a": text(21)]) }
    try refused(a.store) { try a.store.set("a", ["x": 1]) }
    try a.store.set("both", ["a": text(19)])
    try a.store.set("both", ["a": text(19)])
    try a.store.set("both", ["b": nil])
    try a.store.delete("b")
    try a.store.sync()
    _ = try b.store.sync(packs: [try a.store.pack(after: 1)])
    #expect(try StoreContent(a.store) == StoreContent(b.store))
  }

  /// What a refusal says.
  private func message(_ body: () throws -> Void) -> String? {
    do {
      try body()
      return nil
    } catch { return (error as? StoreError)?.message }
  }

  @Test func `the limit that is named is the one that refuses`() throws {
    let limits: (inout StoreOptions) -> Void = { $0.limits.deltaBytes = 200 << 10 }
    let a = try StoreDevice(1, configure: limits)
    let b = try StoreDevice(2, configure: limits)
    for (device, field) in [(a, "a"), (b, "b")] {
      try device.store.insert("r", [field: text(60 << 10)])
      try device.store.sync()
    }
    _ = try a.store.sync(packs: [try b.store.pack()])
    #expect(try a.store.size(table: "t", id: RecordName("r")) > 100 << 10)
    for (id, size) in [("x", 90 << 10), ("y", 90 << 10), ("z", (19 << 10) - 500)] {
      try a.store.insert(id, ["a": text(size)])
    }
    let left = (200 << 10) - a.store.totals.pending
    #expect(left > 500 && left <= 1 << 10)
    // It shrinks the record, which is over its own limit; only the delta is full.
    try refused(a.store) { try a.store.set("r", ["a": text(50 << 10)]) }
    let full = message { try a.store.set("r", ["a": text(50 << 10)]) }
    #expect(full?.contains("sync more often") == true)
    let large = message { try a.store.set("r", ["a": text((60 << 10) + 1)]) }
    #expect(large?.contains("attach what is large") == true)
    try a.store.sync()
    try a.store.set("r", ["a": text(50 << 10)])
  }

  // MARK: what no format can hold

  private static let wide: @Sendable (inout Limits) -> Void = {
    $0.recordBytes = 64 << 20
    $0.datastoreBytes = 1 << 30
    $0.deltaBytes = 48 << 20
  }

  private static func bytes(_ count: Int) -> FieldValue {
    .bytes([UInt8](repeating: 7, count: count))
  }

  @Test func `one value is shorter than what a cell can hold`() throws {
    let device = try StoreDevice(1) { Self.wide(&$0.limits) }
    let (store, most) = (device.store, Cell.heapLengthMax - 1)
    for value in [text(most + 1), Self.bytes(most + 1)] {
      try refused(store) { try store.insert("r", ["a": value]) }
    }
    try store.insert("r", ["a": text(most)])
    try refused(store) { try store.set("r", ["b": text(most + 1)]) }
    try store.sync()
    try store.insert("s", ["a": Self.bytes(most)])
    try store.sync()
    let content = try StoreContent(store)
    for isFolded in [false, true] {
      if isFolded { _ = try device.store.compact() }
      try device.reopen()
      #expect(try StoreContent(device.store) == content)
    }
  }

  private static let tooLong: [ListOperation] = [
    .append(bytes(17 << 20)), .insert(bytes(16 << 20), at: 0),
    .insertAll(Array(repeating: bytes(1 << 20), count: 20), at: 0),
  ]

  /// In a field that was never written, before its record is committed or after that.
  @Test(arguments: 0..<3, [false, true])
  func `a list can't begin with more than it may ever hold`(
    operation: Int, isCommitted: Bool
  ) throws {
    for isLinked in [false, true] {
      let device = try StoreDevice(1, isLinked: isLinked) { Self.wide(&$0.limits) }
      let (store, id) = (device.store, RecordName("r"))
      try store.insert("r")
      if isCommitted { try store.sync() }
      try refused(store) {
        try store.edit(table: "t", id: id, field: "l", Self.tooLong[operation])
      }
      try store.edit(
        table: "t", id: id, field: "l",
        .insertAll(Array(repeating: Self.bytes(1 << 20), count: 15), at: 0))
      try refused(store) {
        try store.edit(table: "t", id: id, field: "l", Self.tooLong[operation])
      }
      try store.sync()
      let content = try StoreContent(store)
      try device.reopen()
      #expect(try StoreContent(device.store) == content)
    }
  }
}
