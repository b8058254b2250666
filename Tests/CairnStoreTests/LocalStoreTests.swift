import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A store of its own: what shows, what lasts, and what is gone after `close`.
struct LocalStoreTests {
  @Test(arguments: [true, false])
  func `changes show at once and last from sync on`(isLinked: Bool) throws {
    let device = try StoreDevice(1, isLinked: isLinked)
    try device.store.insert("r", ["a": 1, "b": "x"])
    #expect(try device.store.get("r") == ["a": 1, "b": "x"])
    #expect(try device.store.sync().committed?.sequence == 1)
    try device.store.set("r", ["a": 2, "b": nil])
    #expect(try device.store.get("r") == ["a": 2])
    try device.reopen()
    #expect(try device.store.get("r") == ["a": 1, "b": "x"], "close discards")
    try device.store.delete("r")
    try device.store.insert("s", ["z": true])
    try device.store.sync()
    try device.reopen()
    #expect(try StoreContent(device.store).tables == ["t": ["s": ["z": true]]])
    #expect(device.store.totals == (1200, 1, 0))
    #expect(device.store.recovery.isEmpty)
  }

  @Test(arguments: [true, false])
  func `rolling back takes everything back`(isLinked: Bool) throws {
    let device = try StoreDevice(1, isLinked: isLinked)
    let store = device.store
    try store.insert("r", ["a": 1, "s": "text"])
    try store.insert("gone", ["a": 2])
    try store.sync()
    for _ in 0..<2 {
      let before = try StoreContent(store)
      let totals = store.totals
      try store.set("r", ["a": 5, "s": nil, "new": [.int(1)].value])
      try store.set("r", ["a": 6])
      try store.delete("gone")
      try store.insert("gone", ["b": 1])
      try store.delete("gone")
      try store.insert("fresh")
      try store.setRule(.max, table: "t", field: "a")
      #expect(store.rule(table: "t", field: "a") == .max, "a rule holds at once")
      try store.rollBack()
      #expect(try StoreContent(store) == before)
      #expect(store.totals == totals)
      #expect(store.rule(table: "t", field: "a") == .remote)
      #expect(try store.sync().committed == nil)
      // The second time over a snapshot.
      _ = try store.compact()
    }
  }

  @Test(arguments: [true, false])
  func `what is rolled back never counts, not even when the record goes`(isLinked: Bool) throws {
    let store = try StoreDevice(1, isLinked: isLinked).store
    let empty = store.totals
    try store.insert("r", ["s": "text"])
    try store.sync()
    let totals = store.totals
    try store.set("r", ["s": "a text that is much longer than the one before it"])
    try store.rollBack()
    #expect(store.totals == totals)
    try store.delete("r")
    #expect(store.totals.size == empty.size)
    #expect(store.totals.records == 0)
    try store.rollBack()
    #expect(store.totals == totals)
  }

  @Test func `a deleted record reads as nothing and takes no writes`() throws {
    let store = try StoreDevice(1).store
    try store.insert("r", ["a": 1])
    try store.delete("r")
    try store.delete("r")
    #expect(try store.get("r") == nil)
    #expect(try store.value(table: "t", id: RecordName("r"), field: "a") == nil)
    #expect(try store.size(table: "t", id: RecordName("r")) == 0)
    #expect(refusal { try store.set("r", ["a": 1]) } == .deleted)
    #expect(refusal { try store.set("never", ["a": 1]) } == .deleted)
    try store.insert("r")
    #expect(refusal { try store.insert("r") } == .exists)
    #expect(try store.get("r") == [:])
  }

  @Test func `a field can be given once only`() throws {
    let store = try StoreDevice(1).store
    #expect(refusal { try store.insert("r", ["a": 1, "b": 1, "a": 2]) } == .illegalArgument)
    #expect(try store.get("r") == nil)
    try store.insert("r", ["b": 1, "a": 1])
    #expect(refusal { try store.set("r", ["a": 2, "a": 3]) } == .illegalArgument)
    #expect(store.totals.size == 1300)
  }

  @Test func `get or insert inserts once`() throws {
    let store = try StoreDevice(1).store
    #expect(try store.getOrInsert(table: "t", id: RecordName("r"), [("a", 1)]))
    #expect(try !store.getOrInsert(table: "t", id: RecordName("r"), [("a", 2)]))
    #expect(try store.get("r") == ["a": 1])
  }

  @Test func `nothing works on a closed store`() throws {
    let store = try StoreDevice(1).store
    try store.close()
    try store.close()
    #expect(!store.isOpen)
    #expect(refusal { try store.insert("r") } == .closed)
    #expect(refusal { _ = try store.get("r") } == .closed)
    #expect(refusal { _ = try store.sync() } == .closed)
    #expect(refusal { _ = try store.compact() } == .closed)
    #expect(refusal { _ = try store.tables() } == .closed)
    #expect(refusal { try store.flush() } == .closed)
    #expect(refusal { try store.rollBack() } == .closed)
    #expect(refusal { try store.setDefaultRule(.sum) } == .closed)
  }

  @Test func `times of deltas grow although the clock jumps back`() throws {
    let device = try StoreDevice(1, time: 5000)
    try device.store.insert("r")
    try device.store.sync()
    #expect(device.store.modified == 5000)
    device.clock.set(-7)
    try device.store.insert("s")
    try device.store.sync()
    #expect(device.store.modified == 5001)
    try device.reopen()
    try device.store.insert("u")
    try device.store.sync()
    #expect(device.store.modified == 5002)
  }

  @Test func `opening refuses the files of others`() throws {
    let device = try StoreDevice(1)
    #expect(refusal { try device.open() } == .alreadyOpen)
    try device.store.close()
    let another = #expect(throws: StoreError.self) {
      try Store.open(
        StoreDevice.directory, datastore: 99, isLinked: true, options: StoreOptions(),
        machine: device.machine)
    }
    #expect(another?.log?.reason == .foreign)
    #expect(another?.message.contains("it belongs to another datastore") == true)
    let local = #expect(throws: StoreError.self) {
      try Store.open(
        StoreDevice.directory, datastore: StoreDevice.datastore, isLinked: false,
        options: StoreOptions(), machine: device.machine)
    }
    #expect(local?.log?.reason == .foreign)
    #expect(local?.message.contains("the datastore belongs to an account") == true)
    #expect(device.disk.heldLocks == 0 && device.disk.openFiles == 0)
    try device.open()
  }

  @Test func `an open costs no more files than it needs, and close gives all back`() throws {
    let device = try StoreDevice(1) { $0.segmentBytes = 300 }
    for number in 0..<20 {
      try device.store.insert("r\(number)")
      try device.store.sync()
    }
    #expect(device.disk.openFiles == 1)
    _ = try device.store.compact()
    for _ in 0..<5 { try device.reopen() }
    try device.store.close()
    #expect(device.disk.openFiles == 0)
  }
}

extension [FieldValue] {
  var value: FieldValue { .list(self) }
}
