/// News of a datastore, as sequences or by handlers.
extension Datastore {
  /// Which records change, from now on: local changes as they are made, those of other devices once
  /// a `sync()`, if at least one record is affected. Roll-backs are local changes.
  ///
  /// Each loop over it sees everything. What is not read yet is joined, local and remote changes
  /// apart. Ends when the datastore is closed, or another device has deleted it.
  public var changes: Updates<DatastoreChange> { Updates(of: observers.changes) }

  /// The status now, then each one that differs from the one read before. What comes and goes
  /// between two reads is not told; only of what is `incoming` it is told each time that there is
  /// more, so that who syncs then misses nothing. Ends when the datastore is closed.
  public var statusChanges: Updates<DatastoreStatus> {
    Updates(of: observers.statuses) { [weak observers] in observers?.status }
  }

  /// Calls the handler with what `changes` tells, until the result is dropped or cancelled, or the
  /// datastore closed: after `close()` it is not called with what was scheduled before either. A
  /// call that is running on another thread may end after that. What waits when another device has
  /// deleted the datastore is still told.
  ///
  /// `schedule` is called on a thread that has just changed the datastore, not always the one that
  /// made this change: of several that change something at once one tells of it all. It has to run
  /// what it is given later or elsewhere, `{ DispatchQueue.main.async(execute: $0) }` for example;
  /// `{ $0() }` runs it there and then. It is not called again before the handler is done, so the
  /// handler never runs twice at once, on whatever it is scheduled.
  public func observe(
    on schedule: @escaping Scheduler, _ handler: @escaping @Sendable (DatastoreChange) -> Void
  ) -> Observation {
    Observation(observers.changes.subscribe(on: schedule, observers.untilClosed(handler)))
  }

  /// Calls the handler with the status now and each one that differs, as `observe` does.
  public func observeStatus(
    on schedule: @escaping Scheduler, _ handler: @escaping @Sendable (DatastoreStatus) -> Void
  ) -> Observation {
    let observers = observers
    return Observation(
      observers.statuses.subscribe(
        on: schedule, current: { observers.status }, observers.untilClosed(handler)))
  }
}
