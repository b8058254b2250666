internal import CairnMerge

/// What a commit does to the queue: later changes take over from earlier ones.
extension OutboxBook {
  /// A record of an object, where it is.
  struct Target: Sendable {
    var object: RowKey
    var route: String
    var table: String
    var record: RecordID
    /// The record as it is there, nil if there is none.
    var base: ObjectFields?
    /// The record as the object last saw it, where it has moved on since; nil: `base` is that.
    var seen: ObjectFields?
    /// What a record that is inserted is to have beside what its mapping knows.
    var carried: ObjectFields = [:]

    /// What the record was when the object was changed, nil if there was none.
    var was: ObjectFields? { seen ?? base }
    var place: RecordPlace { RecordPlace(route: route, table: table, record: record) }
  }

  /// An object's record is to have other values in some fields. `now`: all that it is to be.
  /// `batch`: the set that it goes into.
  mutating func save(
    _ target: Target, _ changed: Set<String>, now: ShapedObject, in batch: UInt64
  ) {
    var queued = queued(target)
    var changed = changed
    var was = target.was
    if let deleted = queued.first(where: { $0.kind == .delete }) {
      // Deleted and there again: it has only become what it is now.
      remove(deleted)
      queued.removeAll { $0.kind == .delete }
      changed = now.known.filter { !now.isSame($0, deleted.originals[$0], now.fields[$0]) }
      if target.base != nil, changed.isEmpty { return }
      if target.base != nil { was = deleted.originals }
    }
    let isInserted = queued.contains { $0.kind == .insert }
    let isNew = was == nil && !isInserted
    if isNew { changed = Set(now.fields.keys) }
    guard isNew || !changed.isEmpty else { return }
    var originals: ObjectFields = [:]
    for field in changed {
      let earlier = queued.first { $0.fields.contains(field) }
      originals[field] = earlier == nil ? was?[field] : earlier?.originals[field]
    }
    take(changed, from: queued)
    if var same = self.queued(target).first(where: { $0.batch == batch }) {
      same.fields.formUnion(changed)
      same.originals.merge(originals) { _, new in new }
      put(same)
      return
    }
    if isNew { originals.merge(target.carried) { first, _ in first } }
    add(
      isNew ? .insert : .update, target.object, table: target.table, target.record,
      fields: changed, originals: originals, in: batch)
  }

  /// An object's record is to go. What was to be written to it before goes at once.
  mutating func delete(_ target: Target, in batch: UInt64) {
    let queued = queued(target)
    if queued.contains(where: { $0.kind == .delete }) { return }
    for entry in queued { remove(entry) }
    // A record that came meanwhile, and that the object was not merged with, is another device's.
    if queued.contains(where: { $0.kind == .insert }) { return }
    guard target.base != nil, let was = target.was else { return }
    add(
      .delete, target.object, table: target.table, target.record, fields: [], originals: was,
      in: batch)
  }

  /// After a merge: these fields are pending, over what the record says now, and no others.
  mutating func rebase(_ target: Target, still: Set<String>, in batch: UInt64) {
    let queued = queued(target)
    let base = target.base ?? [:]
    var missing = still
    for var entry in queued where entry.kind != .delete {
      entry.fields.formIntersection(still)
      missing.subtract(entry.fields)
      entry.originals = base.filter { entry.fields.contains($0.key) }
      // Somebody has inserted it.
      if target.base != nil { entry.kind = .update }
      if entry.fields.isEmpty, entry.kind == .update { remove(entry) } else { put(entry) }
    }
    if missing.isEmpty { return }
    let originals = base.filter { missing.contains($0.key) }
    if var last = self.queued(target).last(where: { $0.kind != .delete }) {
      last.fields.formUnion(missing)
      last.originals.merge(originals) { _, new in new }
      put(last)
    } else {
      add(
        .update, target.object, table: target.table, target.record, fields: missing,
        originals: originals, in: batch)
    }
  }

  /// Forgets what is queued of an object's record.
  mutating func drop(_ object: RowKey, _ place: RecordPlace) {
    for entry in queued(object, place) { remove(entry) }
  }

  /// Of a record that another object had, and was deleted with, that delete is among it.
  private func queued(_ target: Target) -> [Entry] {
    let queued = queued(target.object, target.place)
    guard let delete = delete(of: target.place), delete.object != target.object else {
      return queued
    }
    return [delete] + queued
  }

  // MARK: on its way

  /// A queued set is committed where it belongs.
  mutating func noteCommitted(_ batch: Batch, device: String, sequence: UInt64) {
    var batch = batch
    (batch.device, batch.sequence) = (device, sequence)
    put(batch)
  }
}
