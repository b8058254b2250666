import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Deltas of other devices come in whatever packs their author has made of them.
struct StoreDeliveryTests {
  @Test func `a delta that comes again in another pack is not applied again`() throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2))
    try a.store.insert("r", ["x": 1])
    try a.store.sync()
    try b.store.sync(packs: [a.store.pack()])
    try b.store.set("r", ["x": 2])
    try b.store.sync()
    try a.store.insert("s")
    try a.store.sync()
    // Both of its deltas; the first is here, and its value was replaced since.
    let outcome = try b.store.sync(packs: [a.store.pack()])
    #expect(outcome.appliedCount == 1 && outcome.conflicts.isEmpty)
    #expect(try b.store.get("r") == ["x": 2])
    #expect(try b.store.get("s") != nil)
    try b.reopen()
    #expect(try b.store.get("r") == ["x": 2])
  }
}
