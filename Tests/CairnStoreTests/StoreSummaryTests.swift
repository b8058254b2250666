import CairnDisk
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// What a list of datastores says of a store: what is committed there.
struct StoreSummaryTests {
  private func title(_ device: StoreDevice, _ text: String) throws {
    try device.store.insert(
      table: StoreSummary.infoTable, id: StoreSummary.infoRecord,
      [(StoreSummary.titleField, .string(text))])
    try device.store.sync()
  }

  @Test func `what is pending does not count, whatever it does`() throws {
    let device = try StoreDevice(1)
    for id in ["r", "s", "t"] { try device.store.insert(id, ["text": "some text", "n": 1]) }
    try device.store.sync()
    let before = try #require(device.store.committed)
    let totals = device.store.totals
    #expect(before.records == 3 && before.size == totals.size && before.records == totals.records)
    let changes: [(Store) throws -> Void] = [
      { try $0.insert("new", ["text": "more"]) }, { try $0.delete("s") },
      { try $0.set("r", ["text": "a text that is longer than it was"]) },
      { try $0.set("t", ["text": nil]) },
    ]
    for change in changes {
      try change(device.store)
      #expect(device.store.committed == before)
      #expect(device.store.totals.size != before.size)
      try device.store.rollBack()
      #expect(device.store.committed == before)
    }
    for change in changes { try change(device.store) }
    #expect(device.store.committed == before)
    try device.store.sync()
    let after = try #require(device.store.committed)
    #expect(after.records == 3 && after.size == device.store.totals.size)
    #expect(after.size != before.size && after.deltas == before.deltas + 1)
  }

  /// Two devices have given a title at once.
  @Test func `another rule may show another title`() throws {
    let (a, b) = (try StoreDevice(1, time: 1000), try StoreDevice(2, time: 2000))
    try title(a, "first")
    try title(b, "second")
    let told = try a.store.sync(packs: [try b.store.pack()])
    #expect(told.summary?.title == "first")
    #expect(a.store.committed?.title == "first")
    try a.store.setRule(.local, table: StoreSummary.infoTable, field: StoreSummary.titleField)
    let changed = try a.store.sync()
    #expect(changed.summary?.title == "second")
    #expect(a.store.committed?.title == "second")
    #expect(try a.store.summary().title == "second")
  }
}
