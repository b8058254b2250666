import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Who syncs for whom.
@Suite(.timeLimit(.minutes(20)))
struct GroupCommitConcurrencyTests {
  /// A log of which nothing is there but how long it is, and up to where syncs have come.
  private final class Log: Sendable {
    private let state = Lock((end: 0, syncs: [Int]()))
    /// How much each sync made durable.
    var syncs: [Int] { state.withLock { $0.syncs } }

    func append() -> LogPosition {
      state.withLock { state in
        state.end += 1
        return LogPosition(segment: 1, end: state.end)
      }
    }

    func sync() -> LogPosition {
      state.withLock { state in
        state.syncs.append(state.end - state.syncs.reduce(0, +))
        return LogPosition(segment: 1, end: state.end)
      }
    }
  }

  /// Whoever was let go and has not been woken yet must not be taken for one that is back.
  @Test func `committers that were together stay together`() throws {
    let log = Log()
    // For ever, so that nothing depends on how quick they are.
    let group = GroupCommit(.start) { _ in 3_600_000_000_000 }
    let hasBegun = Flag()
    try Threads.run(4) { number in
      if number == 0 {
        // While the others come.
        try group.reach(log.append()) { () throws(StoreError) in
          let end = log.sync()
          hasBegun.raise()
          while group.waiting < 4 { usleep(100) }
          return end
        }
      } else {
        while !hasBegun.isUp { usleep(100) }
      }
      for _ in 0..<100 { try group.reach(log.append()) { () in log.sync() } }
    }
    #expect(log.syncs == [1] + Array(repeating: 4, count: 100))
  }

  @Test func `who is not expected waits for nobody`() throws {
    let log = Log()
    let group = GroupCommit(.start) { _ in 3_600_000_000_000 }
    for _ in 0..<10 { try group.reach(log.append()) { () in log.sync() } }
    #expect(log.syncs == Array(repeating: 1, count: 10) && group.waiting == 0)
  }

  @Test func `a sync that fails is no reason to wait for who heard of it`() throws {
    let log = Log()
    let group = GroupCommit(.start) { _ in 0 }
    #expect(throws: StoreError.self) {
      try group.reach(log.append()) { () throws(StoreError) in throw Store.closedError }
    }
    #expect(group.waiting == 0)
    try group.reach(log.append()) { () in log.sync() }
    #expect(log.syncs == [2])
  }
}
