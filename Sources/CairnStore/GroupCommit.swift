import CairnDisk

/// Committers that wait for the log to be durable: one syncs for all of them.
///
/// While one syncs, others write their frames and wait. Those whose frames that sync has had often
/// commit again at once: whoever is to sync next waits for as many as there were, half as long as
/// a sync takes at most. Otherwise two halves would take turns, each with syncs of its own, and
/// four committers get no further than two. Who is alone never waits.
// Unchecked: the state is only touched under the condition's lock.
final class GroupCommit: @unchecked Sendable {
  private let condition = Condition()
  /// Up to where the log is known to be durable.
  private var done: LogPosition
  private var isSyncing = false
  /// Committers that are in here, and how many there were when the last sync had ended.
  private var present = 0
  private var expected = 0
  /// Nobody waits for more of them after this.
  private var deadline: UInt64 = 0

  private static let waitMax: UInt64 = 1_000_000

  init(_ done: LogPosition) { self.done = done }

  /// Returns when `target` is durable, or throws what `sync` has thrown. `sync` makes the log
  /// durable and returns up to where; nothing is locked meanwhile, and only one at a time does.
  func reach(
    _ target: LogPosition, sync: () throws(StoreError) -> LogPosition
  ) throws(StoreError) {
    if isReached(target) { return }
    let start = Condition.now
    do throws(StoreError) { end(from: start, reaching: try sync()) } catch {
      end(from: start, reaching: nil)
      throw error
    }
  }

  /// Waits until `target` is durable, or until it is the caller's turn to make it so: then false.
  private func isReached(_ target: LogPosition) -> Bool {
    condition.withLock {
      present += 1
      while true {
        if done >= target {
          present -= 1
          return true
        }
        if isSyncing {
          condition.wait()
        } else if present < expected, Condition.now < deadline {
          condition.wait(until: deadline)
        } else {
          isSyncing = true
          return false
        }
      }
    }
  }

  private func end(from start: UInt64, reaching reached: LogPosition?) {
    let now = Condition.now
    condition.withLock {
      if let reached { done = max(done, reached) }
      isSyncing = false
      expected = present
      deadline = now + min((max(now, start) - start) / 2, GroupCommit.waitMax)
      present -= 1
      condition.wakeAll()
    }
  }
}
