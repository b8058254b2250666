import CairnDisk
import CairnLog
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

/// Disks that take their time, and disks that take nothing.
@Suite(.timeLimit(.minutes(20)))
struct StoreWaitTests {
  /// While the disk makes a commit durable, another thread reads, changes, and takes back. The sync
  /// ends only after that: if anybody had to wait for it, this would never end.
  @Test func `a sync that does not come back holds up nobody but those who wait for it`() throws {
    let device = try StoreDevice(1)
    let store = device.store
    try store.insert("r", ["n": 1])
    try store.sync()
    try store.set("r", ["n": 2])
    let failure = Lock<String?>(nil)
    let steps = Flag()
    device.disk.intercept { operation in
      guard operation.verb == "sync" else { return nil }
      let thread = BackgroundThread {
        do {
          let id = RecordName("r")
          let fields = try store.fields(table: "t", id: id) ?? []
          if fields.map({ $0.1 }) != [.int(2)] { failure.withLock { $0 = "\(fields)" } }
          let found = try store.query(table: "t", [("n", .int(2))])
          if found != [id] { failure.withLock { $0 = "\(found)" } }
          try store.insert(table: "t", id: RecordName("s"), [("n", .int(3))])
          try store.rollBack()
          if try store.count(table: "t") != 1 { failure.withLock { $0 = "a roll-back left some" } }
          steps.raise()
        } catch { failure.withLock { $0 = "\(error)" } }
      }
      thread?.join()
      return nil
    }
    try store.sync()
    device.disk.intercept(nil)
    #expect(failure.withLock { $0 } == nil)
    #expect(steps.isUp)
    try device.crash(.nothingUnsynced)
    #expect(try device.store.get("r") == ["n": 2])
  }

  /// While a compaction makes its file, another thread commits. It comes back when the compaction
  /// has ended, well or not.
  @Test(arguments: [nil, DiskError.Reason.noSpace])
  func `a commit waits for a compaction that it outruns, and no longer`(
    reason: DiskError.Reason?
  ) throws {
    let device = try StoreDevice(1) {
      $0.compactsAutomatically = true
      $0.compactFrom = 1000
      $0.overlayBytes = 0
    }
    let store = device.store
    let writer = Lock<BackgroundThread?>(nil)
    let failure = Lock<String?>(nil)
    let (isBegun, isBack, wasEarly) = (Flag(), Flag(), Flag())
    device.disk.intercept { operation in
      guard operation.verb == "create", operation.path.hasPrefix(StoreDevice.directory + "/snap/")
      else { return nil }
      guard isBegun.raise() else { return reason }
      let before = store.vector
      let thread = BackgroundThread {
        do {
          try store.insert("s", ["n": 1])
          try store.sync()
        } catch { failure.withLock { $0 = "\(error)" } }
        isBack.raise()
      }
      while store.vector == before, !isBack.isUp {}
      let end = ContinuousClock.now + .milliseconds(30)
      while ContinuousClock.now < end {}
      if isBack.isUp { wasEarly.raise() }
      writer.withLock { $0 = thread }
      return reason
    }
    try store.insert("r", ["s": .string(SeededRandom(1).text(2000))])
    try store.sync()
    while writer.withLock({ $0 == nil }) {}
    writer.withLock { $0 }?.join()
    device.disk.intercept(nil)
    #expect(failure.withLock { $0 } == nil)
    #expect(isBack.isUp && !wasEarly.isUp)
    #expect((store.compactionFailure == nil) == (reason == nil))
    try device.reopen()
    #expect(try device.store.get("r") != nil && device.store.get("s") == ["n": 1])
  }

  /// A small commit is there before the compaction goes on, and not only when it has ended.
  @Test func `a commit of less than a quarter of what is much does not wait`() throws {
    let device = try StoreDevice(1) {
      $0.compactsAutomatically = true
      $0.compactFrom = 1000
      $0.overlayBytes = 40_000
    }
    let store = device.store
    let failure = Lock<String?>(nil)
    let (isBegun, isBack) = (Flag(), Flag())
    device.disk.intercept { operation in
      guard operation.verb == "create", operation.path.hasPrefix(StoreDevice.directory + "/snap/"),
        isBegun.raise()
      else { return nil }
      let thread = BackgroundThread {
        do {
          try store.insert("s", ["s": .string(SeededRandom(2).text(8_000))])
          try store.sync()
        } catch { failure.withLock { $0 = "\(error)" } }
        isBack.raise()
      }
      // If it waited, this would never end.
      while !isBack.isUp {}
      thread?.join()
      return nil
    }
    try store.insert("r", ["s": .string(SeededRandom(1).text(2000))])
    try store.sync()
    while !isBack.isUp {}
    device.disk.intercept(nil)
    #expect(failure.withLock { $0 } == nil)
    try store.close()
  }

  @Test func `what takes much memory is folded although the log is short`() throws {
    let much = 40_000
    let device = try StoreDevice(1) {
      $0.compactsAutomatically = true
      $0.compactsInline = true
      $0.compactFrom = 1000
      $0.overlayBytes = much
    }
    let store = device.store
    let random = SeededRandom(3)
    func add(_ id: String) throws {
      try store.insert(id, ["s": .string(random.text(600))])
      try store.sync()
    }
    for number in 0..<600 { try add("base-\(number)") }
    _ = try store.compact()
    let first = try store.withState { $0.current.snapshot }
    var most = 0
    for number in 0..<200 where try store.withState({ $0.current.snapshot }) == first {
      most = max(most, try store.withState { $0.store.overlayBytes })
      try add("more-\(number)")
    }
    // Half of the snapshot would be some 150,000 bytes of log.
    #expect((much * 2...much / 4 * 9).contains(most), "\(most)")
  }

  @Test(arguments: [DiskError.Reason.readOnly, .denied])
  func `on a disk that takes nothing a store is not opened, nor changed, nor half open`(
    reason: DiskError.Reason
  ) throws {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["n": 1])
    try device.store.sync()
    try device.store.close()
    let before = device.disk.fingerprint()
    device.disk.intercept { _ in reason }
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try device.open() }
      guard case .disk(let disk) = error?.log?.reason else {
        Issue.record("\(error.map { "\($0)" } ?? "it opened")")
        return
      }
      #expect(disk.reason == reason)
      #expect(device.disk.openFiles == 0 && device.disk.heldLocks == 0)
      #expect(device.disk.fingerprint() == before)
    }
    device.disk.heal()
    try device.open()
    #expect(try device.store.get("r") == ["n": 1])
  }

  @Test func `a disk that becomes read-only under a store refuses commits and can be read`()
    throws
  {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["n": 1])
    try device.store.sync()
    device.disk.intercept { $0.verb == "sync" ? nil : .readOnly }
    try device.store.set("r", ["n": 2])
    let error = #expect(throws: StoreError.self) { try device.store.sync() }
    guard case .disk(let disk) = error?.log?.reason else {
      Issue.record("\(error.map { "\($0)" } ?? "it was committed")")
      return
    }
    #expect(disk.reason == .readOnly)
    #expect(try device.store.get("r") == ["n": 2], "what is pending stays")
    device.disk.heal()
    try device.store.sync()
    try device.crash(.nothingUnsynced)
    #expect(try device.store.get("r") == ["n": 2])
  }
}
