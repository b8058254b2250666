import CairnDisk
package import CairnMerge
import Synchronization

/// For those who want to know what changes.
extension Store {
  /// What is called after local changes, on the thread that made them and under no lock of the
  /// store, as long as somebody watches. Set once, before the store is used.
  package func onChange(_ tell: @escaping @Sendable () -> Void) {
    onChange.withLock { $0.call = tell }
  }

  /// What is called when a compaction has failed, or succeeds after one has: on the thread that
  /// compacts, which closing and committing may wait for. Set once, before the store is used.
  package func onCompaction(_ tell: @escaping @Sendable () -> Void) {
    onCompaction.withLock { $0.call = tell }
  }

  /// Somebody watches from now on, or no more: changes are noted while anybody does, and which
  /// records they are in while anybody asks for that.
  package func watch(_ isWatching: Bool, records: Bool) {
    state.withLock { $0.store.journal.watch(isWatching, records: records) }
  }

  /// What has changed since this was last asked, by mutations here and, if wanted, by deltas of
  /// other devices.
  package func takeChanges(remote: Bool) -> StoreChanges {
    state.withLock { $0.store.journal.take(remote: remote) }
  }

  /// What of this device's work is where.
  package var standing: StoreStanding {
    let failure = compactionFailure
    return state.withLock { guarded in
      StoreStanding(
        hasPending: guarded.store.hasPending
          || !guarded.retiring.isEmpty,
        committed: guarded.committedAtEnd ?? guarded.store.vector[device],
        published: guarded.published,
        isDeleted: guarded.isDeleted, awaited: Store.silentMembers(guarded).sorted(),
        compactionFailure: failure)
    }
  }

  func tell() {
    let tell = onChange.withLock { $0.call }
    tell?()
  }

  /// For what may end the store in the turn. Whoever is told of that may close it: not in there.
  func tellingOfItsEnd<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    // A forked child may have no lock that another thread had then.
    try checkProcess()
    let wasOpen = isOpen
    do throws(StoreError) { return try body() } catch {
      if wasOpen, !isOpen { tell() }
      throw error
    }
  }

  /// Whether another device has deleted it.
  package var isDeleted: Bool { state.withLock { $0.isDeleted } }
}

/// What of a device's work is where.
package struct StoreStanding: Sendable {
  /// There are changes since the last sync.
  package var hasPending: Bool
  /// Own deltas in the log, and how many of them are in the folder for good.
  package var committed: UInt64
  package var published: UInt64
  /// Another device has deleted the datastore.
  package var isDeleted: Bool
  /// Devices that have not said yet that they have seen what somebody asked for.
  package var awaited: [DeviceID] = []
  /// Why the last compaction in the background failed.
  package var compactionFailure: StoreError?
}
