import Cairn
import CairnCDB
import CairnDisk
import Synchronization
import TestSupport
import Testing

/// What a store makes of changes after a save that failed, of a file that is not its own, and of
/// what is changed or read while it goes over to another file.
@Suite struct CDBFailedSaveTests {
  private func saved(_ disk: MemoryDisk) throws -> [String: String] {
    try CDBStore.texts(disk, seed: 9).dictionary()
  }

  /// A save that fails before the new file has its name; something is done just before that.
  private func fail(
    _ store: CDBStore<String, String>, on disk: MemoryDisk,
    at isStep: @escaping @Sendable (MemoryDiskOperation) -> Bool = { $0.verb == "rename" },
    _ body: @escaping @Sendable () throws -> Void
  ) {
    let isDone = Flag()
    disk.intercept { operation in
      guard isStep(operation) else { return nil }
      if isDone.raise() { do { try body() } catch { Issue.record(error) } }
      return .noSpace
    }
    defer { disk.intercept(nil) }
    let error = #expect(throws: CairnError.self) { try store.save() }
    #expect(error?.code == .diskSpace)
    #expect(isDone.isUp)
  }

  @Test func `after a save that failed, what comes to nothing is no change again`() throws {
    let disk = MemoryDisk()
    let store = try CDBStore.texts(disk)
    try store.set("1", for: "a")
    try store.save()
    try store.set("2", for: "a")
    try store.set("1", for: "new")
    fail(store, on: disk) { try store.remove("new") }
    // It was kept for the save only, which might have written the key.
    #expect(store.changedKeys == ["a"])
    #expect(try store.count == 1)
    // The file has just that, and is the one that stays.
    try store.set("1", for: "a")
    #expect(!store.hasChanges)
    try store.set("3", for: "b")
    try store.remove("b")
    #expect(!store.hasChanges)
    #expect(try store.save() == false)
    #expect(try saved(disk) == ["a": "1"])
  }

  /// The same when the file has its name, which can't be made durable.
  private func failUnsynced(
    _ store: CDBStore<String, String>, on disk: MemoryDisk,
    _ body: @escaping @Sendable () throws -> Void = {}
  ) {
    fail(store, on: disk, at: { $0.verb == "sync" && $0.path == "/" }, body)
  }

  @Test func `what is undone is a change as long as the file may have it`() throws {
    let disk = MemoryDisk()
    let store = try CDBStore.texts(disk)
    for key in ["a", "b"] { try store.set("1", for: key) }
    try store.save()
    try store.set("2", for: "a")
    try store.remove("b")
    for key in ["new", "other"] { try store.set("1", for: key) }
    failUnsynced(store, on: disk) { try store.remove("other") }
    #expect(try saved(disk) == ["a": "2", "new": "1", "other": "1"])
    #expect(try store.dictionary() == ["a": "2", "new": "1"])
    for key in ["a", "b"] { try store.set("1", for: key) }
    try store.remove("new")
    // One that fails earlier tells nothing of the file that is there.
    fail(store, on: disk) {}
    #expect(Set(store.changedKeys) == ["a", "b", "new", "other"])
    #expect(try store.dictionary() == ["a": "1", "b": "1"])
    #expect(try store.count == 2)
    #expect(try store.save() == true)
    #expect(try saved(disk) == ["a": "1", "b": "1"])
    #expect(!store.hasChanges)
    try store.set("2", for: "a")
    try store.set("1", for: "a")
    try store.set("1", for: "new")
    try store.remove("new")
    #expect(!store.hasChanges)
  }

  @Test func `a file that was named and is read anew is the one that changes are none of`() throws {
    let disk = MemoryDisk()
    let store = try CDBStore.texts(disk)
    try store.set("1", for: "a")
    try store.save()
    try store.set("2", for: "a")
    failUnsynced(store, on: disk)
    try store.set("1", for: "a")
    #expect(store.changedKeys == ["a"])
    try store.reload()
    #expect(try store["a"] == "1")
    try store.set("2", for: "a")
    #expect(!store.hasChanges)
    try store.set("1", for: "a")
    try store.close()
    #expect(try saved(disk) == ["a": "1"])
  }

  @Test func `what is changed while a store is closed is saved before it is`() throws {
    let disk = MemoryDisk()
    let store = try CDBStore.texts(disk)
    try store.set("1", for: "a")
    let isDone = Flag()
    disk.intercept { operation in
      if operation.verb == "rename", isDone.raise() {
        do { try store.set("2", for: "b") } catch { Issue.record(error) }
      }
      return nil
    }
    try store.close()
    disk.intercept(nil)
    #expect(isDone.isUp && !store.isOpen)
    #expect(try saved(disk) == ["a": "1", "b": "2"])
  }

  @Test func `opening what is open takes no other file for its own`() throws {
    let disk = MemoryDisk()
    let (one, two) = (try CDBStore.texts(disk, seed: 1), try CDBStore.texts(disk, seed: 2))
    try one.set("1", for: "a")
    try two.set("2", for: "b")
    try two.save()
    try one.open()
    #expect(one.changedKeys == ["a"])
    let error = #expect(throws: CairnError.self) { try one.save() }
    #expect(error?.code == .disallowed)
    #expect(try saved(disk) == ["b": "2"])
  }

  @Test func `a value that was read from the file before is not there for that of the next`() throws
  {
    let disk = MemoryDisk()
    let first = try CDBStore.texts(disk)
    try first.set("old", for: "a")
    try first.close()
    let other = try CDBStore.texts(disk, seed: 2)
    try other.set("new", for: "a")
    let reading = Lock<CDBStore<String, String>?>(nil)
    let isDone = Flag()
    let coding = CDBValueCoding<String>(
      encode: { .text($0) },
      decode: { value throws(CairnError) in
        // Somebody replaces the file, and it is read anew, while the app's code decodes.
        if let store = reading.withLock({ $0 }), isDone.raise() {
          try other.save()
          try store.reload()
        }
        return try value.text()
      })
    let store = CDBStore<String, String>(
      "/s", keys: .text, values: coding, machine: CDBSample.machine(disk, seed: 3),
      delay: ManualDelay().delay)
    try store.open()
    reading.withLock { $0 = store }
    #expect(try store["a"] == "new")
    #expect(isDone.isUp)
    #expect(try store["a"] == "new")
    #expect(try store.dictionary() == ["a": "new"])
    reading.withLock { $0 = nil }
  }
}
