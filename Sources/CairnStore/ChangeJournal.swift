import CairnMerge

/// What has changed since it was last told, for those who watch the store. Empty, and free but for
/// a comparison a change, while nobody does.
struct ChangeJournal {
  /// How many watch.
  private(set) var watchers = 0
  /// Changed by mutations, rules and roll-backs on this device.
  private var local = ChangedRecords()
  /// Changed by deltas of other devices; told when the sync that applies them is at its end.
  private var remote = ChangedRecords()

  /// Whether anybody wants to know.
  var isOn: Bool { watchers > 0 }
  /// Grows with every local change that is noted: there is something to tell at once.
  private(set) var localCount: UInt64 = 0

  mutating func watch(_ isWatching: Bool) {
    // A store that was closed meanwhile has forgotten its watchers.
    watchers = max(0, watchers + (isWatching ? 1 : -1))
    if watchers == 0 { (local, remote) = (ChangedRecords(), ChangedRecords()) }
  }

  mutating func note(_ id: RecordName, table: String, isLocal: Bool = true) {
    if !isOn { return }
    if isLocal {
      local.insert(id, table: table)
      localCount += 1
    } else {
      remote.insert(id, table: table)
    }
  }

  /// A whole table came from another device.
  mutating func noteAll(of table: String) {
    if isOn { remote.insertAll(of: table) }
  }

  mutating func take(remote takesRemote: Bool) -> StoreChanges {
    var changes = StoreChanges()
    swap(&changes.local, &local)
    if takesRemote { swap(&changes.remote, &remote) }
    return changes
  }
}

/// What has changed in a store, by who did it.
package struct StoreChanges: Sendable {
  package var local = ChangedRecords()
  package var remote = ChangedRecords()

  package var isEmpty: Bool { local.isEmpty && remote.isEmpty }
}
