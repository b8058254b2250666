import Synchronization

/// For those who want to know what changes.
extension Store {
  /// What is called after local changes, on the thread that made them and under no lock of the
  /// store, as long as somebody watches. Set once, before the store is used.
  package func onChange(_ tell: @escaping @Sendable () -> Void) {
    onChange.withLock { $0 = tell }
  }

  /// Somebody watches from now on, or no more: changes are noted while anybody does.
  package func watch(_ isWatching: Bool) {
    state.withLock { $0.store.journal.watch(isWatching) }
  }

  /// What has changed since this was last asked, by mutations here and, if wanted, by deltas of
  /// other devices.
  package func takeChanges(remote: Bool) -> StoreChanges {
    state.withLock { $0.store.journal.take(remote: remote) }
  }

  func tell() {
    let tell = onChange.withLock { $0 }
    tell?()
  }

  /// Another device has deleted the datastore: whatever is asked of it from now on throws
  /// `deleted`. It still has to be closed.
  package func markDeleted() { state.withLock { $0.isDeleted = true } }

  /// Whether another device has deleted it.
  package var isDeleted: Bool { state.withLock { $0.isDeleted } }
}
