import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Folding the log: nothing that shows changes, whatever goes on meanwhile.
struct StoreCompactionTests {
  private func fill(_ store: Store, _ range: Range<Int>) throws {
    for number in range {
      try store.insert(
        "r\(number)", ["n": .int(Int64(number)), "s": .string("text \(number % 7)")])
    }
  }

  @Test(arguments: [true, false])
  func `content and totals stay, and log files go`(isLinked: Bool) throws {
    let device = try StoreDevice(1, isLinked: isLinked) { $0.segmentBytes = 2000 }
    for part in 0..<10 {
      try fill(device.store, (part * 20)..<(part * 20 + 20))
      try device.store.sync()
    }
    try device.store.delete("r5")
    try device.store.set("r6", ["n": nil, "x": [1, "two"].value])
    try device.store.sync()
    let (content, totals) = (try StoreContent(device.store), device.store.totals)
    device.store.confirmPublished(through: 100)
    let outcome = try device.store.compact()
    #expect(outcome.bytesAfter < outcome.bytesBefore && outcome.records == 199)
    #expect(device.disk.paths().filter { $0.hasSuffix(".seg") }.isEmpty)
    for _ in 0..<2 {
      #expect(try StoreContent(device.store) == content)
      #expect(device.store.totals == totals)
      try device.reopen()
    }
    #expect(device.disk.paths().filter { $0.hasSuffix(".snap") }.count == 1)
  }

  /// Whoever made it so large: nothing is folded into a snapshot that nobody could read.
  @Test func `a record that is too large for a snapshot stays in the log`() throws {
    let device = try StoreDevice(1, isLinked: false) {
      $0.limits = Limits(
        recordBytes: 128 << 20, datastoreBytes: 1 << 30, deltaBytes: 32 << 20)
    }
    try device.store.insert("small", ["n": 1])
    try device.store.insert("r")
    for number in 0..<6 {
      let value = FieldValue.bytes([UInt8](repeating: UInt8(number), count: 14 << 20))
      try device.store.update(table: "t", id: RecordName("r"), [("f\(number)", value)])
      try device.store.sync()
    }
    let refused = #expect(throws: StoreError.self) { try device.store.compact() }
    #expect(refused?.log?.reason == .limit)
    for _ in 0..<2 {
      for number in 0..<6 {
        let field = try device.store.value(table: "t", id: RecordName("r"), field: "f\(number)")
        guard case .bytes(let bytes) = field else {
          Issue.record("f\(number) is gone")
          return
        }
        #expect(bytes.count == 14 << 20 && bytes.allSatisfy { $0 == UInt8(number) })
      }
      try device.reopen()
    }
    // Made smaller, it goes in.
    try device.store.set("r", ["f0": nil])
    try device.store.sync()
    _ = try device.store.compact()
    try device.reopen()
    #expect(try device.store.count(table: "t") == 2)
  }

  @Test func `own deltas that are not published are kept`() throws {
    let device = try StoreDevice(1) { $0.segmentBytes = 500 }
    for number in 0..<20 {
      try device.store.insert("r\(number)", ["n": .int(Int64(number))])
      try device.store.sync()
    }
    device.store.confirmPublished(through: 7)
    _ = try device.store.compact()
    try device.reopen()
    _ = try device.store.compact()
    let pack = try PackReader(try device.store.pack(after: 7))
    #expect(pack.header.first == 8 && pack.header.last == 20)
    let peer = try StoreDevice(2)
    #expect(try peer.store.sync(packs: [device.store.pack(after: 7)]).appliedCount == 0)
    device.store.confirmPublished(through: 20)
    _ = try device.store.compact()
    #expect(refusal { _ = try device.store.pack(after: 7) } == .log)
    // The state is whole without the log, and goes on.
    try device.reopen()
    #expect(try device.store.count(table: "t") == 20)
    try device.store.insert("next")
    #expect(try device.store.sync().committed?.sequence == 21)
    #expect(try PackReader(try device.store.pack(after: 20)).header.first == 21)
  }

  @Test func `pending changes stay pending`() throws {
    let device = try StoreDevice(1)
    try fill(device.store, 0..<50)
    try device.store.sync()
    for _ in 0..<2 {
      try device.store.set("r1", ["n": -1, "s": nil, "new": "x"])
      try device.store.delete("r2")
      try device.store.insert("mine", ["a": 1])
      let (content, totals) = (try StoreContent(device.store), device.store.totals)
      _ = try device.store.compact()
      #expect(try StoreContent(device.store) == content)
      #expect(device.store.totals == totals)
      try device.store.rollBack()
      #expect(try device.store.get("r1") == ["n": 1, "s": "text 1"])
      #expect(try device.store.get("r2") != nil && device.store.get("mine") == nil)
    }
    try device.store.set("r1", ["n": -1])
    _ = try device.store.compact()
    #expect(try device.store.sync().committed != nil)
    try device.reopen()
    #expect(try device.store.get("r1")?["n"] == -1)
  }

  @Test func `a record of many fields in conflict reads as before, and changes`() throws {
    let limits = Limits(recordBytes: 1 << 20, datastoreBytes: 10 << 20, deltaBytes: 10 << 20)
    let a = try StoreDevice(1, time: 1000) { $0.limits = limits }
    let b = try StoreDevice(2, time: 2000) { $0.limits = limits }
    let (id, names) = (RecordName("r"), (0..<2000).map { "f\($0)" })
    try a.store.setRule(.max, table: "t", field: "most")
    try a.store.setRule(.sum, table: "t", field: "sum")
    try a.store.insert("r", ["most": 1, "sum": 10, "l": .list(["x"]), "gone": 1])
    // Its fields are no fields of the record.
    try a.store.insert("other", ["else": 1])
    try a.store.sync()
    try b.store.sync(packs: [try a.store.pack()])
    for (device, number) in [(a, 1), (b, 2)] as [(StoreDevice, Int64)] {
      let changes: [(field: String, value: FieldValue?)] = names.map { ($0, .int(number)) }
      try device.store.update(table: "t", id: id, changes)
      try device.store.set(
        "r", ["most": .int(9 - number), "sum": .int(10 + number), "gone": nil])
      try device.store.edit(table: "t", id: id, field: "l", .append(.int(number)))
      try device.store.sync()
    }
    try a.store.sync(packs: [try b.store.pack()])
    var expected = Dictionary(uniqueKeysWithValues: names.map { ($0, FieldValue.int(1)) })
    expected["most"] = 8
    expected["sum"] = 13
    expected["l"] = .list(["x", 1, 2])
    #expect(try a.store.get("r") == expected)
    for _ in 0..<2 {
      _ = try a.store.compact()
      #expect(try a.store.get("r") == expected)
      try a.reopen()
      #expect(try a.store.get("r") == expected)
    }
    let now = try #require(try a.store.fields(table: "t", id: id))
    var update = RecordUpdate(fields: [("f7", "new"), ("f8", nil)])
    update.lists = [
      RecordUpdate.List(
        field: "l", operations: [.append("y")], sizes: (before: 61, after: 82),
        items: ["x", 1, 2, "y"])
    ]
    #expect(try a.store.update(table: "t", id: id, update, ifStill: now))
    expected["f7"] = "new"
    expected["f8"] = nil
    expected["l"] = .list(["x", 1, 2, "y"])
    // Pending, and then committed and folded.
    #expect(try a.store.get("r") == expected)
    try a.store.sync()
    _ = try a.store.compact()
    #expect(try a.store.get("r") == expected)
    let totals = a.store.totals
    #expect(try totals.size == StoreContent(a.store).size)
  }

  @Test func `what is written while a snapshot is being built is not in it and not lost`() throws {
    let device = try StoreDevice(1)
    try fill(device.store, 0..<50)
    try device.store.sync()
    let store = device.store
    // In the middle of the compaction, when its file is made, somebody else writes.
    let isDone = Flag()
    device.disk.intercept { operation in
      guard operation.verb == "create", operation.path.hasSuffix(".tmp"), isDone.raise() else {
        return nil
      }
      do {
        try store.set("r3", ["n": 333])
        try store.delete("r4")
        try store.insert("new", ["a": "b"])
        try store.sync()
        try store.set("r5", ["n": 555])
      } catch { Issue.record(error) }
      return nil
    }
    _ = try store.compact()
    device.disk.heal()
    #expect(try store.get("r5")?["n"] == 555)
    try store.sync()
    let content = try StoreContent(store)
    #expect(content.recordCount == 50)
    try device.reopen()
    #expect(try StoreContent(device.store) == content)
    #expect(try device.store.get("r3")?["n"] == 333)
    _ = try device.store.compact()
    #expect(try StoreContent(device.store) == content)
    #expect(device.store.totals.size == content.size)
  }

  @Test func `a preview changes nothing and is exact`() throws {
    let device = try StoreDevice(1, isLinked: false)
    try fill(device.store, 0..<100)
    try device.store.sync()
    let before = device.disk.operations
    let preview = try device.store.previewCompaction()
    #expect(device.disk.operations == before)
    #expect(try device.store.compact() == preview)
  }

  @Test func `leftovers of crashes go with the next compaction`() throws {
    let device = try StoreDevice(1)
    try fill(device.store, 0..<5)
    try device.store.sync()
    let name = "/0123456789abcdef.tmp"
    for path in [StoreDevice.directory, StoreDevice.directory + "/snap"] {
      try device.disk.setBytes(path + name, [1, 2, 3])
    }
    _ = try device.store.compact()
    #expect(device.disk.paths().filter { $0.hasSuffix(".tmp") }.isEmpty)
  }

  @Test func `compaction runs by itself when the log has grown`() throws {
    let device = try StoreDevice(1, isLinked: false) {
      $0.compactsAutomatically = true
      $0.compactFrom = 4000
      $0.segmentBytes = 1500
      $0.replayBytes = 500
    }
    for number in 0..<300 {
      try device.store.insert("r\(number)", ["n": .int(Int64(number)), "s": "some text"])
      if number % 3 == 0 { try device.store.set("r\(number / 2)", ["n": .int(Int64(-number))]) }
      try device.store.sync()
    }
    let content = try StoreContent(device.store)
    try device.store.close()
    #expect(device.store.compactionFailure == nil)
    let log = device.disk.paths().filter { $0.hasSuffix(".seg") }
    #expect(log.count < 3, "\(log)")
    try device.open()
    #expect(device.store.snapshotFile() != nil)
    #expect(try StoreContent(device.store) == content)
    #expect(device.store.totals == (content.size, 300, 0))
  }

  @Test func `who has filled the store leaves no tail, who has changed little leaves it`() throws {
    let device = try StoreDevice(1, isLinked: false) {
      $0.compactsAutomatically = true
      $0.compactsInline = true
      $0.compactFrom = 20_000
      $0.replayBytes = 100
    }
    let random = SeededRandom(7)
    func insert(_ numbers: Range<Int>) throws {
      for number in numbers {
        try device.store.insert("r\(number)", ["b": .bytes(random.bytes(500))])
        try device.store.sync()
      }
    }
    try insert(0..<200)
    let snapshot = try #require(device.store.snapshotFile()).path
    // 100 kB in all: a sixty-fourth is more than two of these.
    try insert(200..<202)
    #expect(device.store.replayBytes > 100)
    try device.store.close()
    try device.open()
    #expect(device.store.replayBytes == 0)
    let whole = try #require(device.store.snapshotFile()).path
    #expect(whole != snapshot)
    try insert(202..<204)
    let tail = device.store.replayBytes
    #expect(tail > 100)
    try device.store.close()
    try device.open()
    // It has a footer by now.
    #expect(device.store.replayBytes >= tail)
    #expect(device.store.snapshotFile()?.path == whole)
    #expect(device.store.totals.records == 204)
  }

  @Test func `after a compaction no block has to be read that was in memory before`() throws {
    let device = try StoreDevice(1)
    let random = SeededRandom(3)
    for number in 0..<2000 {
      let bytes = (0..<100).map { _ in UInt8(random.below(256)) }
      try device.store.insert("r\(number)", ["b": .bytes(bytes)])
    }
    try device.store.sync()
    _ = try device.store.compact()
    let content = try StoreContent(device.store)
    _ = try device.store.compact()
    let before = device.disk.bytesRead
    #expect(try StoreContent(device.store) == content)
    // 200 kB are in blocks; what is read are pages of the index.
    #expect(device.disk.bytesRead - before < 20_000)
  }
}
