import CairnMerge
import CairnStore
import TestSupport
import Testing

/// What is merged while a snapshot is being built is not in it, and memory goes over to it all the
/// same.
struct CompactionMeanwhileTests {
  private static let ids = ["plain", "gone", "both", "list"]

  private func append(_ text: String, _ store: Store) throws {
    try store.edit(
      table: "t", id: RecordName("list"), field: "l", .append(FieldValue.string(text)))
  }

  /// A device with some records in memory, over a snapshot of them or without, and another one that
  /// has seen them.
  private func pair(isFolded: Bool) throws -> (a: StoreDevice, b: StoreDevice) {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2, time: 1_700_000_100_000))
    for id in Self.ids { try a.store.insert(id, ["n": 1, "s": "as it was"]) }
    try append("from a", a.store)
    try a.store.sync()
    if isFolded {
      _ = try a.store.compact()
      for id in Self.ids { try a.store.set(id, ["x": 1]) }
      try a.store.sync()
    }
    try b.store.sync(packs: [try a.store.pack()])
    return (a, b)
  }

  /// One delta that sees all that is above, and nothing that comes behind it here.
  private func write(_ store: Store) throws {
    try store.set("plain", ["n": 2, "new": "theirs"])
    try store.delete("gone")
    try store.set("both", ["n": 3])
    try append("from b", store)
    try store.insert("inserted", ["n": 4])
    try store.setRule(.max, table: "t", field: "n")
    try store.sync()
  }

  @Test(arguments: [false, true])
  func `what another device wrote is there at once, and after the next snapshot`(
    isFolded: Bool
  ) throws {
    let (a, b) = try pair(isFolded: isFolded)
    try write(b.store)
    try a.store.set("both", ["n": 2])
    try append("more from a", a.store)
    try a.store.sync()
    let (store, pack, isDone) = (a.store, try b.store.pack(), Flag())
    a.disk.intercept { operation in
      guard operation.verb == "create", operation.path.hasSuffix(".tmp"), isDone.raise() else {
        return nil
      }
      do {
        let count = try store.sync(packs: [pack]).appliedCount
        if count != 1 { Issue.record("\(count) deltas were applied") }
      } catch { Issue.record(error) }
      return nil
    }
    _ = try store.compact()
    a.disk.heal()
    #expect(isDone.isUp)
    // As if nothing had been folded.
    let twin = try StoreDevice(9)
    try twin.store.sync(packs: [try store.pack(), pack])
    let wanted = try StoreContent(twin.store)
    #expect(wanted.tables["t"]?.keys.sorted() == ["both", "inserted", "list", "plain"])
    #expect(wanted.tables["t"]?["both"]?["n"] == 3 && wanted.tables["t"]?["plain"]?["n"] == 2)
    #expect(try StoreContent(store).differences(from: wanted) == [])
    #expect(store.totals == twin.store.totals)
    let id = RecordName("both")
    let conflicts = try store.conflicts(table: "t", id: id).count
    #expect(try conflicts == twin.store.conflicts(table: "t", id: id).count && conflicts == 1)
    _ = try store.compact()
    _ = try twin.store.compact()
    #expect(a.snapshotBytes() == twin.snapshotBytes())
    try a.reopen()
    #expect(try StoreContent(a.store).differences(from: wanted) == [])
    #expect(a.store.recovery.isEmpty)
  }
}
