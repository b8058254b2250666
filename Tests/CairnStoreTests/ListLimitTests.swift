import CairnMerge
import CairnStore
import TestSupport
import Testing

/// How long a list may get over its whole life: what no format could hold is refused before it is
/// there, or the next opening would find a snapshot that nobody can read.
struct ListLimitTests {
  private static let id = RecordName("r")
  /// The root of a list is a node, too.
  private static let most = 1000

  /// A device with a list of so many numbers in a committed record.
  private func device(
    _ count: Int, isOpen: Bool = false, listBytes: Int = Cell.heapLengthMax
  ) throws -> StoreDevice {
    let device = try StoreDevice(1) {
      $0.limits.listNodes = Self.most
      $0.limits.listBytes = listBytes
    }
    let items = (0..<count).map { FieldValue.int(Int64($0)) }
    try device.store.insert("r", ["n": 1, "l": .list(items)])
    try device.store.sync()
    if isOpen {
      try edit(device, .replace(at: 0, 0))
      try device.store.rollBack()
    }
    return device
  }

  private func edit(_ device: StoreDevice, _ operation: ListOperation) throws {
    try device.store.edit(table: "t", id: Self.id, field: "l", operation)
  }

  /// Nothing changes, and what adds no node is allowed still: in a store that was opened from its
  /// log, or from a snapshot.
  private func checkFull(_ device: StoreDevice) throws {
    for isFolded in [false, true] {
      if isFolded { _ = try device.store.compact() }
      try device.reopen()
      let before = (try StoreContent(device.store), device.store.totals)
      let growing: [ListOperation] = [
        .append(1), .insert(1, at: 0), .insertAll([1, 2], at: 1), .move(from: 0, to: 2),
      ]
      for operation in growing {
        #expect(refusal { try edit(device, operation) } == .sizeLimit, "\(operation)")
      }
      #expect(try StoreContent(device.store) == before.0)
      #expect(device.store.totals == before.1)
      try edit(device, .replace(at: 0, "longer than it was"))
      try edit(device, .remove(at: 1))
      try edit(device, .removeLast)
      try device.store.sync()
      #expect(device.store.recovery.isEmpty)
    }
    // A list that is put begins anew.
    try device.store.set("r", ["l": .list([1, 2])])
    try device.store.sync()
    try edit(device, .move(from: 0, to: 1))
    try edit(device, .append(3))
    try device.store.sync()
    _ = try device.store.compact()
    try device.reopen()
    #expect(try device.store.get("r")?["l"] == .list([2, 1, 3]))
  }

  @Test func `no insertion takes a list across its bound`() throws {
    let device = try device(10)
    let left = Self.most - 11
    let tooMany = [FieldValue](repeating: 7, count: left + 1)
    #expect(refusal { try edit(device, .insertAll(tooMany, at: 3)) } == .sizeLimit)
    try edit(device, .insertAll(Array(tooMany.dropLast(2)), at: 3))
    try device.store.sync()
    #expect(refusal { try edit(device, .insertAll([8, 9], at: 0)) } == .sizeLimit)
    try edit(device, .append(8))
    #expect(refusal { try edit(device, .append(9)) } == .sizeLimit)
    try device.store.sync()
    #expect(try device.store.listCount(table: "t", id: Self.id, field: "l") == Self.most - 1)
    try checkFull(device)
  }

  @Test func `no move takes a list across its bound`() throws {
    let device = try device(10)
    var moves = 0
    while moves < Self.most {
      let refused = refusal { try edit(device, .move(from: 0, to: 5)) }
      if refused != nil {
        #expect(refused == .sizeLimit)
        break
      }
      try device.store.sync()
      moves += 1
    }
    #expect(moves == Self.most - 11)
    try checkFull(device)
  }

  /// A new one begins below its bound, too.
  @Test func `a list can't begin beyond its bound`() throws {
    let device = try StoreDevice(1) { $0.limits.listNodes = 20 }
    try device.store.insert("r")
    let tooMany = [FieldValue](repeating: 7, count: 20)
    #expect(refusal { try edit(device, .insertAll(tooMany, at: 0)) } == .sizeLimit)
    try edit(device, .insertAll(Array(tooMany.dropLast()), at: 0))
    try device.store.sync()
    #expect(refusal { try edit(device, .append(7)) } == .sizeLimit)
  }

  // MARK: updates

  private func update(
    _ device: StoreDevice, _ operations: [ListOperation], to after: [FieldValue]
  ) throws -> Bool {
    let fields = try device.store.fields(table: "t", id: Self.id) ?? []
    guard case .list(let before)? = fields.first(where: { $0.0 == "l" })?.1 else { return false }
    var update = RecordUpdate(fields: [("n", FieldValue.int(2))])
    update.lists = [
      RecordUpdate.List(
        field: "l", operations: operations,
        sizes: (FieldValue.list(before).size, FieldValue.list(after).size), items: after)
    ]
    return try device.store.update(table: "t", id: Self.id, update, ifStill: fields)
  }

  @Test(arguments: [false, true])
  func `an update that takes a list across its bound changes nothing`(isOpen: Bool) throws {
    let device = try device(990, isOpen: isOpen)
    let old = (0..<990).map { FieldValue.int(Int64($0)) }
    let before = (try StoreContent(device.store), device.store.totals)
    let items = (0..<10).map { FieldValue.int(Int64($0)) }
    let appended = items.map { ListOperation.append($0) }
    let refused = refusal { _ = try update(device, appended, to: old + items) }
    #expect(refused == .sizeLimit)
    #expect(try StoreContent(device.store) == before.0)
    #expect(device.store.totals == before.1)
    #expect(try device.store.sync().committed == nil)
    let fewer = Array(items.dropLast())
    let isDone = try update(device, Array(appended.dropLast()), to: old + fewer)
    #expect(isDone)
    #expect(try device.store.get("r") == ["n": 2, "l": .list(old + fewer)])
    try device.store.sync()
    try device.reopen()
    #expect(try device.store.get("r") == ["n": 2, "l": .list(old + fewer)])
  }

  @Test(arguments: [false, true])
  func `an update that makes a list too long changes nothing`(isOpen: Bool) throws {
    let device = try device(4, isOpen: isOpen, listBytes: 1000)
    let before = try StoreContent(device.store)
    let old: [FieldValue] = [0, 1, 2, 3]
    let text = FieldValue.string(String(repeating: "x", count: 600))
    let refused = refusal {
      _ = try update(device, [.append(text), .append(text)], to: old + [text, text])
    }
    #expect(refused == .sizeLimit)
    #expect(try StoreContent(device.store) == before)
    #expect(try device.store.sync().committed == nil)
    let isDone = try update(device, [.append(text)], to: old + [text])
    try device.store.sync()
    // What comes before what goes does not count, only what is left.
    let isMoved = try update(device, [.insert(text, at: 0), .removeLast], to: [text] + old)
    #expect(isDone && isMoved)
    try device.store.sync()
    #expect(try device.store.get("r")?["l"] == .list([text] + old))
  }

  @Test func `an update that shortens a list puts no item in that no list can hold`() throws {
    let device = try device(1, listBytes: 4000)
    let long = FieldValue.string(String(repeating: "x", count: 900))
    try device.store.set("r", ["l": .list([long, long])])
    try device.store.sync()
    // As two lists that were begun apart leave it when they meet: merging refuses nothing.
    device.options.limits.listBytes = 1000
    try device.reopen()
    let before = try StoreContent(device.store)
    func text(_ count: Int) -> FieldValue { .string(String(repeating: "y", count: count)) }
    for count in [1200, 1000] {
      let refused = refusal {
        _ = try update(device, [.replace(at: 0, text(count)), .removeLast], to: [text(count)])
      }
      #expect(refused == .sizeLimit, "\(count)")
      #expect(try StoreContent(device.store) == before)
    }
    #expect(try device.store.sync().committed == nil)
    let isDone = try update(device, [.replace(at: 0, text(999)), .removeLast], to: [text(999)])
    #expect(isDone)
    try device.store.sync()
    #expect(try device.store.get("r") == ["n": 2, "l": .list([text(999)])])
  }

  /// All of it is pending with its record.
  @Test func `an update counts only what it adds to what is pending`() throws {
    let device = try StoreDevice(1) { $0.limits.deltaBytes = 100 + 100 + 100 + 142 }
    try device.store.insert("r", ["n": 1, "l": .list(["a", "b"])])
    #expect(device.store.totals.pending == 442)
    let isDone = try update(device, [.removeLast], to: ["a"])
    #expect(isDone && device.store.totals.pending == 421)
    let refused = refusal { _ = try update(device, [.append("long text")], to: ["a", "long text"]) }
    #expect(refused == .sizeLimit && device.store.totals.pending == 421)
    let isFull = try update(device, [.append("b")], to: ["a", "b"])
    #expect(isFull && device.store.totals.pending == 442)
  }

  /// Of a committed list each edit counts, and the list itself once.
  @Test(arguments: [false, true])
  func `an update counts a list once, and the record, that are pending already`(
    isLinked: Bool
  ) throws {
    let device = try StoreDevice(1, isLinked: isLinked) {
      $0.limits.deltaBytes = 100 + 100 + 100 + 100 + 21 + 20
    }
    try device.store.insert("r", ["n": 1, "l": .list(["a"])])
    try device.store.sync()
    let isBegun = try update(device, [.append("b")], to: ["a", "b"])
    #expect(isBegun && device.store.totals.pending == 421)
    let isDone = try update(device, [.remove(at: 0)], to: ["b"])
    #expect(isDone && device.store.totals.pending == 441)
    let refused = refusal { _ = try update(device, [.append("c")], to: ["b", "c"]) }
    #expect(refused == .sizeLimit && device.store.totals.pending == 441)
  }

  @Test func `an update that begins a list where one was removed counts it once`() throws {
    let device = try StoreDevice(1) { $0.limits.deltaBytes = 100 + 100 + 100 + 100 + 21 }
    try device.store.insert("r", ["n": 1, "l": .list(["a"])])
    try device.store.sync()
    try device.store.set("r", ["n": 3, "l": nil])
    #expect(device.store.totals.pending == 400)
    let fields = try device.store.fields(table: "t", id: Self.id) ?? []
    var change = RecordUpdate(fields: [("n", FieldValue.int(2))])
    change.lists = [
      RecordUpdate.List(
        field: "l", operations: [.insertAll(["b"], at: 0)], sizes: (0, 100 + 21), items: ["b"])
    ]
    let isDone = try device.store.update(table: "t", id: Self.id, change, ifStill: fields)
    #expect(isDone && device.store.totals.pending == 421)
    #expect(try device.store.get("r") == ["n": 2, "l": .list(["b"])])
  }

  // MARK: what is pending

  @Test func `what takes the place of a list leaves the size of its record's change`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["l": .list(["a"])])
    try device.store.sync()
    try edit(device, .append("b"))
    #expect(device.store.totals.pending == 100 + 100 + 100 + 21)
    try device.store.set("r", ["l": .list(["c"])])
    #expect(device.store.totals.pending == 100 + 100 + 100 + 21)
    try device.store.rollBack()
    #expect(device.store.totals.pending == 0)
    // In a record that is pending already.
    try device.store.set("r", ["n": 1])
    try edit(device, .append("b"))
    try edit(device, .append("b"))
    #expect(device.store.totals.pending == 100 + 100 + 100 + 100 + 42)
    try device.store.set("r", ["l": nil])
    #expect(device.store.totals.pending == 100 + 100 + 100 + 100)
  }

  @Test func `a list that is begun where one was removed counts with its items, and once`() throws {
    let device = try device(1)
    try device.store.set("r", ["l": nil])
    #expect(device.store.totals.pending == 100 + 100 + 100)
    try edit(device, .append("b"))
    // A delta, a change, a field, an item of one byte.
    #expect(device.store.totals.pending == 100 + 100 + 100 + 20 + 1)
    #expect(device.store.totals.size == (try StoreContent(device.store)).size)
    try device.store.sync()
    #expect(device.store.totals.pending == 0)
    try device.reopen()
    #expect(try device.store.get("r") == ["n": 1, "l": .list(["b"])])
  }
}
