import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A device that comes back after the others have stopped to wait for it, with edits of two lists
/// of one field in one delta: each of them counts, whatever has become of the lists.
@Suite struct StoreOnTopTwoListTests {
  private let a: StoreDevice
  private let b: StoreDevice
  private let published: [UInt8]
  /// Whether what `a` does to the list that it has put comes first in a delta of both.
  private let isOwnFirst: Bool

  /// Both devices show the greater list, which is the one that `b` has put.
  init() throws {
    let (a, b) = (try StoreDevice(1, time: 1000), try StoreDevice(2, time: 2000))
    try a.store.setRule(.max, table: "t", field: "l")
    try a.store.insert("r", ["l": .list([1])])
    try a.store.sync()
    try b.store.insert("r", ["l": .list([2, 9, 4])])
    try b.store.sync()
    let published = try a.store.pack()
    try b.store.sync(packs: [published])
    try a.store.sync(packs: [try b.store.pack()])
    for device in [a, b] { #expect(try device.store.get("r") == ["l": .list([2, 9, 4])]) }
    (self.a, self.b, self.published, isOwnFirst) = (a, b, published, a.id < b.id)
  }

  /// Edits what shows, as one delta.
  private func edit(_ operations: ListOperation...) throws {
    a.clock.advance(by: 100)
    for operation in operations {
      try a.store.edit(table: "t", id: RecordName("r"), field: "l", operation)
    }
    try a.store.sync()
  }

  /// Makes `b`'s list the smaller one, and goes on in the other.
  private func editBoth() throws {
    try edit(.replace(at: 1, 8), .removeLast, .insert(0, at: 0), .append(5))
    #expect(try a.store.get("r") == ["l": .list([1, 5])])
  }

  /// Comes back, and all hear of all.
  private func comeBack(
    _ plan: Rejoining, _ others: [StoreDevice], shows items: [FieldValue],
    losers: [FieldValue?] = []
  ) throws {
    let outcome = try #require(try a.store.rejoin(plan) { _ in })
    try plan.staged.close()
    #expect(outcome.conflicts.flatMap(\.conflict.losers).map(\.value) == losers)
    #expect(try a.store.get("r") == ["l": .list(items)])
    try a.expectSame(as: others, and: try StoreDevice(4), after: published)
  }

  @Test(arguments: [false, true])
  func `new items of two lists that are gone go to the one that is there`(
    isTakenBack: Bool
  ) throws {
    try editBoth()
    if isTakenBack {
      try edit(.removeLast)
      #expect(try a.store.get("r") == ["l": .list([1])])
    }
    try b.store.set("r", ["l": .list([7])])
    try b.store.sync()
    let plan = try a.rejoining(published: published, others: try b.store.pack())
    let items: [FieldValue] = isTakenBack ? [0] : isOwnFirst ? [5, 0] : [0, 5]
    try comeBack(plan, [b], shows: [7] + items)
  }

  @Test func `edits of a list that is there are kept beside those of one that is gone`() throws {
    try editBoth()
    // It has seen the one and not the other, and puts what is less than that.
    let c = try StoreDevice(3, time: 3000)
    try c.store.sync(packs: [published])
    try c.store.set("r", ["l": .list([-1])])
    try c.store.sync()
    let plan = try a.rejoining(published: published, others: try b.store.pack())
    try plan.staged.sync(packs: [try c.store.pack()])
    try comeBack(plan, [b, c], shows: [0, 2, 8, 5], losers: [.list([-1])])
  }
}
