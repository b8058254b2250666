import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A state that comes as a whole deletes records, too: they are in the trash like those that a
/// delta deletes.
struct SnapshotTrashTests {
  private func device(_ seed: UInt64, time: Int64) throws -> StoreDevice {
    try StoreDevice(seed, time: time) { $0.trashMilliseconds = 1 << 40 }
  }

  /// Two devices that have three records, of which the second one deletes two.
  private func pair() throws -> (a: StoreDevice, b: StoreDevice, published: [UInt8]) {
    let (a, b) = (try device(1, time: 1000), try device(2, time: 2000))
    for id in ["p", "r", "s"] { try a.store.insert(id, ["n": 7, "text": .string("of \(id)")]) }
    try a.store.sync()
    let published = try a.store.pack()
    try b.store.sync(packs: [published])
    for id in ["r", "s"] { try b.store.delete(id) }
    try b.store.sync()
    return (a, b, published)
  }

  private func check(_ store: Store, deletedBy device: DeviceID) throws {
    let (records, notKept, problems) = try store.deletedRecords()
    #expect(records.map(\.id.text).sorted() == ["r", "s"] && notKept == 0 && problems.isEmpty)
    for record in records {
      #expect(record.table == "t" && record.dot == Dot(device: device, sequence: 1))
      let fields = record.fields.sorted { $0.name < $1.name }
      #expect(fields.map(\.name) == ["n", "text"])
      #expect(fields.map(\.value) == [.int(7), .string("of \(record.id.text)")])
    }
    let first = try #require(records.first)
    try store.restore(first)
    #expect(try store.get(first.id.text) == ["n": 7, "text": .string("of \(first.id.text)")])
    #expect(try store.deletedRecords().records.count == 1)
  }

  @Test func `what a joined snapshot deletes can be had back`() throws {
    let (a, b, _) = try pair()
    _ = try b.store.compact()
    let bytes = try #require(b.snapshotBytes())
    let path = a.store.temporarySnapshotPath()
    try a.disk.setBytes(path, bytes)
    #expect(try a.store.join(snapshot: path) { _ in false } == nil)
    #expect(try a.store.remembered().isEmpty, "what is refused deletes nothing")
    #expect(try a.store.join(snapshot: path) { $0 == 2 } != nil)
    #expect(try a.store.get("p") != nil && a.store.get("r") == nil)
    try a.crash(.nothingUnsynced)
    try check(a.store, deletedBy: b.id)
  }

  @Test func `what is not in the folder's state can be had back by who takes another name`()
    throws
  {
    let (a, b, published) = try pair()
    let options = a.options
    let staged = try Store.open(
      StoreDevice.directory + "/rejoin", datastore: StoreDevice.datastore, isLinked: true,
      options: options, machine: a.machine)
    try staged.sync(packs: [published, try b.store.pack()])
    var common = CommonBranch(a.id)
    try common.add(pack: published, through: 1)
    try a.store.insert("own", ["n": 1])
    try a.store.sync()
    var plan = Rejoining(staged: staged, device: staged.device, common: common)
    plan.isOnTop = true
    let outcome = try #require(try a.store.rejoin(plan) { _ in })
    try staged.close()
    #expect(outcome.newDevice == a.id)
    #expect(try a.store.get("own") == ["n": 1] && a.store.get("s") == nil)
    try a.crash(.nothingUnsynced)
    try check(a.store, deletedBy: b.id)
  }

  private func refuseCurrent(_ device: StoreDevice) {
    let current = StoreDevice.directory + "/" + FileName.current
    device.disk.intercept { $0.target == current ? .io(errno: 5) : nil }
  }

  private func isTrashEmpty(_ device: StoreDevice) -> Bool {
    !device.disk.paths().contains { $0.contains("/trash/") }
  }

  @Test func `a join that fails leaves nothing in the trash, however often it is tried`() throws {
    let (a, b, _) = try pair()
    _ = try b.store.compact()
    let bytes = try #require(b.snapshotBytes())
    func join() throws {
      let path = a.store.temporarySnapshotPath()
      try a.disk.setBytes(path, bytes)
      _ = try a.store.join(snapshot: path)
    }
    refuseCurrent(a)
    for _ in 0..<3 {
      #expect(throws: StoreError.self) { try join() }
      #expect(isTrashEmpty(a) && a.store.totals.records == 3)
    }
    a.disk.heal()
    try join()
    try a.crash(.nothingUnsynced)
    try check(a.store, deletedBy: b.id)
  }

  @Test func `who can't become what is in the folder leaves nothing in the trash`() throws {
    let (a, b, published) = try pair()
    let plan = try a.rejoining(published: published, others: try b.store.pack())
    refuseCurrent(a)
    #expect(throws: StoreError.self) { try a.store.rejoin(plan) { _ in } }
    #expect(isTrashEmpty(a) && a.store.totals.records == 3)
    a.disk.heal()
    try plan.staged.close()
    try a.reopen()
    #expect(a.store.totals.records == 3)
  }

  /// Without room for it, say: then the records stay, and nothing else is done.
  @Test(arguments: [false, true])
  func `what can't be put into the trash is not deleted`(isJoined: Bool) throws {
    let (a, b, _) = try pair()
    let pack = try b.store.pack()
    _ = try b.store.compact()
    let bytes = try #require(b.snapshotBytes())
    func delete() throws {
      if !isJoined {
        try a.store.sync(packs: [pack])
        return
      }
      let path = a.store.temporarySnapshotPath()
      try a.disk.setBytes(path, bytes)
      _ = try a.store.join(snapshot: path)
    }
    let (content, vector) = (try StoreContent(a.store), a.store.vector)
    a.disk.intercept { $0.path.contains("/trash/") ? .noSpace : nil }
    let error = #expect(throws: StoreError.self) { try delete() }
    a.disk.intercept(nil)
    guard case .disk(let disk) = error?.log?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(disk.reason == .noSpace)
    #expect(!a.disk.paths().contains { $0.contains("/snap/") || $0.contains("/trash/") })
    for _ in 0..<2 {
      #expect(try StoreContent(a.store).differences(from: content) == [])
      #expect(a.store.vector == vector)
      try a.crash(.nothingUnsynced)
    }
    try delete()
    try check(a.store, deletedBy: b.id)
  }
}
