import CairnMerge

/// What has changed since it was last told, for those who watch the store. Empty, and free but for
/// a comparison a change, while nobody does.
struct ChangeJournal {
  /// How many want to know which records change, and how many only that something does.
  private var recordWatchers = 0
  private var otherWatchers = 0
  /// Changed by mutations, rules and roll-backs on this device.
  private var local = ChangedRecords()
  /// Changed by deltas of other devices; told when the sync that applies them is at its end.
  private var remote = ChangedRecords()

  /// Whether anybody wants to know.
  private(set) var isOn = false
  /// Grows with every local change that is noted: there is something to tell at once.
  private(set) var localCount: UInt64 = 0

  mutating func watch(_ isWatching: Bool, records: Bool) {
    // A store that was closed meanwhile has forgotten its watchers.
    if records {
      recordWatchers = max(0, recordWatchers + (isWatching ? 1 : -1))
    } else {
      otherWatchers = max(0, otherWatchers + (isWatching ? 1 : -1))
    }
    isOn = recordWatchers + otherWatchers > 0
    if recordWatchers == 0 { (local, remote) = (ChangedRecords(), ChangedRecords()) }
  }

  mutating func note(_ id: RecordName, table: String, isLocal: Bool = true) {
    if !isOn { return }
    if isLocal { localCount &+= 1 }
    if recordWatchers == 0 { return }
    if isLocal { local.insert(id, table: table) } else { remote.insert(id, table: table) }
  }

  /// A whole table came from another device.
  mutating func noteAll(of table: String) {
    if recordWatchers > 0 { remote.insertAll(of: table) }
  }

  mutating func take(remote takesRemote: Bool) -> StoreChanges {
    var changes = StoreChanges()
    swap(&changes.local, &local)
    if takesRemote { swap(&changes.remote, &remote) }
    return changes
  }
}

/// What has changed in a store, by who did it.
package struct StoreChanges: Hashable, Sendable {
  package var local = ChangedRecords()
  package var remote = ChangedRecords()

  package init() {}

  package var isEmpty: Bool { local.isEmpty && remote.isEmpty }

  package mutating func formUnion(_ other: StoreChanges) {
    local.formUnion(other.local)
    remote.formUnion(other.remote)
  }
}
