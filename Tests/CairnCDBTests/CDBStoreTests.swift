import Cairn
import CairnCDB
import CairnDisk
import TestSupport
import Testing

@Suite struct CDBStoreTests {
  @Test func `a missing file is an empty store, which the first save makes`() throws {
    let place = try TemporaryDirectory()
    let path = place.path("s.cdb")
    let store = CDBStore<String, String>(path, keys: .text, values: .text)
    #expect(!store.isOpen)
    #expect(store.path == path)
    let closed = #expect(throws: CairnError.self) { try store["a"] }
    #expect(closed?.code == .closed)
    try store.open()
    try store.open()
    #expect(store.isOpen)
    #expect(try store.exists == false)
    #expect(try store["a"] == nil)
    #expect(try store.count == 0)
    #expect(try store.save() == false)
    #expect(try store.exists == false)
    try store.set("1", for: "a")
    #expect(try store.save() == true)
    #expect(try store.exists)
    #expect(try store.save() == false)
    try store.set("2", for: "b")
    try store.close()
    try store.close()
    #expect(!store.isOpen)
    try store.open()
    #expect(try store.dictionary() == ["a": "1", "b": "2"])
    try store.set("3", for: "a")
    try store.close(discardingChanges: true)
    try store.open()
    #expect(try store["a"] == "1")
  }

  @Test func `a store that is dropped saves itself`() throws {
    let disk = MemoryDisk()
    do {
      let store = try CDBStore.texts(disk)
      try store.set("1", for: "a")
    }
    #expect(try CDBStore.texts(disk)["a"] == "1")
  }

  @Test func `nil removes, and what the file has is no change`() throws {
    let store = try CDBStore.texts(MemoryDisk())
    try store.set("1", for: "a")
    try store.set("2", for: "b")
    #expect(store.changedKeys == ["a", "b"])
    try store.set(nil, for: "b")
    #expect(store.changedKeys == ["a"])
    try store.save()
    #expect(!store.hasChanges)
    #expect(store.changedKeys == [])
    try store.set("1", for: "a")
    try store.remove("not there")
    #expect(!store.hasChanges)
    try store.set("2", for: "a")
    try store.remove("a")
    #expect(store.changedKeys == ["a"])
    #expect(try store["a"] == nil)
    #expect(try store.contains("a") == false)
    try store.set("1", for: "a")
    #expect(!store.hasChanges)
    #expect(try store["a"] == "1")
  }

  @Test func `asking whether a key has a value reads no value`() throws {
    let disk = MemoryDisk()
    var options = CDBOptions()
    options.cacheBytes = 0
    let store = try CDBStore.texts(disk, options: options)
    try store.set(String(repeating: "v", count: 100_000), for: "a")
    try store.save()
    let before = disk.bytesRead
    #expect(try store.contains("a"))
    #expect(try store.contains("b") == false)
    #expect(disk.bytesRead - before < 1000)
    try store.remove("a")
    #expect(try store.contains("a") == false)
  }

  @Test func `a walk has the file's order, then that of the additions`() throws {
    let store = try CDBStore.texts(MemoryDisk())
    for key in ["d", "a", "c", "b"] { try store.set(key + "1", for: key) }
    try store.save()
    try store.set("z1", for: "z")
    try store.set("a2", for: "a")
    try store.set("y1", for: "y")
    try store.set("x1", for: "x")
    try store.remove("c")
    try store.remove("y")
    let walk = try store.entries()
    #expect(try store.allKeys() == ["d", "a", "b", "z", "x"])
    #expect(try store.allValues() == ["d1", "a2", "b1", "z1", "x1"])
    #expect(try store.count == 5)
    try store.save()
    #expect(try store.allKeys() == ["d", "a", "b", "z", "x"])
    try store.remove("d")
    // It shows the store as it was.
    var seen: [String] = []
    while let (key, value) = try walk.next() { seen.append(key + "=" + value) }
    #expect(seen == ["d=d1", "a=a2", "b=b1", "z=z1", "x=x1"])
    #expect(try walk.next() == nil)
  }

  @Test func `an object is one, until the cache is emptied`() throws {
    let disk = MemoryDisk()
    func open() throws -> CDBStore<String, Counter> {
      let store = CDBStore(
        "/s", keys: .text, values: Counter.coding, machine: CDBSample.machine(disk),
        delay: ManualDelay().delay)
      try store.open()
      return store
    }
    let first = try open()
    let one = Counter(1)
    try first.set(one, for: "one")
    #expect(try first["one"] === one)
    try first.set(Counter(2), for: "two")
    try first.save()
    #expect(try first["one"] === one)
    let unsaved = Counter(3)
    try first.set(unsaved, for: "three")
    first.emptyCache()
    #expect(try first["one"] !== one)
    #expect(try first["three"] === unsaved)
    try first.close()

    let second = try open()
    let again = try #require(try second["one"])
    #expect(again.value == 1)
    #expect(try second["one"] === again)
    #expect(try second.entries().next()?.value === again)
  }

  @Test func `an object that was changed in place is saved when that is said`() throws {
    let disk = MemoryDisk()
    let store = CDBStore(
      "/s", keys: .text, values: Counter.coding, machine: CDBSample.machine(disk),
      delay: ManualDelay().delay)
    try store.open()
    let (a, b) = (Counter(1), Counter(2))
    try store.set(a, for: "a")
    try store.set(b, for: "b")
    // It is what it is when it is saved.
    a.value = 10
    try store.save()
    func stored(_ key: String) throws -> String? {
      try CDBFile(disk: disk, path: "/s").value(for: CDBSample.bytes(key))
        .map { String(decoding: $0.dropFirst(), as: UTF8.self) }
    }
    #expect(try stored("a") == "10")
    a.value = 11
    b.value = 12
    #expect(try store.save() == false)
    try store.markChanged("a")
    #expect(store.changedKeys == ["a"])
    try store.save()
    #expect(try stored("a") == "11")
    #expect(try stored("b") == "2")
    try store.markChanged(value: b)
    try store.save()
    #expect(try stored("b") == "12")
    let unknown = #expect(throws: CairnError.self) { try store.markChanged(value: Counter(1)) }
    #expect(unknown?.code == .notFound)
    let missing = #expect(throws: CairnError.self) { try store.markChanged("c") }
    #expect(missing?.code == .notFound)
    // What can't be encoded fails the save, and nothing is lost.
    b.value = -1
    try store.set(Counter(5), for: "c")
    try store.markChanged("b")
    let failed = #expect(throws: CairnError.self) { try store.save() }
    #expect(failed?.code == .illegalArgument)
    #expect(store.changedKeys == ["c", "b"])
    b.value = 0
    try store.save()
    #expect(try stored("b") == "0")
    #expect(try stored("c") == "5")
  }

  @Test func `values that did not change are copied as they are`() throws {
    let disk = MemoryDisk()
    let records: [CDBSample.Record] = [
      // No tag, one that nobody knows, a key twice, and what is no text.
      (CDBSample.bytes("raw"), []), (CDBSample.bytes("odd"), [200, 1]),
      (CDBSample.bytes("twice"), [1, 65]), (CDBSample.bytes("twice"), [1, 66]),
      (CDBSample.bytes("gone"), [1, 67]), (CDBSample.bytes("gone"), [1, 68]), ([0xFF], [1, 69]),
      (CDBSample.bytes("set"), [1, 70]), (CDBSample.bytes("set"), [1, 71]),
    ]
    let writer = try CDBWriter("/s", machine: CDBSample.machine(disk))
    for record in records { try writer.add(record.key, record.value) }
    try writer.finish()
    let store = try CDBStore.texts(disk)
    #expect(try store["twice"] == "A")
    for key in ["raw", "odd"] {
      let error = #expect(throws: CairnError.self) { try store[key] }
      #expect(error?.code == .badType)
    }
    let key = #expect(throws: CairnError.self) { try store.allKeys() }
    #expect(key?.code == .badType)
    try store.remove("gone")
    try store.set("new", for: "set")
    try store.set("added", for: "z")
    try store.save()
    let expected: [CDBSample.Record] =
      Array(records[0..<4]) + [records[6]]
      + [
        (CDBSample.bytes("set"), [1] + CDBSample.bytes("new")),
        (CDBSample.bytes("z"), [1] + CDBSample.bytes("added")),
      ]
    #expect(try CDBSample.content("/s", disk) == CDBSample.file(expected))
    let stored = try store.withStoredValue(for: "odd") { span throws(CairnError) in
      [span[0], span[1]]
    }
    #expect(stored == [200, 1])
  }

  @Test func `codings for texts, bytes, integers and other tools' files`() throws {
    let place = try TemporaryDirectory()
    let numbers = CDBStore<Int, [UInt8]>(place.path("n"), keys: .decimal, values: .bytes)
    try numbers.open()
    try numbers.set([1, 2], for: -7)
    try numbers.set([], for: 8)
    try numbers.close()
    #expect(try CDBFile(place.path("n")).value(for: CDBSample.bytes("-7")) == [0, 1, 2])
    try numbers.open()
    #expect(try numbers.dictionary() == [-7: [1, 2], 8: []])
    let raw = CDBStore<[UInt8], [UInt8]>(place.path("n"), keys: .bytes, values: .raw)
    try raw.open()
    #expect(try raw[CDBSample.bytes("8")] == [0])
    try raw.set([9, 9], for: [0])
    try raw.save()
    try numbers.close()
    try numbers.open()
    let error = #expect(throws: CairnError.self) { try numbers.allKeys() }
    #expect(error?.code == .badType)
  }

  @Test func `texts are keys by their bytes`() throws {
    let store = try CDBStore.texts(MemoryDisk())
    let (one, two) = ("\u{E9}", "e\u{301}")
    try store.set("1", for: one)
    try store.set("2", for: two)
    for _ in 0..<2 {
      #expect(try store[one] == "1")
      #expect(try store[two] == "2")
      #expect(try store.count == 2)
      try store.save()
    }
    try store.remove(one)
    #expect(try store.allValues() == ["2"])
  }

  @Test func `a store keeps its format, or has the one that is asked for`() throws {
    let disk = MemoryDisk()
    for format in CDBFormat.allCases {
      var options = CDBOptions()
      options.format = format
      let path = "/" + format.rawValue
      let store = try CDBStore.texts(disk, path, options: options)
      try store.set("1", for: "a long key")
      try store.close()
      let next = try CDBStore.texts(disk, path)
      try next.set("2", for: "another long key")
      try next.close()
      let expected: [CDBSample.Record] = [("a long key", "1"), ("another long key", "2")].map {
        (CDBSample.bytes($0), [1] + CDBSample.bytes($1))
      }
      #expect(try CDBSample.content(path, disk) == CDBSample.file(expected, format))
    }
  }

  @Test func `a file that somebody else replaced is not written over`() throws {
    let disk = MemoryDisk()
    let (one, two) = (try CDBStore.texts(disk, seed: 1), try CDBStore.texts(disk, seed: 2))
    try one.set("1", for: "a")
    try two.set("2", for: "b")
    try two.set("2", for: "a")
    try one.save()
    let error = #expect(throws: CairnError.self) { try two.save() }
    #expect(error?.code == .disallowed)
    #expect(two.changedKeys == ["b", "a"])
    #expect(try disk.list("/").map(\.name) == ["s"])
    // The old file is still there for whoever has it open.
    #expect(try one["a"] == "1")
    try two.reload()
    #expect(two.changedKeys == ["b", "a"])
    try two.save()
    #expect(try CDBStore.texts(disk).dictionary() == ["a": "2", "b": "2"])
    #expect(try one.dictionary() == ["a": "1"])
    try one.reload()
    #expect(try one.dictionary() == ["a": "2", "b": "2"])
    try disk.remove("/s")
    try one.set("9", for: "c")
    #expect(throws: CairnError.self) { try one.save() }
    try one.reload()
    try one.save()
    #expect(try CDBStore.texts(disk).dictionary() == ["c": "9"])
  }
}
