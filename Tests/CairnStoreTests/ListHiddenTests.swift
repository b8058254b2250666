import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A list with pending edits that another rule has hidden since: what is written to its field then
/// takes its place all the same.
@Suite struct ListHiddenTests {
  enum Ending: CaseIterable {
    case number, list, nothing, delete, begun
  }

  private let b: StoreDevice
  private let edited: StoreDevice
  private let twin: StoreDevice

  init() throws {
    b = try StoreDevice(2, time: 1_700_000_000_050)
    (edited, twin) = (try StoreDevice(1), try StoreDevice(1))
  }

  /// A list that wins by `max`, and a number, or nothing, that does so by `min`.
  private func prepare(hiddenBy other: FieldValue?) throws {
    for a in [edited, twin] {
      try a.store.insert("r", ["l": 0, "n": 1])
      try a.store.sync()
    }
    try b.store.sync(packs: [try twin.store.pack()])
    try b.store.set("r", ["l": other])
    try b.store.sync()
    for a in [edited, twin] {
      try a.store.set("r", ["l": .list([1])])
      try a.store.setRule(.max, table: "t", field: "l")
      try a.store.sync()
      try a.store.sync(packs: [try b.store.pack()])
      #expect(try a.store.get("r")?["l"] == .list([1]))
    }
    try append(10, to: edited)
    for a in [edited, twin] {
      try a.store.setRule(.min, table: "t", field: "l")
      #expect(try a.store.get("r")?["l"] == other)
    }
  }

  private func append(_ value: FieldValue, to device: StoreDevice) throws {
    try device.store.edit(table: "t", id: RecordName("r"), field: "l", .append(value))
  }

  private func end(_ ending: Ending, _ device: StoreDevice) throws {
    switch ending {
    case .number: try device.store.set("r", ["l": 7])
    case .list: try device.store.set("r", ["l": .list([2, 3])])
    case .nothing: try device.store.set("r", ["l": nil, "n": 2])
    case .delete: try device.store.delete("r")
    // Where nothing shows, it begins a list.
    case .begun: try append(3, to: device)
    }
  }

  private func checkOthers() throws {
    let here = try StoreContent(edited.store)
    let there = try StoreDevice(3)
    try there.store.sync(packs: [try edited.store.pack(), try b.store.pack()])
    #expect(try StoreContent(there.store) == here)
    try edited.reopen()
    #expect(try StoreContent(edited.store) == here)
  }

  @Test(arguments: Ending.allCases, [5, nil] as [FieldValue?])
  func `its edits are for nothing, and written nowhere`(
    ending: Ending, other: FieldValue?
  ) throws {
    if ending == .begun, other != nil { return }
    try prepare(hiddenBy: other)
    try end(ending, edited)
    try end(ending, twin)
    #expect(edited.store.totals.pending == twin.store.totals.pending)
    #expect(try StoreContent(edited.store) == StoreContent(twin.store))
    for a in [edited, twin] { try a.store.sync() }
    #expect(try edited.store.pack(after: 2).count == twin.store.pack(after: 2).count)
    #expect(try StoreContent(edited.store) == StoreContent(twin.store))
    try checkOthers()
    if ending != .list { return }
    // Its first item has the name that an item of the other one would have had.
    try append(4, to: edited)
    try edited.store.sync()
    #expect(try edited.store.get("r")?["l"] == .list([2, 3, 4]))
    try checkOthers()
  }

  @Test(arguments: [5, "text", nil] as [FieldValue?])
  func `a compaction in between takes along what is hidden`(other: FieldValue?) throws {
    try prepare(hiddenBy: other)
    for a in [edited, twin] {
      _ = try a.store.compact()
      try end(.list, a)
    }
    #expect(edited.store.totals.pending == twin.store.totals.pending)
    for a in [edited, twin] { try a.store.sync() }
    #expect(try edited.store.pack(after: 2).count == twin.store.pack(after: 2).count)
    try checkOthers()
  }

  @Test func `a field is set beside it, and it keeps its edits`() throws {
    try prepare(hiddenBy: 5)
    try edited.store.set("r", ["n": 3])
    try edited.store.sync()
    try edited.store.setRule(.max, table: "t", field: "l")
    #expect(try edited.store.get("r") == ["l": .list([1, 10]), "n": 3])
    try edited.store.sync()
    try checkOthers()
  }

  @Test func `a rollback gives back what it had`() throws {
    try prepare(hiddenBy: 5)
    try end(.list, edited)
    try edited.store.rollBack()
    #expect(edited.store.totals.pending == 0)
    #expect(try edited.store.get("r")?["l"] == .list([1]))
    try append(11, to: edited)
    try edited.store.sync()
    #expect(try edited.store.get("r")?["l"] == .list([1, 11]))
    try checkOthers()
  }
}
