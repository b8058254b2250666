import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import Synchronization
import TestSupport
import Testing

/// The disk refuses or breaks at every single step: errors are typed, nothing is half applied, and
/// all goes well once the disk does.
struct StoreFaultTests {
  /// Runs one step of the workload until it is done, whatever fails on the way.
  private func insist(_ workload: CrashWorkload, _ step: CrashWorkload.Step) throws {
    guard let store = workload.store else { return }
    do { try workload.run(step) } catch {
      guard let error = error as? StoreError else { throw error }
      workload.disk.heal()
      switch step {
      case .compact:
        if refusal({ _ = try store.compact() }) == nil { return }
        // The sync of a segment's end failed: as with any failed sync only opening anew helps.
        try Difference.demand(refusal { try store.flush() } == .syncFailed, "it is not poisoned")
        try? store.close()
        try workload.open()
        try workload.run(step)
      case .reopen:
        try store.close()
        try workload.open()
      case .commit, .deliver:
        try mend(workload, store, step, error)
      }
    }
  }

  private func mend(
    _ workload: CrashWorkload, _ store: Store, _ step: CrashWorkload.Step, _ error: StoreError
  ) throws {
    let wanted = workload.states[workload.states.count - 1]
    if error.kind == .syncFailed {
      // Poisoned for good: no second sync may tell that all is well.
      try Difference.demand(refusal { _ = try store.sync() } == .syncFailed, "it is not poisoned")
      // It may say once more that it could not make everything durable.
      try? store.close()
      try workload.open()
    } else if case .commit = step {
      let shown = try StoreContent(store)
      try Difference.demand(shown == wanted, "an error changed what shows")
      try store.sync()
    }
    guard let store = workload.store else { return }
    let shown = try StoreContent(store)
    if shown == wanted { return }
    let before = workload.states[workload.states.count - 2]
    try Difference.demand(shown == before, "half applied: \(shown.differences(from: before))")
    try workload.run(step)
  }

  private func failEverywhere(_ reason: DiskError.Reason, forever: Bool) throws {
    let counted = MemoryDisk()
    let madeDirectories = MadeDirectories()
    counted.intercept { operation in
      madeDirectories.note(operation)
      return nil
    }
    try CrashWorkload(counted).run()
    var final: StoreContent?
    for step in 1...counted.operations {
      let disk = MemoryDisk()
      disk.failAt(operation: step, reason: reason, forever: forever)
      let workload = CrashWorkload(disk)
      do {
        do { try workload.open() } catch {
          try Difference.demand(error is StoreError, "\(error)")
          disk.heal()
          try workload.open()
        }
        for step in CrashWorkload.steps { try insist(workload, step) }
        let store = try #require(workload.store)
        try? store.close()
        disk.heal()
        let again = try workload.open(disk)
        let content = try StoreContent(again)
        // A commit that failed may be there, in memory only as yet.
        try again.flush()
        try again.close()
        let wanted = final ?? content
        final = wanted
        try Difference.demand(content == wanted, "\(content.differences(from: wanted))")
        try Difference.demand(disk.openFiles == 0, "\(disk.openFiles) files are left open")
        // The name of a directory that could be neither synced nor taken back nobody can save.
        if forever, madeDirectories.wereSynced(at: step) { continue }
        let power = try workload.open(disk.crash(keep: .nothingUnsynced))
        try Difference.demand(try StoreContent(power) == wanted, "it was not durable")
      } catch {
        Issue.record("step \(step) fails with \(reason): \(error)")
        return
      }
    }
  }

  @Test(arguments: [false, true])
  func `a full disk at any step`(forever: Bool) throws {
    try failEverywhere(.noSpace, forever: forever)
  }

  @Test(arguments: [false, true])
  func `an I/O error at any step`(forever: Bool) throws {
    try failEverywhere(.io(errno: 5), forever: forever)
  }

  @Test func `a disk that is really full, and then has room again`() throws {
    let device = try StoreDevice(1) { $0.segmentBytes = 64 << 10 }
    let bulk = FieldValue.bytes(SeededRandom(1).bytes(3000))
    device.disk.capacity = 300_000
    var stored = 0
    var failure: StoreError?
    while failure == nil, stored < 1000 {
      try device.store.insert("r\(stored)", ["b": bulk])
      do throws(StoreError) {
        try device.store.sync()
        stored += 1
      } catch { failure = error }
    }
    let reason = try #require(failure?.log?.reason)
    guard case .disk(let disk) = reason else {
      Issue.record("\(reason)")
      return
    }
    #expect(disk.reason == .noSpace)
    #expect(stored > 20 && stored < 100)
    #expect(try device.store.get("r0")?["b"] == bulk, "reading goes on")
    device.disk.capacity = nil
    try device.store.sync()
    try device.reopen()
    #expect(try device.store.count(table: "t") == stored + 1)
  }

  private func files(_ device: StoreDevice, _ part: String) -> [String] {
    device.disk.paths().filter { $0.hasPrefix(StoreDevice.directory + "/" + part + "/") }
  }

  /// More than there is room for on a disk of a megabyte.
  private func insertMuch(_ store: Store) throws {
    let random = SeededRandom(1)
    for number in 0..<30 { try store.insert("b\(number)", ["b": .bytes(random.bytes(50_000))]) }
  }

  @Test func `a commit for which there is no room leaves no file with each try`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("first")
    try device.store.sync()
    device.disk.capacity = 1 << 20
    try insertMuch(device.store)
    for _ in 0..<50 { #expect(throws: StoreError.self) { try device.store.sync() } }
    #expect(files(device, "log").count == 2)
    #expect(device.store.vector[device.id] == 1)
    device.disk.capacity = nil
    try device.store.sync()
    #expect(files(device, "log").count == 2)
    try device.crash(.nothingUnsynced)
    #expect(device.store.recovery.isEmpty)
    #expect(try device.store.count(table: "t") == 31 && device.store.vector[device.id] == 2)
  }

  @Test(arguments: [false, true])
  func `deletes of others that can't be logged leave the trash as it was`(isFull: Bool) throws {
    let author = try StoreDevice(1)
    for id in ["old", "r"] { try author.store.insert(id, ["n": 7]) }
    try author.store.sync()
    let inserts = try author.store.pack()
    try author.store.delete("old")
    try author.store.sync()
    let first = try author.store.pack(after: 1)
    try author.store.delete("r")
    try insertMuch(author.store)
    try author.store.sync()
    let second = try author.store.pack(after: 2)
    let device = try StoreDevice(2) { $0.trashMilliseconds = 1 << 40 }
    for pack in [inserts, first] { try device.store.sync(packs: [pack]) }
    let kept = files(device, "trash")
    #expect(kept.count == 1)
    if isFull {
      device.disk.capacity = 1 << 20
    } else {
      device.disk.intercept { operation in
        operation.verb == "write" && operation.path.hasSuffix(".seg") ? .io(errno: 5) : nil
      }
    }
    for _ in 0..<50 {
      device.clock.advance(by: 1)
      #expect(throws: StoreError.self) { try device.store.sync(packs: [second]) }
    }
    #expect(files(device, "trash") == kept)
    #expect(files(device, "log").count == (isFull ? 2 : 1))
    #expect(try device.store.remembered().map(\.id.text) == ["old"])
    device.disk.heal()
    device.disk.capacity = nil
    try device.store.sync(packs: [second])
    #expect(try device.store.get("r") == nil && device.store.count(table: "t") == 30)
    try device.crash(.nothingUnsynced)
    #expect(try device.store.deletedRecords().records.map(\.id.text) == ["old", "r"])
    #expect(files(device, "trash").count == 2 && device.store.recovery.isEmpty)
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `what a write has left that failed is not behind a shorter one`(seed: UInt64) throws {
    let device = try StoreDevice(1)
    let writes = Lock(0)
    device.disk.tearFailedWrites(seed: seed)
    device.disk.intercept { operation in
      guard operation.verb == "write", operation.path.hasSuffix(".seg") else { return nil }
      // The first one is the header.
      return writes.withLock { count -> DiskError.Reason? in
        count += 1
        return count == 2 ? .noSpace : nil
      }
    }
    try device.store.insert("long", ["b": .bytes(SeededRandom(1).bytes(20_000))])
    #expect(throws: StoreError.self) { try device.store.sync() }
    device.disk.heal()
    try device.store.rollBack()
    try device.store.insert("short", ["n": 1])
    try device.store.sync()
    #expect(files(device, "log").count == 1)
    device.leave(device.disk.snapshot())
    try device.open()
    #expect(device.store.recovery.isEmpty && files(device, "quarantine").isEmpty)
    #expect(try device.store.get("short") == ["n": 1] && device.store.get("long") == nil)
  }

  @Test(arguments: ["write", "truncate"], 1...8 as ClosedRange<UInt64>)
  func `what a seal has left that failed is not behind a shorter frame`(
    verb: String, seed: UInt64
  ) throws {
    let device = try StoreDevice(1)
    // So that the seal is longer than a commit.
    for number in 0..<50 {
      try device.store.insert("r\(number)")
      try device.store.sync()
    }
    let hasFailed = Flag()
    device.disk.tearFailedWrites(seed: seed)
    device.disk.intercept { operation in
      operation.verb == verb && operation.path.hasSuffix(".seg") && hasFailed.raise()
        ? .io(errno: 5) : nil
    }
    #expect(throws: StoreError.self) { _ = try device.store.compact() }
    #expect(hasFailed.isUp)
    try device.store.insert("short")
    try device.store.sync()
    #expect(files(device, "log").count == 1)
    device.leave(device.disk.snapshot())
    try device.open()
    #expect(device.store.recovery.isEmpty && files(device, "quarantine").isEmpty)
    #expect(try device.store.count(table: "t") == 51)
  }

  @Test func `a torn tail on a full disk is kept in the room that the log had reserved`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["n": 1])
    try device.store.sync()
    device.leave(device.disk.snapshot())
    let path = try #require(files(device, "log").first)
    var bytes = try #require(device.disk.bytes(path))
    let end = try SegmentScan(bytes, path: path).end
    let tail = [UInt8](repeating: 7, count: 30_000)
    bytes.replaceSubrange(end..<(end + tail.count), with: tail)
    try device.disk.setBytes(path, bytes)
    device.disk.capacity = device.disk.usedBytes
    try device.open()
    #expect(device.store.recovery.map(\.offset) == [UInt64(end)])
    #expect(files(device, "quarantine").map { device.disk.bytes($0) } == [tail])
    #expect(device.disk.bytes(path)?.count == end)
    #expect(try device.store.get("r") == ["n": 1])
    try device.store.set("r", ["n": 2])
    try device.store.sync()
    try device.crash(.nothingUnsynced)
    #expect(try device.store.get("r") == ["n": 2])
    #expect(device.store.recovery.isEmpty)
  }

  /// It is kept for the folder only, and no opening reads what comes into it.
  @Test func `nothing is committed to a segment that is in the snapshot and has lost its frames`()
    throws
  {
    let device = try StoreDevice(1)
    try device.store.insert("folded")
    try device.store.sync()
    _ = try device.store.compact()
    try device.store.close()
    let path = try #require(files(device, "log").first)
    let bytes = try #require(device.disk.bytes(path))
    try device.disk.setBytes(path, Array(bytes[..<(SegmentHeader.size + 30)]))
    try device.open()
    #expect(device.store.recovery.count == 1)
    try device.store.insert("new")
    try device.store.sync()
    #expect(files(device, "log").count == 2)
    try device.reopen()
    #expect(try device.store.get("folded") != nil && device.store.get("new") != nil)
  }

  @Test func `a commit whose sync failed is never acknowledged by a later one`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["a": 1])
    try device.store.sync()
    try device.store.set("r", ["a": 2])
    device.disk.failAt(operation: device.disk.operations + 2, reason: .io(errno: 5))
    #expect(refusal { _ = try device.store.sync() } == .syncFailed)
    for _ in 0..<3 { #expect(refusal { _ = try device.store.sync() } == .syncFailed) }
    #expect(refusal { try device.store.flush() } == .syncFailed)
    #expect(throws: StoreError.self) { try device.store.close() }
    #expect(!device.store.isOpen && device.disk.heldLocks == 0)
    try device.open()
    #expect([1, 2].contains(try device.store.get("r")?["a"]))
    try device.store.set("r", ["a": 3])
    try device.store.sync()
    try device.crash(.nothingUnsynced)
    #expect(try device.store.get("r")?["a"] == 3)
  }

  @Test func `a commit is made durable by the next sync if its own sync failed later on`() throws {
    let device = try StoreDevice(1)
    let peer = try StoreDevice(2)
    try peer.store.insert("p")
    try peer.store.sync()
    try device.store.insert("first")
    try device.store.sync()
    try device.store.insert("r")
    // The own delta is written, the other device's is not: nothing was synced.
    let pack = try peer.store.pack()
    device.disk.failAt(operation: device.disk.operations + 2, reason: .noSpace)
    #expect(throws: StoreError.self) { try device.store.sync(packs: [pack]) }
    #expect(device.store.vector[device.id] == 2 && device.store.vector[peer.id] == 0)
    device.disk.heal()
    try device.store.sync()
    try device.crash(.nothingUnsynced)
    #expect(try device.store.get("r") == [:])
  }

  @Test func `what was recovered is durable after a sync that has nothing else to do`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("r")
    try device.store.sync()
    try device.store.insert("s")
    device.disk.intercept { $0.verb == "sync" ? .io(errno: 5) : nil }
    #expect(refusal { try device.store.sync() } == .syncFailed)
    device.disk.intercept(nil)
    try? device.store.close()
    try device.open()
    #expect(try device.store.get("s") != nil, "the system still has it")
    try device.store.sync()
    try device.crash(.nothingUnsynced)
    #expect(try device.store.get("s") != nil, "sync had returned")
  }

  @Test func `a failed directory sync never costs a compaction's snapshot`() throws {
    for offset in 1...40 {
      let device = try StoreDevice(1)
      for number in 0..<10 {
        try device.store.insert("r\(number)")
        try device.store.sync()
      }
      device.store.confirmPublished(through: 10)
      device.disk.failAt(
        operation: device.disk.operations + offset, reason: .io(errno: 5), forever: true)
      let isDone = refusal { _ = try device.store.compact() } == nil
      device.disk.heal()
      for model in CrashModel.all(seeds: 0..<4) {
        let disk = device.disk.crash(keep: model)
        let store = try StoreDevice.open(
          disk, device.clock, device.random, true, device.options)
        #expect(try store.count(table: "t") == 10, "step \(offset), \(model)")
      }
      if isDone { return }
    }
    Issue.record("the compaction never came through")
  }

  @Test func `after a compaction whose sync failed an opening keeps what CURRENT may name`(
  ) throws {
    for offset in 1...40 {
      let device = try StoreDevice(1)
      try device.store.insert("first")
      try device.store.sync()
      device.store.confirmPublished(through: 1)
      // It fails once, and what it lost no later sync brings back.
      device.disk.failAt(operation: device.disk.operations + offset, reason: .io(errno: 5))
      let isDone = refusal { _ = try device.store.compact() } == nil
      // One whose log could not be synced says so once more.
      _ = refusal { try device.store.close() }
      try device.open()
      try device.store.insert("second")
      try device.store.sync()
      for model in CrashModel.all(seeds: 0..<4) {
        let disk = device.disk.crash(keep: model)
        let store = try StoreDevice.open(
          disk, device.clock, device.random, true, device.options)
        #expect(try store.count(table: "t") == 2, "step \(offset), \(model)")
      }
      if isDone { return }
    }
    Issue.record("the compaction never came through")
  }

  @Test(arguments: [false, true])
  func `a commit is durable whatever failed when the store was made`(forever: Bool) throws {
    // From the sync of the store's last directory on: one whose own name got lost is beyond help.
    for step in 7...60 {
      let (disk, clock, random) = (MemoryDisk(), ManualClock(), SeededRandom(1))
      func open() throws -> Store {
        try StoreDevice.open(disk, clock, random, true, StoreOptions())
      }
      disk.failAt(operation: step, reason: .io(errno: 5), forever: forever)
      var isDone = false
      if let store = try? open() {
        try store.insert("first")
        isDone = refusal { _ = try store.sync() } == nil
        _ = refusal { _ = try store.sync() }
        try? store.close()
      }
      if isDone, disk.strikeCount == 0 { return }
      disk.heal()
      let store = try open()
      try store.insert("second")
      try store.sync()
      let content = try StoreContent(store)
      let power = try StoreDevice.open(
        disk.crash(keep: .nothingUnsynced), clock, random, true, StoreOptions())
      #expect(try StoreContent(power) == content, "step \(step)")
      #expect(try !isDone || power.get("first") != nil, "step \(step)")
    }
    Issue.record("the store was never made")
  }

  @Test(arguments: [false, true])
  func `a field that was set back in a commit that failed is written once by the next`(
    isLinked: Bool
  ) throws {
    let device = try StoreDevice(1, isLinked: isLinked)
    try device.store.insert("r", ["a": 1, "b": 1])
    try device.store.insert("deleted", ["a": 1, "b": 1])
    try device.store.sync()
    for value in 2..<5 as Range<Int64> {
      try device.store.insert("new\(value)", ["a": .int(value), "b": .int(value)])
      try device.store.set("new\(value)", ["a": nil])
      try device.store.set("r", ["a": .int(value)])
      try device.store.set("r", ["a": .int(value - 1), "b": .int(value)])
      if try device.store.get("deleted") != nil { try device.store.delete("deleted") }
      try device.store.insert("deleted", ["b": .int(value)])
      device.disk.failAt(operation: device.disk.operations + 1, reason: .io(errno: 5))
      #expect(refusal { _ = try device.store.sync() } != nil)
      for id in ["r", "deleted", "new\(value)"] {
        try device.store.set(id, ["a": .int(value)])
      }
      try device.store.sync()
      try device.reopen()
      for id in ["r", "deleted", "new\(value)"] {
        #expect(try device.store.get(id) == ["a": .int(value), "b": .int(value)], "\(id)")
      }
    }
    // A roll-back after that leaves what was committed.
    try device.store.set("r", ["a": 9])
    try device.store.set("r", ["a": 4, "b": 9])
    device.disk.failAt(operation: device.disk.operations + 1, reason: .io(errno: 5))
    #expect(refusal { _ = try device.store.sync() } != nil)
    try device.store.set("r", ["a": 10])
    try device.store.rollBack()
    #expect(try device.store.get("r") == ["a": 4, "b": 4])
  }
}

/// The steps that sync the name of a directory that was made just before.
private final class MadeDirectories: Sendable {
  private let seen = Lock<(last: String, syncs: Set<Int>)>(("", []))

  func note(_ operation: MemoryDiskOperation) {
    seen.withLock { seen in
      if operation.verb == "sync", seen.last == "make the directory" {
        seen.syncs.insert(operation.number)
      }
      seen.last = operation.verb
    }
  }

  func wereSynced(at step: Int) -> Bool { seen.withLock { $0.syncs.contains(step) } }
}
