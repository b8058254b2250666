internal import CairnDisk
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// What is told to the store of others, and to people of what cuts keep back.
extension Exchange {
  /// Hands over what all heads say that their devices have applied.
  func learnWords() {
    let words = memory.withLock { memory in memory.heads.mapValues(\.acknowledged) }
    guard store.learn(words) else { return }
    inbox.withLock { $0.lookAgain() }
    memory.withLock { $0.heldSnapshots = [:] }
  }

  /// What a sync could not apply of these files because of a cut.
  func note(_ part: SyncOutcome, of items: [Inbox.Item]) {
    inbox.withLock { inbox in
      for (index, item) in items.enumerated() {
        inbox.setBesideCut(item.name, part.held[index].map(Exchange.reason))
      }
    }
  }

  /// Of all that the parts of a sync have said, what counts is the last that may still be so: a
  /// part that knows less says nothing.
  func note(cutOff: Cut?) { memory.withLock { $0.cutOff = cutOff } }

  private static func reason(_ cut: Cut) -> String {
    "held: it was written without knowledge of what device \(cut.dot.device) and others had "
      + "settled by its delta \(cut.dot.sequence); it becomes visible once one of them has it, or "
      + "once its device has taken that over"
  }

  func noteCuts(_ report: inout ExchangeReport) {
    // What was written under a name that was left is there under the next one.
    let left = store.cuts.earlierNames
    report.held = inbox.withLock { inbox in
      inbox.items.filter { left[$0.device] == nil }.compactMap { item in
        inbox.besideCuts[item.name].map {
          ExchangeReport.Waiting(name: item.name, bytes: 0, reason: $0)
        }
      }
    }
  }
}
