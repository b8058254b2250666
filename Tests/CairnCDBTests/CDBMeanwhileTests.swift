import Cairn
import CairnCDB
import CairnDisk
import Synchronization
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

  // MARK: objects

  /// Does something once, when it is told to.
  private final class Hook: Sendable {
    private let body = Lock<(@Sendable () throws -> Void)?>(nil)

    func set(_ body: @escaping @Sendable () throws -> Void) { self.body.withLock { $0 = body } }

    /// Taken out first: what it does may get here again.
    func run() {
      let body = self.body.withLock { body in
        defer { body = nil }
        return body
      }
      do { try body?() } catch { Issue.record(error) }
    }

    var isDone: Bool { body.withLock { $0 == nil } }
  }

  private func counters(
    _ disk: MemoryDisk, decoding: Hook = Hook(), encodingKey: Hook = Hook()
  ) throws -> CDBStore<Int, Counter> {
    let keys = CDBKeyCoding<Int>(
      encode: { key throws(CairnError) in
        encodingKey.run()
        return Array("\(key)".utf8)
      },
      decode: { bytes throws(CairnError) in
        guard let key = Int(String(decoding: bytes, as: UTF8.self)) else {
          throw CairnError(.badType, "a key that is no number")
        }
        return key
      })
    let values = CDBValueCoding<Counter>(
      encode: { counter throws(CairnError) in
        try CDBTaggedBytes(tag: 40, bytes: Array("\(counter.value)".utf8))
      },
      decode: { value throws(CairnError) in
        decoding.run()
        guard let number = Int(String(decoding: value.bytes, as: UTF8.self)) else {
          throw value.unknown(expected: "a counter")
        }
        return Counter(number)
      })
    let store = CDBStore<Int, Counter>(
      "/s", keys: keys, values: values, machine: CDBSample.machine(disk),
      delay: ManualDelay().delay)
    try store.open()
    return store
  }

  /// A file in which the key 1 has a counter that says 1.
  private func diskWithCounter() throws -> MemoryDisk {
    let disk = MemoryDisk()
    let store = try counters(disk)
    try store.set(Counter(1), for: 1)
    try store.close()
    return disk
  }

  private func savedCounters(_ disk: MemoryDisk) throws -> [Int: Int] {
    try counters(disk).dictionary().mapValues(\.value)
  }

  @Test func `an object that is decoded while a save ends is the one that is marked`() throws {
    let (disk, decoding) = (try diskWithCounter(), Hook())
    let store = try counters(disk, decoding: decoding)
    decoding.set {
      try store.set(Counter(9), for: 2)
      try store.save()
    }
    let object = try #require(try store[1])
    #expect(decoding.isDone)
    #expect(try store[1] === object)
    object.value = 5
    try store.markChanged(1)
    try store.save()
    #expect(try savedCounters(disk) == [1: 5, 2: 9])
  }

  @Test func `a value that is saved anew while it is decoded is read anew`() throws {
    let (disk, decoding) = (try diskWithCounter(), Hook())
    let store = try counters(disk, decoding: decoding)
    decoding.set {
      try store.set(Counter(7), for: 1)
      try store.save()
      store.emptyCache()
    }
    let object = try #require(try store[1])
    #expect(decoding.isDone)
    #expect(object.value == 7)
    #expect(try store[1] === object)
  }

  @Test func `a key that is removed while its value is decoded can not be marked`() throws {
    let (disk, decoding) = (try diskWithCounter(), Hook())
    let store = try counters(disk, decoding: decoding)
    decoding.set {
      try store.remove(1)
      try store.save()
    }
    let error = #expect(throws: CairnError.self) { try store.markChanged(1) }
    #expect(error?.code == .notFound)
    #expect(try store.save() == false)
    #expect(try savedCounters(disk) == [:])
  }

  /// The key is encoded once to read the value, and once more to mark it.
  @Test func `a mark is of what a save has put there meanwhile`() throws {
    let (disk, encoding) = (try diskWithCounter(), Hook())
    let store = try counters(disk, encodingKey: encoding)
    let newer = Counter(8)
    encoding.set {
      encoding.set {
        try store.set(newer, for: 1)
        try store.save()
      }
    }
    try store.markChanged(1)
    #expect(encoding.isDone)
    #expect(try store[1] === newer)
    newer.value = 10
    try store.save()
    #expect(try savedCounters(disk) == [1: 10])
  }

  @Test func `a mark does not bring back what a save has removed meanwhile`() throws {
    let (disk, encoding) = (try diskWithCounter(), Hook())
    let store = try counters(disk, encodingKey: encoding)
    encoding.set {
      encoding.set {
        try store.remove(1)
        try store.save()
      }
    }
    let error = #expect(throws: CairnError.self) { try store.markChanged(1) }
    #expect(encoding.isDone)
    #expect(error?.code == .notFound)
    #expect(try store.save() == false)
    #expect(try savedCounters(disk) == [:])
  }
}
