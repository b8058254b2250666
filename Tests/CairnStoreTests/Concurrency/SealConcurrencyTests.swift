import CairnDisk
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A segment that one thread syncs while another one closes it.
@Suite(.timeLimit(.minutes(20)))
struct SealConcurrencyTests {
  /// A disk tells a failure once, to whoever asks first. After that a sync says yes, and what it
  /// was to make durable is gone.
  @Test func `a sync that failed is no commit, though a seal has synced the segment`() throws {
    let device = try StoreDevice(1, isLinked: false) { $0.segmentBytes = 1 }
    try device.store.insert("before")
    try device.store.sync()
    let (disk, store) = (device.disk, device.store)
    let isSealing = Flag()
    let syncs = Atomic<Int>(0)
    // The newest segment is made by the commit, and synced behind it.
    disk.intercept { operation in
      guard operation.verb == "sync", operation.path.hasSuffix("02.seg") else { return nil }
      switch syncs.add(1, ordering: .acquiringAndReleasing).newValue {
      case 2:
        // The first one made the file. This is the commit's, until the other thread is about to
        // sync the same file.
        while !isSealing.isUp { usleep(100) }
        return .io(errno: 5)
      case 3:
        isSealing.raise()
        while disk.strikeCount == 0 { usleep(100) }
        return nil
      default: return nil
      }
    }
    let refusals = Lock<[StoreError.Kind?]>([nil, nil])
    try Threads.run(2) { number in
      if number == 1 {
        while syncs.load(ordering: .acquiring) < 2 { usleep(100) }
      }
      try store.insert("of-thread-\(number)")
      let kind = refusal { try store.sync() }
      refusals.withLock { $0[number] = kind }
    }
    disk.heal()
    #expect(syncs.load(ordering: .acquiring) >= 3)
    #expect(refusals.withLock { $0 } == [.syncFailed, .syncFailed])
    #expect(refusal { try store.flush() } == .syncFailed)
    // No other segment is behind it, so what it lost is written once more.
    #expect(refusal { try store.close() } == .syncFailed)
    try device.open()
    try device.store.insert("after")
    try device.store.sync()
    try device.crash(.nothingUnsynced)
    let ids = try device.store.query(table: "t", []).map(\.text).sorted()
    #expect(ids == ["after", "before", "of-thread-0"] && device.store.recovery.isEmpty)
  }

  /// As by a commit that has asked whether a sync had failed, and then had to wait for the state
  /// while a seal's did.
  @Test func `nothing is written behind a seal whose sync has failed`() throws {
    let device = try StoreDevice(1, isLinked: false) { $0.durability = .none }
    let store = device.store
    try store.insert("before")
    try store.sync()
    device.disk.intercept { operation in
      operation.verb == "sync" && operation.path.hasSuffix("01.seg") ? .io(errno: 5) : nil
    }
    #expect(refusal { _ = try store.compact() } == .syncFailed)
    device.disk.heal()
    try store.insert("behind")
    let kind = refusal {
      _ = try store.withState { guarded throws(StoreError) in try store.commit(&guarded) }
    }
    #expect(kind == .syncFailed)
    try store.close()
    try device.open()
    #expect(device.store.recovery.isEmpty)
    #expect(try device.store.get("before") != nil && device.store.get("behind") == nil)
  }
}
