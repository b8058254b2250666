internal import CairnDisk
internal import CairnStore
internal import Synchronization

/// Agreements that were fetched and can't be applied yet.
extension Exchange {
  /// A commit that asks for a cut goes by what was fetched, too. What is remembered of that is gone
  /// with each process.
  func hearBeforeAsking() {
    guard store.mayAskForCut else { return }
    let names = inbox.withLock { Set($0.free.map(\.name)) }
    // What can't be read now is said when it is taken in, and is no reason not to commit.
    do throws(CairnError) { try hearOfCuts(in: names) } catch {}
  }

  /// All is taken in parts, and what an earlier one has may be kept out by a cut in a later one.
  func hearOfCuts(in judged: Set<String>) throws(CairnError) {
    dropSeen()
    let items = batches(of: judged).joined()
    // What an author had seen is told by its own deltas.
    let authors = Set(items.filter(\.mayHaveCuts).map(\.device))
    for item in items where authors.contains(item.device) {
      if let pack = try packOrForget(item) { store.hear(of: pack) }
    }
  }
}
