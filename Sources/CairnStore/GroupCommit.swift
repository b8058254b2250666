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
  private let patience: @Sendable (UInt64) -> UInt64
  /// Up to where the log is known to be durable.
  private var done: LogPosition
  private var isSyncing = false
  /// What those want who are in here. Who has it counts no more, though it may not have been woken
  /// yet: it is out, and expected back.
  private var wanted: [LogPosition] = []
  /// How many there were when the last sync had ended.
  private var expected = 0
  /// Nobody waits for more of them after this.
  private var deadline: UInt64 = 0
  /// One of them looks at the clock for all.
  private var isTimed = false

  /// How many wait, the one that syncs among them.
  var waiting: Int { condition.withLock { wanted.count } }

  /// `patience`: how many nanoseconds committers are waited for after a sync that took so many.
  init(
    _ done: LogPosition,
    patience: @escaping @Sendable (UInt64) -> UInt64 = { min($0 / 2, 1_000_000) }
  ) {
    (self.done, self.patience) = (done, patience)
  }

  /// Returns when `target` is durable, or throws what `sync` has thrown. `sync` makes the log
  /// durable and returns up to where; nothing is locked meanwhile, and only one at a time does.
  func reach(
    _ target: LogPosition, sync: () throws(StoreError) -> LogPosition
  ) throws(StoreError) {
    if isReached(target) { return }
    let start = Condition.now
    do throws(StoreError) { end(target, from: start, reaching: try sync()) } catch {
      end(target, from: start, reaching: nil)
      throw error
    }
  }

  /// Waits until `target` is durable, or until it is the caller's turn to make it so: then false.
  private func isReached(_ target: LogPosition) -> Bool {
    condition.withLock {
      if done >= target { return true }
      wanted.append(target)
      while done < target {
        let mayGather = wanted.count < expected && Condition.now < deadline
        if isSyncing || mayGather && isTimed {
          condition.wait()
        } else if mayGather {
          isTimed = true
          condition.wait(until: deadline)
          isTimed = false
        } else {
          isSyncing = true
          return false
        }
      }
      return true
    }
  }

  private func end(_ target: LogPosition, from start: UInt64, reaching reached: LogPosition?) {
    let now = Condition.now
    condition.withLock {
      isSyncing = false
      // Whoever looked at the clock may have what it wants, and leave.
      isTimed = false
      expected = wanted.count
      deadline = now &+ min(patience(max(now, start) - start), .max - now)
      if let reached {
        done = max(done, reached)
        wanted.removeAll { $0 <= done }
      } else if let own = wanted.firstIndex(of: target) {
        wanted.remove(at: own)
      }
    }
    // They would only run into the lock.
    condition.wakeAll()
  }
}
