import CairnDisk
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// What becomes of cells that refer to the heap when it is tidied, and when that is not done.
struct HeapMoveTests {
  /// As many records before them as make a column that few have one of rare cells.
  private func fill(_ device: StoreDevice) throws {
    for number in 0..<400 { try device.store.insert("many\(number)", ["n": 0]) }
  }

  private func isDense(_ field: String, _ device: StoreDevice) throws -> Bool? {
    try device.store.withState { guarded throws(StoreError) -> Bool? in
      let table = guarded.store.table("t")
      guard let column = guarded.store.tables[table].existingColumn(field) else { return nil }
      return guarded.store.tables[table].columns[column].isDense
    }
  }

  private func text(_ number: Int) -> FieldValue {
    .string("\(number) " + String(repeating: "x", count: 20_000))
  }

  @Test func `cells of a field that few records have keep their bytes`() throws {
    let device = try StoreDevice(1)
    try fill(device)
    let list: FieldValue = .list(["an item", 7])
    try device.store.insert("r", ["rare": "some text", "l": list])
    try device.store.insert("other", ["s": text(-1)])
    try device.store.sync()
    // More than is kept of what nobody refers to.
    for number in 0..<600 { try device.store.set("other", ["s": text(number)]) }
    let heap = try device.store.withState { $0.store.ground.heap.count }
    try #require(heap < 10 << 20, "it was tidied")
    for field in ["rare", "l", "s"] { try #require(try isDense(field, device) == false) }
    #expect(try device.store.get("r") == ["rare": "some text", "l": list])
    #expect(try device.store.get("other") == ["s": text(599)])
    try device.store.rollBack()
    #expect(try device.store.get("r") == ["rare": "some text", "l": list])
    #expect(try device.store.get("other") == ["s": text(-1)])
    try device.store.set("r", ["rare": "another"])
    try device.store.sync()
    let content = try StoreContent(device.store)
    try device.reopen()
    #expect(try StoreContent(device.store) == content)
  }

  /// Whether the index of `n` is told of writes: it has to be made anew when the heap has moved.
  private func isFollowed(_ device: StoreDevice) throws -> Bool {
    try device.store.withState { guarded throws(StoreError) -> Bool in
      let table = guarded.store.table("t")
      return guarded.store.tables[table].columns.contains { $0.touched != nil }
    }
  }

  @Test(arguments: [false, true])
  func `a heap that is in use is left where it is, however long it is`(isRare: Bool) throws {
    let device = try StoreDevice(1) {
      $0.limits = Limits(recordBytes: 8 << 20, datastoreBytes: 1 << 30, deltaBytes: 32 << 20)
    }
    if isRare { try fill(device) }
    try device.store.addIndex(IndexName(table: "t", field: "n"))
    _ = try device.store.withState { guarded throws(StoreError) -> Int? in
      try guarded.store.index(guarded.store.table("t"), "n")?.column
    }
    #expect(try isFollowed(device))
    let bytes = [UInt8](repeating: 7, count: 450_000)
    for number in 0..<20 { try device.store.insert("r\(number)", ["s": .bytes(bytes)]) }
    let heap = try device.store.withState { $0.store.ground.heap.count }
    try #require(heap > Ground.heapKept, "somebody has looked at it")
    try #require(try isDense("s", device) == !isRare)
    #expect(try isFollowed(device))
  }
}
