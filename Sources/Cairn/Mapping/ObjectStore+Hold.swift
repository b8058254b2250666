internal import CairnMerge
internal import CairnStore

/// What is pending of objects that this version of the app does not map, of records that it can't
/// read, or on routes that it has not opened: it waits, apart from all else.
extension ObjectStore {
  /// Why a set can't be uploaded; nil for one that can.
  func hold(_ batch: OutboxBook.Batch) -> ChangeSet.Hold? {
    if remotes[batch.route] == nil { return .noRoute }
    let strange = book.outbox.changes(in: batch).filter { !canLeave($0, batch) }
    if strange.isEmpty { return nil }
    let tables = Set(strange.filter { !isMapped($0) }.map(\.object.table))
    if !tables.isEmpty { return .noMapping(tables: tables.sorted()) }
    return .unreadable(records: Set(strange.map(\.record)).sorted())
  }

  private func canLeave(_ entry: OutboxBook.Entry, _ batch: OutboxBook.Batch) -> Bool {
    let place = RecordPlace(route: batch.route, table: entry.table, record: entry.record)
    return isMapped(entry) && !unreadable.contains(place)
  }

  private func isMapped(_ entry: OutboxBook.Entry) -> Bool {
    mappings[entry.object.table]?.recordTable == entry.table
  }

  /// To be called after the routes were followed, as what is committed already is known then; and
  /// when a merge has found what can't be read.
  ///
  /// A set is uploaded as a whole, so what can't be goes into a set of its own, behind the one that
  /// it was in.
  func holdWhatCannotLeave() throws(CairnError) {
    var rest = book.outbox.list(where: \.isQueued)[...]
    repeat {
      rest = try changing { () throws(CairnError) in
        var rest = rest
        while let batch = rest.popFirst() {
          if separate(batch), try isFull() { break }
        }
        noteHeld()
        try commit()
        return rest
      }
    } while !rest.isEmpty
  }

  /// Returns whether a part of the set is one of its own now.
  private func separate(_ batch: OutboxBook.Batch) -> Bool {
    let entries = book.outbox.changes(in: batch)
    let strange = entries.filter { !canLeave($0, batch) }
    if strange.isEmpty || strange.count == entries.count { return false }
    if !book.outbox.split(strange, from: batch) {
      _ = book.outbox.split(entries.filter { canLeave($0, batch) }, from: batch)
    }
    return true
  }

  /// What waited for a record that could not be read goes on, and apart from what waits for others:
  /// or later sets of that record would be uploaded before it.
  func release(_ place: RecordPlace) {
    if unreadable.remove(place) == nil { return }
    for batch in book.outbox.list(where: \.isQueued) where batch.route == place.route {
      _ = separate(batch)
    }
    noteHeld()
  }

  func noteHeld() {
    let queued = book.outbox.list(where: \.isQueued)
    book.outbox.held = Set(queued.filter { hold($0) != nil }.map(\.number))
  }
}
