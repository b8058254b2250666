internal import CairnDisk
internal import Synchronization

/// Telling that there is something for a sync.
extension Exchange {
  /// The inbox has changed: is there something for a sync? Asked and noted in one, so that the
  /// last answer is the right one.
  ///
  /// - Parameter hasArrived: Something is there that a sync may take and that the last one, which
  ///   may be running, may not have seen.
  func noteInbox(hasArrived: Bool = false) {
    inbox.withLock { inbox in
      _ = condition.set { state in
        if hasArrived { state.arrivals &+= 1 }
        state.hasIncoming = inbox.hasNews || isReadyToRejoin
        state.isBlocked = inbox.free.contains { inbox.blocked.contains($0.name) }
      }
    }
    condition.tell()
  }

  /// At the end of a round: whoever syncs when told that something is incoming was told of what is
  /// here, and could not take it. Not at once, since that would be tried without a pause.
  func tellAgain() {
    let mustTell = memory.withLock { memory in
      defer { memory.mustTellAgain = false }
      return memory.mustTellAgain
    }
    if mustTell, condition.current.hasIncoming { noteInbox(hasArrived: true) }
  }
}
