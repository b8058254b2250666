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

  @Test func `of two lists the greater one shows again after a rollback`() throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2, time: 1_700_000_000_050))
    try a.store.setRule(.max, table: "t", field: "l")
    try a.store.insert("r", ["l": .list([5])])
    try b.store.insert("r", ["l": .list([3])])
    try a.store.sync()
    try b.store.sync()
    try a.store.sync(packs: [try b.store.pack()])
    #expect(try a.store.get("r") == ["l": .list([5])])
    try a.store.edit(table: "t", id: RecordName("r"), field: "l", .replace(at: 0, 1))
    #expect(try a.store.get("r") == ["l": .list([3])])
    try a.store.rollBack()
    #expect(try a.store.get("r") == ["l": .list([5])])
    #expect(a.store.totals.size == (try StoreContent(a.store)).size)
  }
}
