internal import CairnMerge
internal import CairnStore

/// What an object knew of its record when it was changed. Its datastore may have moved on before
/// the object could follow, or to what it can't follow as it can't be read. What came meanwhile is
/// to be merged, not taken for what was there.
extension ObjectStore {
  /// An object as it was, and the record that it was then.
  struct EarlierObject {
    var fields: ObjectFields
    var shaped: ShapedObject
  }

  /// The record as the object last saw it, where the datastore has moved on since; nil if it is
  /// what it was, as far as the object can tell.
  func seen(
    _ target: OutboxBook.Target, by earlier: EarlierObject?
  ) throws(CairnError) -> ObjectFields? {
    guard let remote = remotes[target.route], let earlier, earlier.shaped.route == target.route,
      isBehind(target.route, remote) || book.unread.contains(target.place),
      try home(target.object) == target.place
    else { return nil }
    let was = earlier.shaped
    guard let base = target.base else {
      // Without that nobody could show that it was deleted, and did not just stay behind.
      let tables = MappedTables(table: target.object.table, recordTable: target.table)
      let isGone = isContinued(tables, target.route, by: remote.store.vector, but: nil)
      return isGone ? was.fields : nil
    }
    guard let now = reading(base, target, earlier) else { return nil }
    var seen = base
    // A mapping may round: only what would show in the object is news.
    for field in was.known.union(now.keys)
    where !was.isSame(field, base[field], was.fields[field])
      && !was.isSame(field, now[field], was.fields[field])
    {
      seen[field] = was.fields[field]
    }
    // The object has changed these since it saw them.
    for entry in book.outbox.queued(target.object, target.place) {
      for field in entry.fields { seen[field] = entry.originals[field] }
    }
    return seen
  }

  /// Whether a record that is there is one which an object that is to be inserted knows nothing of.
  func isUnmet(
    _ target: OutboxBook.Target, isNew: Bool, wasElsewhere: Bool
  ) throws(CairnError) -> Bool {
    let queued = book.outbox.queued(target.object, target.place)
    // A merge with the record would have made an update of it.
    if queued.contains(where: { $0.kind == .insert }) { return true }
    // One that an object elsewhere left alone was looked at, and not followed.
    guard isNew, let remote = remotes[target.route],
      wasElsewhere || isBehind(target.route, remote),
      book.outbox.delete(of: target.place) == nil
    else { return false }
    return try home(target.object) == nil
  }

  /// Whether there may be something in a datastore that the objects have not followed.
  private func isBehind(_ route: String, _ remote: Datastore) -> Bool {
    remote.unsyncedChangesSize > 0 || book.followed[route]?.vector != remote.store.vector
  }

  /// What the object would say of its record after it has followed it; nil if it would leave the
  /// record alone.
  private func reading(
    _ base: ObjectFields, _ target: OutboxBook.Target, _ earlier: EarlierObject
  ) -> ObjectFields? {
    let key = target.object
    guard let mapping = mappings[key.table] else { return nil }
    do throws(CairnError) {
      let place = ObjectPlace(object: key.id, record: target.record)
      guard let fields = try mapping.absorb(base, earlier.fields, place) else { return nil }
      return try shape(key, fields)?.fields
    } catch {
      // It can't or does not want to say so now, which is not to leave the record alone.
      return base
    }
  }
}
