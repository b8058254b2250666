internal import CairnMerge
internal import CairnStore

/// The result of a query, again and again as it changes: read it with `for try await`.
///
/// The first update is the result now; each later one comes when the result has changed, with the
/// steps from the last one. A slow reader misses results in between, but no change: what it reads
/// next is the result by then.
///
/// Which records are in a result and in which order is the state of one moment, at or after the
/// change that caused the update: never a mixture of two. The records are handles as always, and
/// show what they are when they are read; if that is already something newer, an update for it
/// follows. In a query without a sort the order is that of the record ids.
///
/// Cost: the first update looks at all records of the table, a later one at those that were
/// changed, and at the list of those that match, some ten nanoseconds each. Memory: what is sorted
/// by, of all records that match, also when a limit shows only some. After a change of very many
/// records at once (see `DatastoreChange.wholeTables`) the query is run anew.
///
/// Ends when the datastore is closed, its manager shut down or the reading task cancelled, and with
/// an error when another device has deleted the datastore.
public struct LiveQuery: AsyncSequence, Sendable {
  /// Reading fails as other reads do: when a file of the datastore is damaged.
  public typealias Failure = CairnError
  /// A result.
  public typealias Element = LiveUpdate

  /// The table that is asked.
  public let table: Table
  private let query: RecordQuery

  init(_ table: Table, _ query: RecordQuery) {
    self.table = table
    self.query = query
  }

  /// Begins to read: each loop has results of its own.
  public func makeAsyncIterator() -> Iterator { Iterator(table, query) }

  /// One loop's results.
  public struct Iterator: AsyncIteratorProtocol {
    private let table: Table
    private let subscription: Subscription<DatastoreChange>
    private var result: LiveResult
    private var isFirst = true

    init(_ table: Table, _ query: RecordQuery) {
      self.table = table
      subscription = table.datastore.observers.changes.subscribe()
      result = LiveResult(query)
    }

    /// The next result; nil when the datastore was closed, or the task cancelled.
    ///
    /// - Throws: `corrupt` and errors of the disk; `deleted` if another device has deleted the
    ///   datastore. The next call tries once more, with all records.
    public mutating func next() async throws(CairnError) -> LiveUpdate? {
      try await next(isolation: #isolation)
    }

    /// The next result; nil when the datastore was closed, or the task cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(CairnError) -> LiveUpdate? {
      while !Task.isCancelled {
        var seen: DatastoreChange?
        if !isFirst {
          seen = await subscription.next(isolation: actor)
          guard let seen else {
            // Cancelled or closed, or there is nothing left that could change.
            guard !Task.isCancelled, let ending = table.datastore.store.ending,
              ending.kind == .deleted
            else { return nil }
            throw CairnError(ending)
          }
          if !seen.affects(table.id) { continue }
        }
        let reading = table.datastore.observers.read(
          result.query, table: table.id, seen: seen, for: subscription)
        if let failure = reading.failure {
          // It would have ended so if it had waited.
          if failure.kind == .closed || failure.kind == .shutdown { return nil }
          isFirst = true
          throw CairnError(failure)
        }
        let steps = result.apply(reading)
        if isFirst || !steps.isEmpty {
          isFirst = false
          return LiveUpdate(table, result.names, steps)
        }
      }
      return nil
    }
  }
}

extension Table {
  /// The result of a query, now and whenever it changes.
  ///
  /// - Throws: `illegalArgument` and `badType` for a query that can't be run.
  public func live(_ query: Query = Query()) throws(CairnError) -> LiveQuery {
    try query.check()
    return LiveQuery(self, query.stored)
  }
}
