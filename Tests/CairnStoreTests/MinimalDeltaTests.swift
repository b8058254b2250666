import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A delta says the least that has the same effect, and nothing is written for nothing.
struct MinimalDeltaTests {
  /// Records with their flags, and cells, of a store's own delta.
  private func delta(_ store: Store, _ sequence: UInt64) throws -> [String] {
    let pack = try #require(
      try store.ownPack(after: sequence - 1, through: sequence, limit: 1 << 20))
    var reader = try PackReader(pack.pack)
    var delta = Delta()
    #expect(try reader.next(into: &delta))
    var lines: [String] = []
    for section in delta.sections {
      for row in section.records {
        let entry = delta.records[row]
        let flags = (entry.flags & 2 != 0 ? "-" : "") + (entry.flags & 1 != 0 ? "+" : "")
        lines.append(flags + reader.records[Int(entry.reference)].text)
      }
      for column in delta.columns[section.columns] {
        for cell in column.cells {
          let id = reader.records[Int(delta.records[Int(delta.rows[cell])].reference)].text
          let value = Cell(tag: delta.tags[cell], word: delta.words[cell]).value(reader.heap)
          lines.append("\(id).\(column.field)=\(value.map { "\($0)" } ?? "absent")")
        }
      }
    }
    return lines.map { $0.replacing("CairnMerge.FieldValue.", with: "") }
  }

  private func sample() throws -> StoreDevice {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["a": 1, "s": "text"])
    try device.store.insert("q", ["a": 1])
    try device.store.sync()
    return device
  }

  @Test func `a field's last value is all that is said`() throws {
    let store = try sample().store
    for number in 0..<10 { try store.set("r", ["a": .int(Int64(number))]) }
    try store.sync()
    #expect(try delta(store, 2) == ["r", "r.a=int(9)"])
  }

  @Test func `a value set back, and a removal of nothing, are nothing`() throws {
    let device = try sample()
    let store = device.store
    try store.set("r", ["a": 2, "s": nil, "z": 1])
    try store.set("r", ["a": 1, "s": "text", "z": nil, "never": nil])
    let operations = device.disk.operations
    #expect(try store.sync().committed == nil)
    #expect(device.disk.operations == operations, "nothing is written for nothing")
    #expect(store.totals.pending == 0)
    try store.set("r", ["a": 1.0])
    try store.set("q", ["a": 1])
    try store.sync()
    #expect(try delta(store, 2) == ["r", "r.a=double(1.0)"], "1 and 1.0 are two values")
  }

  @Test func `the same over a snapshot`() throws {
    let device = try sample()
    _ = try device.store.compact()
    try device.reopen()
    let store = device.store
    try store.set("r", ["a": 2, "s": nil, "z": 1])
    try store.set("r", ["a": 1, "s": "text", "z": nil])
    #expect(try store.sync().committed == nil)
    #expect(try store.get("r") == ["a": 1, "s": "text"])
    try store.set("r", ["s": nil])
    try store.sync()
    #expect(try delta(store, 2) == ["r", "r.s=absent"])
  }

  @Test func `an insert that is deleted again is nothing`() throws {
    let device = try sample()
    let store = device.store
    try store.insert("new", ["a": 1])
    try store.delete("new")
    #expect(try store.sync().committed == nil)
    try store.insert("new", ["a": 1, "b": 2])
    try store.set("new", ["b": nil])
    try store.insert("other")
    try store.delete("other")
    try store.sync()
    #expect(try delta(store, 2) == ["+new", "new.a=int(1)"])
    // What was never said must not be remembered either: the field is free for others.
    let peer = try StoreDevice(2)
    _ = try peer.store.sync(packs: [try store.pack()])
    try peer.store.set("new", ["b": 3])
    try peer.store.sync()
    _ = try store.sync(packs: [try peer.store.pack()])
    #expect(try store.get("new") == ["a": 1, "b": 3])
  }

  @Test func `a delete says only that`() throws {
    let store = try sample().store
    try store.set("r", ["a": 7, "b": 8])
    try store.delete("r")
    try store.sync()
    #expect(try delta(store, 2) == ["-r"])
    try store.delete("q")
    try store.insert("q", ["n": 1])
    try store.sync()
    #expect(try delta(store, 3) == ["-+q", "q.n=int(1)"])
  }

  @Test func `a rule that is set again is nothing`() throws {
    let store = try sample().store
    try store.setRule(.sum, table: "t", field: "a")
    try store.sync()
    #expect(try delta(store, 2) == ["+t", "t.a=int(4)"])
    try store.setRule(.max, table: "t", field: "a")
    try store.setRule(.sum, table: "t", field: "a")
    #expect(try store.sync().committed == nil)
  }

  @Test func `a rule that two devices have set at once is nothing when it is set again`() throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2))
    for device in [a, b] {
      try device.store.setRule(.sum, table: "t", field: "n")
      try device.store.setDefaultRule(.max)
      try device.store.sync()
    }
    _ = try a.store.sync(packs: [try b.store.pack()])
    for isFolded in [false, true] {
      if isFolded {
        _ = try a.store.compact()
        try a.reopen()
      }
      try a.store.setRule(.sum, table: "t", field: "n")
      try a.store.setDefaultRule(.max)
      #expect(a.store.totals.pending == 0 && !a.store.standing.hasPending)
      #expect(try a.store.sync().committed == nil)
    }
  }

  @Test func `a rule that holds is set again where there is no room for a change`() throws {
    let device = try StoreDevice(1) { $0.limits.deltaBytes = 100 + 100 + 100 }
    // The default that nobody has set is set for the first time.
    try device.store.setDefaultRule(.remote)
    try device.store.setDefaultRule(.remote)
    #expect(device.store.totals.pending == 300)
    #expect(refusal { try device.store.setDefaultRule(.max) } == nil, "it takes its place")
    #expect(refusal { try device.store.setRule(.max, table: "t", field: "n") } == .sizeLimit)
    try device.store.rollBack()
    #expect(device.store.totals.pending == 0)
    try device.store.setDefaultRule(.max)
    #expect(device.store.totals.pending == 300, "what was taken back does not hold any more")
    try device.store.sync()
    try device.store.insert("r", ["n": 1])
    try device.store.setDefaultRule(.max)
    #expect(device.store.totals.pending == 300)
  }

  @Test func `writing the visible value of a conflict decides it`() throws {
    let (a, b) = (try sample(), try StoreDevice(2))
    _ = try b.store.sync(packs: [try a.store.pack()])
    try a.store.set("r", ["a": 10])
    try b.store.set("r", ["a": 20])
    for device in [a, b] { try device.store.sync() }
    _ = try a.store.sync(packs: [try b.store.pack()])
    let shown = try #require(try a.store.get("r")?["a"])
    try a.store.set("r", ["a": shown])
    #expect(try a.store.sync().committed?.sequence == 3)
    _ = try b.store.sync(packs: [try a.store.pack(after: 1)])
    try b.store.setDefaultRule(.local)
    #expect(try b.store.get("r")?["a"] == shown)
    try b.store.setDefaultRule(.max)
    #expect(try b.store.get("r")?["a"] == shown)
  }

  @Test(arguments: [false, true])
  func `a removal decides a conflict in which none of the values shows`(isFolded: Bool) throws {
    let (a, b) = (try sample(), try StoreDevice(2, time: 1_700_000_000_050))
    _ = try b.store.sync(packs: [try a.store.pack()])
    try a.store.set("r", ["s": nil])
    try b.store.set("r", ["s": "other"])
    for device in [a, b] { try device.store.sync() }
    _ = try a.store.sync(packs: [try b.store.pack()])
    if isFolded {
      _ = try a.store.compact()
      try a.reopen()
    }
    #expect(try a.store.get("r") == ["a": 1])
    try a.store.set("r", ["s": nil])
    #expect(a.store.totals.pending == 100 + 100 + 100)
    try a.store.sync()
    #expect(try delta(a.store, 3) == ["r", "r.s=absent"])
    // With that it is decided, and has no value.
    try a.store.set("r", ["s": nil])
    #expect(a.store.totals.pending == 0)
    for rule: Rule in [.local, .max] {
      try a.store.setDefaultRule(rule)
      #expect(try a.store.get("r") == ["a": 1])
    }
  }

  @Test func `a sync with nothing to do writes and syncs nothing`() throws {
    let device = try sample()
    let operations = device.disk.operations
    for _ in 0..<3 { #expect(try device.store.sync().committed == nil) }
    #expect(try device.store.sync(packs: [device.store.pack()]).appliedCount == 0)
    #expect(device.disk.operations == operations)
  }

  @Test func `a commit is one write and one sync`() throws {
    let device = try sample()
    for number in 0..<5 {
      try device.store.set("r", ["a": .int(Int64(number) + 5)])
      let operations = device.disk.operations
      try device.store.sync()
      #expect(device.disk.operations == operations + 2)
    }
  }
}
