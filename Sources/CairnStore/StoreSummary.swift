import CairnDisk
import CairnLog
package import CairnMerge
import Synchronization

/// What can be said of a datastore in a list: only what is committed.
package struct StoreSummary: Hashable, Sendable {
  /// The datastore's title, nil if it has none.
  package var title: String?
  /// Time of the newest delta, nil if there is none.
  package var modified: Int64?
  /// Deltas of all devices that are in the state: a state that has all of another has more.
  package var deltas: UInt64
  /// Own deltas among them.
  package var ownDeltas: UInt64
  package var records: Int
  package var size: Int
  /// How often the store was put together anew: after that it may have fewer deltas.
  package var rejoinings: UInt64

  package static let infoTable = ":info"
  package static let infoRecord = RecordName("info")
  package static let titleField = "title"
}

extension Store {
  /// The summary of an open store that nothing was changed in since its last sync.
  package func summary() throws(StoreError) -> StoreSummary {
    try withState { guarded throws(StoreError) in try Store.summary(&guarded) }
  }

  /// The same under the lock, with nothing pending.
  static func summary(_ guarded: inout Guarded) throws(StoreError) -> StoreSummary {
    let title = try title(&guarded)
    return summary(guarded, title: title)
  }

  private static func title(_ guarded: inout Guarded) throws(StoreError) -> String? {
    let number = guarded.store.table(StoreSummary.infoTable)
    let found = try guarded.store.find(
      number, StoreSummary.infoRecord, StoreSummary.titleField)
    guard let (place, column) = found else { return nil }
    let view = try guarded.store.tables[number].view(place, column, &guarded.store.ground)
    if case .string(let text) = view.value { return text }
    return nil
  }

  /// The title of a store that has just committed. It is not looked for with each keystroke: only a
  /// delta that says something of it, or of rules, can change it.
  private static func committedTitle(_ guarded: inout Guarded) throws(StoreError) -> String? {
    if let known = guarded.store.knownTitle { return known.text }
    let title = try title(&guarded)
    guarded.store.knownTitle = StoreState.Title(text: title)
    return title
  }

  /// The summary of what is committed, as long as the files are this store's and nothing has to be
  /// read for it: once a sync has found the title. So it is there for whoever closes a store that
  /// is not to be used any more.
  package var committed: StoreSummary? {
    state.withLock { guarded in
      guard guarded.hasFiles, let title = guarded.store.knownTitle else { return nil }
      var summary = Store.summary(guarded, title: title.text)
      for table in guarded.store.tables where table.isCounted && table.hasPending {
        let pending = table.pendingTotals
        summary.records += pending.records
        summary.size += pending.size
      }
      return summary
    }
  }

  private static func summary(_ guarded: Guarded, title: String?) -> StoreSummary {
    let vector = guarded.store.vector
    return StoreSummary(
      title: title, modified: vector.isEmpty ? nil : guarded.store.modified,
      deltas: vector.total, ownDeltas: vector[guarded.store.device],
      records: guarded.store.totals.recordCount, size: guarded.store.totals.size,
      rejoinings: guarded.current.rejoinings)
  }

  /// The summary after a sync, if the sync changed what is in the state. A list is not worth a
  /// commit that failed, so errors are left to whoever reads the title next.
  static func summaryIfChanged(_ guarded: inout Guarded) -> StoreSummary? {
    let deltas = guarded.store.vector.total
    guard deltas != guarded.summarized else { return nil }
    do throws(StoreError) {
      // First of all: looked for between the arguments it costs a copy of all that is guarded.
      let title = try committedTitle(&guarded)
      let summary = summary(guarded, title: title)
      guarded.summarized = deltas
      return summary
    } catch { return nil }
  }
}

extension VersionVector {
  /// All deltas that it contains.
  package var total: UInt64 { entries.reduce(0) { $0 &+ $1.sequence } }
}
