import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

/// One syncs for all who wait, and fails.
@Suite(.timeLimit(.minutes(20)))
struct LeaderFailureConcurrencyTests {
  /// Their frames come before its own: whoever took them for durable would have lost them.
  @Test func `who waits for a sync that fails is neither let go nor told, and syncs itself`()
    throws
  {
    let group = GroupCommit(.start) { _ in 0 }
    let (hasBegun, hasFailed) = (Flag(), Flag())
    let syncs = Lock(0)
    try Threads.run(3) { number in
      let target = LogPosition(segment: 1, end: number + 1)
      if number == 2 {
        do {
          try group.reach(target) { () throws(StoreError) -> LogPosition in
            hasBegun.raise()
            while group.waiting < 3 {}
            throw Store.closedError
          }
        } catch { hasFailed.raise() }
      } else {
        while !hasBegun.isUp {}
        try group.reach(target) { () throws(StoreError) -> LogPosition in
          syncs.withLock { $0 += 1 }
          return LogPosition(segment: 1, end: 3)
        }
      }
    }
    #expect(hasFailed.isUp, "who has synced hears of it")
    #expect(syncs.withLock { $0 } == 1, "one of the two, for both")
    #expect(group.waiting == 0)
    // Now it is known to be durable.
    try group.reach(LogPosition(segment: 1, end: 3)) { () throws(StoreError) -> LogPosition in
      throw Store.closedError
    }
  }
}
