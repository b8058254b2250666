import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Faults that lists in stores have had.
@Suite struct ListMendTests {
  private func device(isLinked: Bool = true) throws -> StoreDevice {
    let device = try StoreDevice(7, isLinked: isLinked)
    try device.store.insert("r", ["title": "a", "l": .list(["x"]), "n": 1])
    try device.store.sync()
    _ = try device.store.compact()
    try device.reopen()
    return device
  }

  private func append(_ device: StoreDevice, _ value: FieldValue = "y") throws {
    try device.store.edit(
      table: "t", id: RecordName("r"), field: "l", .append(value))
  }

  @Test func `a field that is removed with an edit of a list is gone`() throws {
    let device = try device()
    try device.store.set("r", ["title": nil])
    try append(device)
    try device.store.sync()
    #expect(try device.store.get("r") == ["l": .list(["x", "y"]), "n": 1])
    #expect(device.store.totals.size == (try StoreContent(device.store)).size)
    try device.reopen()
    #expect(try device.store.get("r") == ["l": .list(["x", "y"]), "n": 1])
  }

  @Test func `a field that is set before an edit of a list comes back with a rollback`() throws {
    for value in ["b", nil] as [FieldValue?] {
      let device = try device()
      try device.store.set("r", ["title": value])
      try append(device)
      try device.store.rollBack()
      #expect(try device.store.get("r") == ["title": "a", "l": .list(["x"]), "n": 1])
      #expect(device.store.totals.pending == 0)
      #expect(device.store.totals.size == (try StoreContent(device.store)).size)
    }
  }

  @Test func `a field that is set to what it is writes nothing beside an edit`() throws {
    let (one, two) = (try device(), try device())
    try one.store.set("r", ["title": "a"])
    for device in [one, two] {
      try append(device)
      try device.store.sync()
    }
    #expect(try one.store.pack(after: 1).count == two.store.pack(after: 1).count)
  }

  @Test func `an edit that is refused leaves nothing pending`() throws {
    let device = try device()
    #expect(
      refusal {
        try device.store.edit(
          table: "t", id: RecordName("r"), field: "l", .remove(at: 5))
      } == .badIndex)
    #expect(device.store.totals.pending == 0)
    try append(device)
    // A delta, a change, a field, an item of one byte.
    #expect(device.store.totals.pending == 100 + 100 + 100 + 20 + 1)
  }

  @Test func `positions in a pack are refused, and the store goes on`() throws {
    let alone = try device(isLinked: false)
    try append(alone)
    try alone.store.sync()
    let pack = try alone.store.pack(after: 1)
    let other = try StoreDevice(8)
    try other.store.insert("s", ["a": 1])
    let outcome = try other.store.sync(packs: [pack])
    #expect(outcome.failures[0] != nil && outcome.appliedCount == 0)
    try other.reopen()
    #expect(try other.store.get("s") == ["a": 1])
  }

  /// Two devices with a list each, of which the first one's shows there by the rule.
  private func contest(
    _ rule: Rule, _ mine: [FieldValue], _ theirs: [FieldValue]
  ) throws -> (StoreDevice, StoreDevice) {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2, time: 1_700_000_000_050))
    try a.store.setRule(rule, table: "t", field: "l")
    try a.store.insert("r", ["l": .list(mine)])
    try b.store.insert("r", ["l": .list(theirs)])
    try a.store.sync()
    try b.store.sync()
    try a.store.sync(packs: [try b.store.pack()])
    #expect(try a.store.get("r") == ["l": .list(mine)])
    return (a, b)
  }

  @Test func `of two lists the greater one shows again after a rollback`() throws {
    let (a, _) = try contest(.max, [5], [3])
    try a.store.edit(table: "t", id: RecordName("r"), field: "l", .replace(at: 0, 1))
    #expect(try a.store.get("r") == ["l": .list([3])])
    try a.store.rollBack()
    #expect(try a.store.get("r") == ["l": .list([5])])
    #expect(a.store.totals.size == (try StoreContent(a.store)).size)
  }

  /// The first edit once brought the other list to show, and the second was made in that one.
  @Test(arguments: [Rule.max, .min], [[4], [4, 4, 4]] as [[FieldValue]])
  func `all edits of an update are made in the list that showed before it`(
    rule: Rule, theirs: [FieldValue]
  ) throws {
    let mine: [FieldValue] = rule == .max ? [5, 1] : [3, 9]
    let items: [FieldValue] = rule == .max ? [3, 1, 7] : [5, 9, 7]
    let (a, b) = try contest(rule, mine, theirs)
    var update = RecordUpdate(fields: [])
    update.lists = [
      RecordUpdate.List(
        field: "l", operations: [.replace(at: 0, items[0]), .insert(7, at: 2)],
        sizes: (FieldValue.list(mine).size, FieldValue.list(items).size), items: items)
    ]
    let id = RecordName("r")
    let fields = try #require(try a.store.fields(table: "t", id: id))
    let isDone = try a.store.update(table: "t", id: id, update, ifStill: fields)
    #expect(isDone)
    #expect(try a.store.get("r") == ["l": .list(items)])
    #expect(a.store.totals.size == (try StoreContent(a.store)).size)
    try a.store.sync()
    try b.store.sync(packs: [try a.store.pack()])
    for device in [a, b] {
      #expect(try device.store.get("r") == ["l": .list(items)])
      try device.reopen()
      #expect(try device.store.get("r") == ["l": .list(items)])
    }
  }

  /// What several devices began is one list. It was once replaced, and with it went what others did
  /// to it meanwhile.
  @Test(arguments: [Rule.max, .min])
  func `an update of a list that two devices began keeps what the other one does`(
    rule: Rule
  ) throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2, time: 1_700_000_000_050))
    func meet() throws {
      for device in [a, b] { try device.store.sync() }
      let packs = [try a.store.pack(), try b.store.pack()]
      for device in [a, b] { try device.store.sync(packs: packs) }
    }
    try a.store.setRule(rule, table: "t", field: "l")
    try a.store.insert("r", ["n": 1])
    try a.store.sync()
    try b.store.sync(packs: [try a.store.pack()])
    try append(a, 1)
    try append(b, 2)
    try meet()
    for device in [a, b] { #expect(try device.store.get("r") == ["n": 1, "l": .list([1, 2])]) }
    let (before, items): ([FieldValue], [FieldValue]) = ([1, 2], [1, 2, 3, 4])
    var update = RecordUpdate(fields: [])
    update.lists = [
      RecordUpdate.List(
        field: "l", operations: [.append(3), .insert(4, at: 3)],
        sizes: (FieldValue.list(before).size, FieldValue.list(items).size), items: items)
    ]
    let id = RecordName("r")
    let fields = try #require(try a.store.fields(table: "t", id: id))
    let isDone = try a.store.update(table: "t", id: id, update, ifStill: fields)
    #expect(isDone)
    try append(b, 5)
    try meet()
    for device in [a, b] {
      #expect(try device.store.get("r") == ["n": 1, "l": .list([1, 2, 3, 4, 5])])
      #expect(device.store.totals.size == (try StoreContent(device.store)).size)
    }
  }

  /// Their new items once had the same names: a later edit was made here in one of them, and
  /// wherever it was read in the other.
  @Test(arguments: [Rule.remote, .local], [0, 1, 2])
  func `two lists of one field that one delta edits keep their items apart`(
    first: Rule, later: Int
  ) throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2, time: 1_700_000_000_050))
    let second = first == .remote ? Rule.local : .remote
    func edit(_ operation: ListOperation) throws {
      try a.store.edit(table: "t", id: RecordName("r"), field: "l", operation)
    }
    func show(_ rule: Rule) throws { try a.store.setRule(rule, table: "t", field: "l") }
    func check(_ shown: [FieldValue]) throws {
      #expect(try a.store.get("r") == ["l": .list(shown)])
      let here = try StoreContent(a.store)
      let there = try StoreDevice(3)
      try there.store.sync(packs: [try a.store.pack(), try b.store.pack()])
      #expect(try StoreContent(there.store) == here)
      try a.reopen()
      #expect(try StoreContent(a.store) == here)
      _ = try a.store.compact()
      #expect(try StoreContent(a.store) == here)
    }

    try a.store.insert("r", ["l": .list([1])])
    try b.store.insert("r", ["l": .list([2])])
    try a.store.sync()
    try b.store.sync()
    try a.store.sync(packs: [try b.store.pack()])
    try show(first)
    try a.store.sync()
    let one = try #require(try a.store.get("r")?["l"])
    try edit(.append(10))
    try edit(.append(11))
    try show(second)
    let other = try #require(try a.store.get("r")?["l"])
    #expect(one != other)
    try edit(.append(20))
    try a.store.sync()
    guard case .list(let ones) = one, case .list(let others) = other else {
      Issue.record("there are no two lists: \(one), \(other)")
      return
    }
    try check(others + [20])
    switch later {
    case 0:
      try edit(.remove(at: 1))
      try a.store.sync()
      try check(others)
    case 1:
      try edit(.replace(at: 1, 21))
      try edit(.append(22))
      try a.store.sync()
      try check(others + [21, 22])
    default:
      try edit(.move(from: 1, to: 0))
      try a.store.sync()
      try check([20] + others)
    }
    // The first one has what was done to it, and goes on as well.
    try show(first)
    #expect(try a.store.get("r") == ["l": .list(ones + [10, 11])])
    try edit(.remove(at: 1))
    try a.store.sync()
    try check(ones + [11])
  }
}
