internal import CairnDisk
internal import CairnLog
internal import CairnStore
internal import Synchronization

/// Deltas, and no room for them here.
extension Exchange {
  /// The most rounds from one try to the next: nobody says when there is room.
  private static let arrivalRoundsMax = 16

  /// There is no room here for what the folder has. The last that came gives some back: for what is
  /// to go out, and for what a sync makes of the others.
  func noteFull(_ error: CairnError, hasFetched: Bool) {
    // Once, and whenever something has come: else each try would cost one more.
    if hasFetched || memory.withLock({ $0.arrivalProblem == nil }) {
      inbox.withLock { inbox in
        if let last = inbox.items.last { inbox.remove(last) }
      }
    }
    noteInbox()
    memory.withLock { memory in
      memory.arrivals.fail(most: Exchange.arrivalRoundsMax)
      memory.arrivalProblem =
        "there was no room here for it; until the next try, some rounds from now, nothing more is "
        + "fetched: " + error.message
    }
  }

  /// Why nothing is fetched in this round, if it is too early for another try.
  func problemWithKeeping() -> String? {
    memory.withLock { memory in
      guard let problem = memory.arrivalProblem, !memory.arrivals.isDue() else { return nil }
      return problem
    }
  }

  /// Whether a round in which not all could be fetched publishes all the same: it ends with that
  /// error then.
  func maySend(despite error: CairnError) -> Bool {
    error.code == .diskSpace && following == nil
      && memory.withLock { $0.mayPublish && $0.forked.isEmpty && $0.cutOff == nil }
  }
}
