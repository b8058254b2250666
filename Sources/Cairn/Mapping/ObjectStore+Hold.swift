internal import CairnMerge
internal import CairnStore

/// What is pending of objects that this version of the app does not map, or on routes that it has
/// not opened: it waits, apart from all else.
extension ObjectStore {
  /// Why a set can't be uploaded; nil for one that can.
  func hold(_ batch: OutboxBook.Batch) -> ChangeSet.Hold? {
    if remotes[batch.route] == nil { return .noRoute }
    let strange = book.outbox.changes(in: batch).filter { !isMapped($0) }
    return strange.isEmpty ? nil : .noMapping(tables: Set(strange.map(\.object.table)).sorted())
  }

  private func isMapped(_ entry: OutboxBook.Entry) -> Bool {
    mappings[entry.object.table]?.recordTable == entry.table
  }

  /// To be called after the routes were followed: what is committed already is known then.
  ///
  /// A set is uploaded as a whole, so what can't be goes into a set of its own, behind the one that
  /// it was in.
  func holdWhatCannotLeave() throws(CairnError) {
    var rest = book.outbox.list(where: \.isQueued)[...]
    repeat {
      rest = try changing { () throws(CairnError) in
        var rest = rest
        while let batch = rest.popFirst() {
          let entries = book.outbox.changes(in: batch)
          let strange = entries.filter { !isMapped($0) }
          if strange.isEmpty || strange.count == entries.count { continue }
          if !book.outbox.split(strange, from: batch) {
            _ = book.outbox.split(entries.filter { isMapped($0) }, from: batch)
          }
          if try isFull() { break }
        }
        noteHeld()
        try commit()
        return rest
      }
    } while !rest.isEmpty
  }

  func noteHeld() {
    let queued = book.outbox.list(where: \.isQueued)
    book.outbox.held = Set(queued.filter { hold($0) != nil }.map(\.number))
  }
}
