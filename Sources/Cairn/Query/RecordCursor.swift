internal import CairnDisk
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Walks over the records that a query finds, one by one. May be used from any thread; what one
/// takes, no other gets.
///
/// The datastore may change meanwhile, nothing is held up. No record comes twice, whatever happens,
/// and one that is there and matches from beginning to end comes for certain. One that is inserted,
/// deleted or changed meanwhile may come or not; the record shows what it is now, as always. A
/// query without an order is searched some hundreds to thousands of records at a time, in the
/// order of the library's own keys; one with an order, or with an index that leaves few candidates,
/// is searched at the first `next()`, and the cursor holds the ids of its result, 24 bytes each.
public final class RecordCursor: Sendable {
  /// The table that it walks over.
  public let table: Table

  private struct State {
    var walk: QueryWalk
    var batch: [RecordName] = []
    var position = 0
  }

  private let state: Lock<State>

  init(_ table: Table, _ query: Query) {
    self.table = table
    state = Lock(State(walk: QueryWalk(query.stored)))
  }

  /// The next record, nil when there are no more.
  ///
  /// - Throws: `closed`, and what reading from the disk can throw; the next call tries again.
  public func next() throws(CairnError) -> Record? {
    let store = table.datastore.store
    let table = table.id
    let name = try state.withLock { state throws(CairnError) -> RecordName? in
      if state.position == state.batch.count {
        if state.walk.hasEnded { return nil }
        state.batch = try wrapped { () throws(StoreError) in
          try store.advance(&state.walk, table: table)
        }
        state.position = 0
        if state.batch.isEmpty { return nil }
      }
      defer { state.position += 1 }
      return state.batch[state.position]
    }
    return name.map { Record(table: self.table, id: RecordID($0)) }
  }

  /// Calls `body` with each record that is left. What it throws ends the walk.
  public func forEach(_ body: (Record) throws(CairnError) -> Void) throws(CairnError) {
    while let record = try next() { try body(record) }
  }
}
