import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// What is written while a snapshot is joined, and comes out otherwise on top of what that brings.
struct JoinMeanwhileTests {
  private func device(_ seed: UInt64, time: Int64) throws -> StoreDevice {
    try StoreDevice(seed, time: time) { $0.trashMilliseconds = 1 << 40 }
  }

  private func snapshot(of device: StoreDevice) throws -> [UInt8] {
    _ = try device.store.compact()
    return try #require(device.snapshotBytes())
  }

  /// `meanwhile` runs when the joined state is written and not installed yet; whoever watches is
  /// told before that goes on.
  private func join(
    _ bytes: [UInt8], into device: StoreDevice, allowing limit: Int = .max,
    meanwhile: (Store) throws -> Void = { _ in }
  ) throws -> (outcome: SyncOutcome?, asked: [Int]) {
    let store = device.store
    let path = store.temporarySnapshotPath()
    try device.disk.setBytes(path, bytes)
    store.watch(true, records: true)
    var asked: [Int] = []
    var failure: (any Error)?
    let outcome = try store.join(snapshot: path) { deletes in
      asked.append(deletes)
      if asked.count == 1 {
        do { try meanwhile(store) } catch { failure = error }
        _ = store.takeChanges(remote: true)
      }
      return deletes <= limit
    }
    #expect(failure == nil)
    return (outcome, asked)
  }

  private func change(_ id: String, isDeleted: Bool) -> SyncOutcome.Changed {
    SyncOutcome.Changed(table: "t", id: RecordName(id), isDeleted: isDeleted)
  }

  /// Two devices that have never met. The second one has inserted and deleted "x".
  private func strangers() throws -> (a: StoreDevice, b: StoreDevice, bytes: [UInt8]) {
    let (a, b) = (try device(1, time: 1000), try device(2, time: 2000))
    try a.store.insert("own", ["n": 7])
    try a.store.sync()
    try b.store.insert("x", ["n": 5])
    try b.store.sync()
    try b.store.delete("x")
    try b.store.sync()
    return (a, b, try snapshot(of: b))
  }

  private func checkTrash(_ store: Store, deletedBy device: DeviceID) throws {
    let (records, notKept, problems) = try store.deletedRecords()
    #expect(notKept == 0 && problems.isEmpty)
    #expect(records.map(\.id) == [RecordName("x")])
    #expect(records.map(\.dot) == [Dot(device: device, sequence: 2)])
    #expect(records.first?.fields == [KeptRecord.Field(name: "n", value: 1)])
  }

  @Test(arguments: [false, true])
  func `a conflict with what was written during a join is told, and none of what is gone`(
    isDeleted: Bool
  ) throws {
    let (a, b) = (try device(1, time: 1000), try device(2, time: 2000))
    try a.store.insert("r", ["n": 1])
    try a.store.sync()
    try b.store.sync(packs: [try a.store.pack()])
    if isDeleted {
      try a.store.set("r", ["n": 4])
      try a.store.sync()
    }
    try b.store.set("r", ["n": 2])
    try b.store.sync()
    let (outcome, _) = try join(try snapshot(of: b), into: a) { store in
      if isDeleted { try store.delete("r") } else { try store.set("r", ["n": 3]) }
      try store.sync()
    }
    let told = try #require(outcome).conflicts
    #expect(told.map(\.id) == (isDeleted ? [] : [RecordName("r")]))
  }

  @Test(arguments: [false, true])
  func `a record that a snapshot deletes right away is told, kept, and asked about`(
    isCommitted: Bool
  ) throws {
    let (a, b, bytes) = try strangers()
    let (outcome, asked) = try join(bytes, into: a) { store in
      try store.insert("x", ["n": 1])
      if isCommitted { try store.sync() }
    }
    #expect(asked == [0, 1])
    #expect(outcome?.changed == [change("x", isDeleted: true)])
    #expect(outcome?.appliedCount == 2)
    #expect(outcome?.committed?.sequence == (isCommitted ? nil : 2))
    let told = a.store.takeChanges(remote: true)
    #expect(told.remote.records == ["t": [RecordName("x")]])
    #expect(told.local.isEmpty)
    // As if all had come as deltas.
    let twin = try StoreDevice(9)
    try twin.store.sync(packs: [try a.store.pack(), try b.store.pack()])
    let content = try StoreContent(twin.store)
    for _ in 0..<2 {
      #expect(try a.store.get("x") == nil)
      #expect(try a.store.get("own") == ["n": 7])
      #expect(a.store.totals.records == 1)
      #expect(try StoreContent(a.store) == content)
      try checkTrash(a.store, deletedBy: b.id)
      try a.crash(.nothingUnsynced)
    }
  }

  @Test(arguments: [false, true])
  func `a record of the time of a join is not deleted without consent`(isCommitted: Bool) throws {
    let (a, b, bytes) = try strangers()
    let (refused, asked) = try join(bytes, into: a, allowing: 0) { store in
      try store.insert("x", ["n": 1])
      if isCommitted { try store.sync() }
    }
    #expect(refused == nil)
    #expect(asked == [0, 1])
    #expect(try a.store.get("x") == ["n": 1])
    #expect(try a.store.remembered().isEmpty)
    #expect(a.store.takeChanges(remote: true).isEmpty)
    #expect(a.disk.paths().filter { $0.contains("/snap/") }.count == 1, "what waits for consent")
    try a.crash(.nothingUnsynced)
    #expect(try a.store.get("x") == ["n": 1], "it is committed in any case")
    #expect(a.store.vector == VersionVector([Dot(device: a.id, sequence: 2)]))
    let (outcome, later) = try join(bytes, into: a)
    #expect(later == [1])
    #expect(outcome?.changed == [change("x", isDeleted: true)])
    #expect(try a.store.get("x") == nil)
    try checkTrash(a.store, deletedBy: b.id)
  }

  @Test func `what is inserted again during a join is not said to be deleted`() throws {
    let (a, b) = (try device(1, time: 1000), try device(2, time: 2000))
    try a.store.insert("r", ["n": 1])
    try a.store.sync()
    try b.store.sync(packs: [try a.store.pack()])
    try b.store.delete("r")
    try b.store.sync()
    let (outcome, asked) = try join(try snapshot(of: b), into: a) { store in
      try store.delete("r")
      try store.insert("r", ["n": 5])
      try store.sync()
    }
    #expect(asked == [1])
    #expect(outcome?.changed == [change("r", isDeleted: false)])
    #expect(a.store.takeChanges(remote: true).remote.records == ["t": [RecordName("r")]])
    #expect(try a.store.get("r") == ["n": 5])
    #expect(try a.store.remembered().isEmpty)
  }

  @Test func `a conflict that a rule of the snapshot decides otherwise is told`() throws {
    let (a, b) = (try device(1, time: 1000), try device(2, time: 2000))
    let c = try device(3, time: 3000)
    try a.store.insert("r", ["n": 1])
    try a.store.sync()
    try c.store.sync(packs: [try a.store.pack()])
    try c.store.set("r", ["n": 3])
    try c.store.sync()
    try b.store.setRule(.max, table: "t", field: "n")
    try b.store.sync()
    let pack = try c.store.pack()
    var before: [String: FieldValue]?
    let (outcome, asked) = try join(try snapshot(of: b), into: a) { store in
      try store.set("r", ["n": 2])
      try store.sync(packs: [pack])
      before = try store.get("r")
    }
    #expect(before == ["n": 2])
    #expect(try a.store.get("r") == ["n": 3])
    #expect(asked == [0])
    #expect(outcome?.changed.filter { $0.table == "t" } == [change("r", isDeleted: false)])
    #expect(outcome?.conflicts.map(\.id) == [RecordName("r")])
    #expect(outcome?.conflicts.map(\.conflict.visible) == [3])
    let told = a.store.takeChanges(remote: true)
    #expect(told.remote.records["t"] == [RecordName("r")])
  }
}
