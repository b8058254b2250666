import Cairn
import CairnCDB
import CairnDisk
import TestSupport
import Testing

/// What the app, or somebody else, does while a save is under way.
@Suite struct CDBMeanwhileTests {
  /// Saves a store, and does something just before the first step of a kind.
  private func save(
    _ store: CDBStore<String, String>, on disk: MemoryDisk, before verb: String,
    _ body: @escaping @Sendable () throws -> Void
  ) throws {
    let isDone = Flag()
    disk.intercept { operation in
      if operation.verb == verb, isDone.raise() {
        do { try body() } catch { Issue.record(error) }
      }
      return nil
    }
    defer { disk.intercept(nil) }
    try store.save()
    #expect(isDone.isUp)
  }

  /// What is on the disk, whatever a store that is open knows.
  private func saved(_ disk: MemoryDisk) throws -> [String: String] {
    try CDBStore.texts(disk, seed: 9).dictionary()
  }

  @Test func `a value that is set back during a save is what the next one writes`() throws {
    let disk = MemoryDisk()
    let store = try CDBStore.texts(disk)
    try store.set("1", for: "a")
    try store.save()
    try store.set("2", for: "a")
    // The file from before has just that; the one that comes does not.
    try save(store, on: disk, before: "rename") { try store.set("1", for: "a") }
    #expect(try store["a"] == "1")
    #expect(store.changedKeys == ["a"])
    #expect(try saved(disk) == ["a": "2"])
    #expect(try store.save() == true)
    #expect(try saved(disk) == ["a": "1"])
  }

  @Test func `a key that is added and removed while it is being saved does not come back`() throws {
    let disk = MemoryDisk()
    let store = try CDBStore.texts(disk)
    try store.set("1", for: "a")
    try save(store, on: disk, before: "rename") { try store.remove("a") }
    #expect(try saved(disk) == ["a": "1"])
    #expect(try store["a"] == nil)
    #expect(try store.contains("a") == false)
    #expect(try store.count == 0)
    #expect(store.changedKeys == ["a"])
    #expect(try store.save() == true)
    #expect(try saved(disk) == [:])
  }

  @Test func `a file that somebody puts there during a save is not written over`() throws {
    let disk = MemoryDisk()
    let (one, two) = (try CDBStore.texts(disk, seed: 1), try CDBStore.texts(disk, seed: 2))
    try one.set("1", for: "a")
    try two.set("2", for: "b")
    let error = #expect(throws: CairnError.self) {
      try save(one, on: disk, before: "sync") { _ = try two.save() }
    }
    #expect(error?.code == .disallowed)
    #expect(error?.file == "/s")
    #expect(one.changedKeys == ["a"])
    #expect(try saved(disk) == ["b": "2"])
    #expect(try disk.list("/").map(\.name) == ["s"])
    try one.reload()
    try one.save()
    #expect(try saved(disk) == ["a": "1", "b": "2"])
  }

  @Test func `over another file that is read anew each key is there once, and counts once`() throws
  {
    let disk = MemoryDisk()
    let first = try CDBStore.texts(disk)
    for key in ["a", "c", "d"] { try first.set("1", for: key) }
    try first.close()
    let (store, other) = (try CDBStore.texts(disk, seed: 2), try CDBStore.texts(disk, seed: 3))
    try store.set("2", for: "b")
    try store.remove("c")
    try store.set("2", for: "d")
    try other.set("3", for: "b")
    try other.remove("c")
    try other.remove("d")
    try other.save()
    try store.reload()
    // One that was new is there now, one was removed by both, and one is new again.
    #expect(store.changedKeys == ["b", "d"])
    #expect(try store.allKeys() == ["a", "b", "d"])
    #expect(try store.allValues() == ["1", "2", "2"])
    #expect(try store.count == 3)
    try store.save()
    #expect(try saved(disk) == ["a": "1", "b": "2", "d": "2"])
  }
}
