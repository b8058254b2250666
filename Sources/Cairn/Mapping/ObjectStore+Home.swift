internal import CairnMerge
internal import CairnStore

/// Which record is an object's own: the evidence that it had one. Without it a record that is not
/// there was never there, and a record of the same id on another route is another thing.
extension ObjectStore {
  /// Where the object's record is, as far as this device has seen; nil for one that has none yet.
  func home(_ key: RowKey) throws(CairnError) -> RecordPlace? {
    if let noted = book.homes[key] { return noted }
    return try MappingBook.home(of: key, in: local.store)
  }

  func setHome(_ place: RecordPlace?, of key: RowKey) throws(CairnError) {
    if try home(key) != place { book.note(home: place, of: key) }
  }

  /// After a set was committed: where its objects have their records now.
  func noteHomes(_ batch: OutboxBook.Batch) throws(CairnError) {
    for entry in book.outbox.changes(in: batch) {
      let place = RecordPlace(route: batch.route, table: entry.table, record: entry.record)
      if entry.kind == .delete {
        if try home(entry.object) == place { try setHome(nil, of: entry.object) }
      } else if book.place(entry.object).record == entry.record,
        book[link: entry.object]?.isDetached != true, try fields(entry.object) != nil,
        try record(batch.route, entry.table, entry.record) != nil
      {
        try setHome(place, of: entry.object)
      }
    }
  }

  /// The record of the same id on another route that an object can go on with; nil if there is
  /// none. One that was attached to a record belongs to that one only.
  func otherPlace(_ key: RowKey, but place: RecordPlace) throws(CairnError) -> RecordPlace? {
    if let record = book[link: key]?.record, record != key.id { return nil }
    for route in remotes.keys.sorted() where route != place.route {
      let other = RecordPlace(route: route, table: place.table, record: key.id)
      let address = MappingBook.Address(route: route, record: key.id)
      guard try record(route, other.table, key.id) != nil,
        book.isFree(address, for: key), book.outbox.delete(of: other) == nil
      else { continue }
      return other
    }
    return nil
  }
}
