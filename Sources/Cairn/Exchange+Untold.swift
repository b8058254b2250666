internal import CairnDisk
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// What syncs have done that failed then: it is told by the next one.
extension Exchange {
  func takeUntold() -> SyncParts {
    let untold = memory.withLock { memory in
      defer { memory.untold = [] }
      return memory.untold
    }
    var parts = SyncParts()
    for var outcome in untold {
      // The changes were the app's own, and a result says whether its own sync has committed.
      outcome.committed = nil
      parts.add(outcome)
    }
    return parts
  }

  /// `before`: the own delta that was the last when the sync began.
  func keepUntold(_ parts: SyncParts, since before: Dot) {
    var outcome = parts.whole()
    // The step that failed may have committed first.
    let last = Dot(device: store.device, sequence: store.vector[store.device])
    if last.device == before.device, last.sequence > before.sequence { outcome.committed = last }
    // Of all that waits the next one finds that out by itself.
    outcome.cutOff = nil
    let untold = outcome
    memory.withLock { $0.untold.append(untold) }
  }

  /// What the last sync has done if that has failed.
  var lastUntold: SyncOutcome? { memory.withLock { $0.untold.last } }
}
