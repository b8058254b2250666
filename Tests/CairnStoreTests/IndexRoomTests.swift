import CairnDisk
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// What indexes keep in memory beside what they need.
struct IndexRoomTests {
  private static let name = IndexName(table: "t", field: "n")

  @Test func `a set of slots that was emptied has none, and takes each once more`() {
    var marks = SlotMarks()
    for slot in [3, 200, 3, 64, 200] { marks.insert(slot) }
    #expect(marks.slots == [3, 200, 64])
    marks.removeAll()
    #expect(marks.slots == [])
    for slot in [200, 5, 200, 64, 5] { marks.insert(slot) }
    #expect(marks.slots == [200, 5, 64])
    marks.removeAll()
    #expect(marks.slots == [])
  }

  /// Brings the index up to date, as a query does; the slots that wait for the next one then.
  private func waiting(_ device: StoreDevice) throws -> [UInt32]? {
    try device.store.withState { guarded throws(StoreError) -> [UInt32]? in
      let number = guarded.store.table("t")
      guard let view = try guarded.store.index(number, "n") else { return nil }
      return guarded.store.tables[number].columns[view.column].touched?.slots
    }
  }

  @Test func `a slot that an index has taken over does not wait for it any more`() throws {
    let device = try StoreDevice(1)
    try device.store.addIndex(Self.name)
    for number in 0..<3 { try device.store.insert("r\(number)", ["n": 0]) }
    #expect(try waiting(device) == [])
    for number in 1..<20 {
      try device.store.set("r\(number % 3)", ["n": .int(Int64(number))])
      #expect(try waiting(device) == [])
      #expect(try device.store.find("n", .int(Int64(number))) == ["r\(number % 3)"])
    }
  }

  /// What there is of indexes, and whether writes are noted for one.
  private struct Kept: Equatable {
    var base: Int
    var overlay: Int
    var isFollowed: Bool
  }

  private func kept(_ device: StoreDevice) throws -> Kept {
    try device.store.withState { guarded throws(StoreError) -> Kept in
      let number = guarded.store.table("t")
      let table = guarded.store.tables[number]
      return Kept(
        base: guarded.store.ground.base?.indexes.count ?? 0, overlay: table.indexes.count,
        isFollowed: table.columns.contains { $0.touched != nil })
    }
  }

  @Test func `nothing is left of an index that was removed`() throws {
    let device = try StoreDevice(1)
    for number in 0..<3 { try device.store.insert("r\(number)", ["n": 1]) }
    try device.store.sync()
    _ = try device.store.compact()
    try device.store.insert("later", ["n": 1])
    try device.store.addIndex(Self.name)
    for _ in 0..<2 {
      #expect(try waiting(device) == [])
      #expect(try kept(device) == Kept(base: 1, overlay: 1, isFollowed: true))
      try device.store.removeIndex(Self.name)
      #expect(try waiting(device) == nil)
      #expect(try kept(device) == Kept(base: 0, overlay: 0, isFollowed: false))
      // One that comes back knows what was written meanwhile.
      try device.store.set("later", ["n": 2])
      try device.store.addIndex(Self.name)
      #expect(try device.store.find("n", 2) == ["later"])
      try device.store.set("later", ["n": 1])
      #expect(try device.store.find("n", 1) == ["later", "r0", "r1", "r2"])
    }
  }
}
