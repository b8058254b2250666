import CairnDisk
import CairnLog
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

/// Compactions whose index is too much for memory: nothing shows of the file that helps out.
struct StoreSpillTests {
  /// A device with 40 records, of which 30 are in its snapshot.
  private func device(
    _ indexRecords: Int, _ seed: UInt64 = 1, isLinked: Bool = true
  ) throws -> StoreDevice {
    let device = try StoreDevice(seed, isLinked: isLinked) { $0.indexRecords = indexRecords }
    func insert(_ range: Range<Int>) throws {
      for number in range {
        try device.store.insert(
          "r\(seed)-\(number)", ["n": .int(Int64(number)), "s": .string("text \(number % 7)")])
      }
      try device.store.sync()
    }
    try insert(0..<30)
    _ = try device.store.compact()
    try insert(30..<40)
    return device
  }

  private func temporaries(_ disk: MemoryDisk) -> [String] {
    disk.paths().filter { $0.hasSuffix(".tmp") }
  }

  /// Counts the files that are made beside snapshots.
  private func countCreated(_ disk: MemoryDisk) -> Told {
    let told = Told()
    disk.intercept { operation in
      if operation.verb == "create", operation.path.contains("/snap/") { told.add(1) }
      return nil
    }
    return told
  }

  @Test(arguments: [0, 1, 3, 16, 39, 40, 41])
  func `a compaction leaves the same file, however much is made in memory`(
    indexRecords: Int
  ) throws {
    let plain = try device(1_000_000)
    _ = try plain.store.compact()
    let device = try device(indexRecords)
    let created = countCreated(device.disk)
    #expect(try device.store.compact().records == 40)
    #expect(created.count == (indexRecords < 40 ? 2 : 1))
    #expect(device.snapshotBytes() == plain.snapshotBytes())
    #expect(temporaries(device.disk).isEmpty)
    let content = try StoreContent(plain.store)
    #expect(try StoreContent(device.store) == content)
    try device.reopen()
    #expect(try StoreContent(device.store) == content)
  }

  @Test func `a preview makes no file`() throws {
    let device = try device(3, isLinked: false)
    let before = device.disk.operations
    let preview = try device.store.previewCompaction()
    #expect(device.disk.operations == before)
    #expect(try device.store.compact() == preview)
  }

  @Test func `joins of snapshots and repairs do the same`() throws {
    var joined: [[UInt8]] = []
    for indexRecords in [1_000_000, 3] {
      let (a, b) = (try device(indexRecords), try device(indexRecords, 2))
      _ = try b.store.compact()
      let temporary = a.store.incomingSnapshotPath()
      try a.disk.setBytes(temporary, try #require(b.snapshotBytes()))
      let created = countCreated(a.disk)
      #expect(try a.store.join(snapshot: temporary) != nil)
      #expect(created.count == (indexRecords < 80 ? 2 : 1))
      joined.append(try #require(a.snapshotBytes()))
      #expect(try a.store.count(table: "t") == 80 && temporaries(a.disk).isEmpty)

      try a.store.close()
      try a.disk.createDirectory("/scratch")
      let salvage = try StoreSalvage(
        StoreDevice.directory, datastore: StoreDevice.datastore, isLinked: true,
        scratch: "/scratch", machine: a.machine, indexRecords: indexRecords)
      #expect(salvage.losses.isEmpty && salvage.rows == 80)
      #expect(try salvage.store.query(table: "t", []).count == 80)
      // The rebuilt snapshot, which is read from.
      #expect(temporaries(a.disk).count == 1)
      try salvage.store.close()
    }
    #expect(joined[0] == joined[1])
  }

  // MARK: errors

  /// Compacts while something fails; the store goes on, and the next compaction leaves nothing.
  private func check(
    _ device: StoreDevice, _ content: StoreContent, _ what: String, fail: (MemoryDisk) -> Void
  ) throws {
    fail(device.disk)
    let refused = refusal { _ = try device.store.compact() }
    let strikes = device.disk.strikes
    device.disk.heal()
    #expect(!strikes.isEmpty, "\(what) came to nothing")
    if !strikes.contains(where: { $0.verb == "remove" }) {
      #expect(temporaries(device.disk).isEmpty, "\(what)")
    }
    #expect(try StoreContent(device.store) == content, "\(what)")
    // As with any failed sync of the log only opening anew helps.
    if refused == .syncFailed || refusal({ try device.store.flush() }) != nil {
      try? device.store.close()
      try device.open()
    }
    try device.store.insert("after", ["n": 1])
    try device.store.sync()
    _ = try device.store.compact()
    #expect(temporaries(device.disk).isEmpty, "\(what)")
    #expect(try device.store.count(table: "t") == 41, "\(what)")
    try device.reopen()
    #expect(try device.store.count(table: "t") == 41, "\(what)")
    try device.store.close()
    #expect(device.disk.openFiles == 0, "\(what)")
  }

  @Test(arguments: [DiskError.Reason.noSpace, .io(errno: 5)], [false, true])
  func `a step that fails`(reason: DiskError.Reason, forever: Bool) throws {
    let good = try device(3)
    let content = try StoreContent(good.store)
    let before = good.disk.operations
    _ = try good.store.compact()
    let steps = good.disk.operations - before
    #expect(steps > 20)
    for step in 1...steps {
      try check(try device(3), content, "step \(step)") {
        $0.failAt(operation: $0.operations + step, reason: reason, forever: forever)
      }
    }
  }

  @Test func `a read that fails`() throws {
    let good = try device(3)
    let content = try StoreContent(good.store)
    let before = good.disk.reads
    _ = try good.store.compact()
    let reads = good.disk.reads - before
    #expect(reads > 20)
    for read in 1...reads {
      try check(try device(3), content, "read \(read)") {
        $0.failAt(read: $0.reads + read, reason: .io(errno: 5))
      }
    }
  }

  @Test func `a disk that is full when there are many hashes`() throws {
    let device = try device(3)
    let content = try StoreContent(device.store)
    let disk = device.disk
    disk.intercept { operation in
      // The second file: the first one has nothing yet.
      if operation.verb == "create", operation.path.contains("/snap/") {
        disk.capacity = disk.usedBytes + 100
      }
      return nil
    }
    let error = #expect(throws: StoreError.self) { _ = try device.store.compact() }
    guard case .disk(let reason) = error?.log?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.reason == .noSpace && reason.path.hasSuffix(".tmp"))
    disk.heal()
    disk.capacity = nil
    #expect(temporaries(disk).isEmpty)
    #expect(try StoreContent(device.store) == content)
    _ = try device.store.compact()
    #expect(try StoreContent(device.store) == content)
  }

  /// The power goes, or the app is killed, while both files are there.
  @Test(arguments: CrashModel.all(seeds: 0..<2))
  func `what a crash leaves of it goes with the next compaction`(model: CrashModel) throws {
    let good = try device(3)
    let before = good.disk.operations
    let content = try StoreContent(good.store)
    _ = try good.store.compact()
    var left = 0
    for step in 1...(good.disk.operations - before) {
      let device = try device(3)
      device.disk.powerOff(before: device.disk.operations + step)
      _ = refusal { _ = try device.store.compact() }
      try device.crash(model)
      left = max(left, temporaries(device.disk).count)
      #expect(try StoreContent(device.store) == content, "step \(step)")
      _ = try device.store.compact()
      #expect(temporaries(device.disk).isEmpty, "step \(step)")
    }
    // Names that were not synced last in some models only.
    if case .everything = model { #expect(left == 2) }
  }
}

/// A number that is added to from within a disk.
private final class Told: Sendable {
  private let sum = Lock(0)
  var count: Int { sum.withLock { $0 } }
  func add(_ number: Int) { sum.withLock { $0 += number } }
}
