internal import CairnDisk
internal import CairnStore
internal import Synchronization

/// Those who want to know what becomes of a datastore.
///
/// Locks are taken in this order: the broadcast's, then the store's or the condition's. Nobody is
/// told anything while one of them is held.
final class DatastoreObservers: Sendable {
  private let lateChanges: LateBroadcast<DatastoreChange>
  private let lateStatuses: LateBroadcast<DatastoreStatus>
  private let store: Store
  /// nil for a local datastore.
  private let condition: ExchangeCondition?
  /// The status at the end.
  private let last = Lock<DatastoreStatus?>(nil)
  private let isOver = Atomic<Bool>(false)

  init(_ store: Store, _ condition: ExchangeCondition?) {
    self.store = store
    self.condition = condition
    lateChanges = LateBroadcast {
      Broadcast(
        merge: { $0.join($1) }, split: { $0.split() },
        onActivity: { store.watch($0, records: true) })
    }
    lateStatuses = LateBroadcast {
      Broadcast(
        isRepeat: { $1.isRepeat(of: $0) }, onActivity: { store.watch($0, records: false) })
    }
    store.onChange { [weak self] in self?.tell() }
    // Elsewhere: a handler that closes the datastore would wait for the thread that it is on.
    store.onCompaction { [weak self] in Task { [weak self] in self?.tellStatus() } }
    condition?.onChange { [weak self] in self?.tellStatus() }
  }

  deinit { finish() }

  /// For those who subscribe.
  var changes: Broadcast<DatastoreChange> { lateChanges.value }
  var statuses: Broadcast<DatastoreStatus> { lateStatuses.value }

  var status: DatastoreStatus {
    last.withLock { $0 } ?? DatastoreStatus(store.standing, condition?.current)
  }

  /// Tells what was noted: local changes at once, those of other devices at the end of a sync.
  func tell(remote: Bool = false) {
    if !lateChanges.isActive, !lateStatuses.isActive { return }
    lateChanges.send {
      let changes = store.takeChanges(remote: remote)
      return changes.isEmpty ? nil : DatastoreChange(changes)
    }
    tellStatus()
  }

  /// What a live query finds now. `seen` is what it was told last, nil at first. What waits for it
  /// and what nobody was told yet is looked at, too, and the latter told to all others.
  func read(
    _ query: RecordQuery, table: String, seen: DatastoreChange?,
    for subscription: Subscription<DatastoreChange>
  ) -> LiveReading {
    var reading = LiveReading()
    subscription.catchUp { waiting in
      let known = seen.map { seen in [seen.all, waiting?.all].compactMap { $0 } }
      reading = store.read(live: query, table: table, seen: known)
      return reading.changes.isEmpty ? nil : DatastoreChange(reading.changes)
    }
    return reading
  }

  func tellStatus() { lateStatuses.send { status } }

  /// Called before the store is closed: what it says afterwards.
  func keepStatus() {
    var status = status
    (status.connected, status.outgoing) = (false, false)
    last.withLock { [status] in $0 = $0 ?? status }
  }

  /// A handler that is called as long as the datastore is not closed: whoever has closed it may
  /// have let go of what the handler works on. What waits for a sequence is read all the same.
  func untilClosed<News: Sendable>(
    _ handler: @escaping @Sendable (News) -> Void
  ) -> @Sendable (News) -> Void {
    { [weak self] news in
      guard let self, !isOver.load(ordering: .acquiring) else { return }
      handler(news)
    }
  }

  /// Nothing can change any more: what goes on is the status.
  func finishChanges() { lateChanges.finish() }

  /// Ends all sequences and observations.
  func finish() {
    isOver.store(true, ordering: .releasing)
    finishChanges()
    lateStatuses.finish()
  }
}
