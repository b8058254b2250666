import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// What cells were before they changed, found record by record.
struct UndoLinksTests {
  /// Where the notes of a record of the table `t` are.
  private func notes(_ store: Store, _ id: String) throws -> [Int] {
    try store.withState { guarded throws(StoreError) -> [Int] in
      let number = guarded.store.table("t")
      guard let slot = guarded.store.tables[number].findSlot(RecordName(id)) else { return [] }
      return guarded.store.tables[number].undoIndexes(of: slot)
    }
  }

  /// A store with the records `r` and `s`.
  private func store() throws -> Store {
    let store = try StoreDevice(1).store
    for id in ["r", "s"] { try store.insert(id, ["a": 1, "b": 1]) }
    try store.sync()
    return store
  }

  @Test func `a record's notes are found among those of others, later ones too`() throws {
    let store = try store()
    try store.set("r", ["a": 2])
    try store.set("s", ["a": 2, "b": 2])
    #expect(try notes(store, "r") == [0])
    #expect(try notes(store, "s") == [1, 2])
    try store.set("r", ["b": 3])
    try store.set("s", ["a": 4])
    try store.insert("t", ["a": 1])
    #expect(try notes(store, "r") == [0, 3])
    #expect(try notes(store, "s") == [1, 2], "a cell is noted once")
    #expect(try notes(store, "t") == [4])
    #expect(try notes(store, "other") == [])
  }

  @Test func `nothing is left of them after a rollback or a commit`() throws {
    let store = try store()
    for isCommitted in [false, true] {
      try store.set("r", ["a": 2])
      try store.set("s", ["a": 2])
      #expect(try notes(store, "s") == [1])
      if isCommitted { try store.sync() } else { try store.rollBack() }
      #expect(try notes(store, "r") == [])
      #expect(try notes(store, "s") == [])
    }
    try store.set("s", ["b": 5])
    #expect(try notes(store, "s") == [0])
  }

  @Test func `they are found in what a compaction carries over`() throws {
    let store = try store()
    try store.set("s", ["a": 2, "b": 2])
    try store.set("r", ["a": 2])
    #expect(try notes(store, "r") == [2])
    _ = try store.compact()
    try store.set("r", ["b": 3])
    let (ofR, ofS) = (try notes(store, "r"), try notes(store, "s"))
    #expect(ofR.count == 2 && ofS.count == 2 && Set(ofR + ofS) == [0, 1, 2, 3])
    try store.rollBack()
    #expect(try store.get("r") == ["a": 1, "b": 1])
    #expect(try store.get("s") == ["a": 1, "b": 1])
  }
}
