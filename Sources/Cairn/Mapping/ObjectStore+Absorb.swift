internal import CairnMerge
internal import CairnStore

/// One record becomes one object, merged with what is pending of it.
extension ObjectStore {
  /// Everything about an object and its record that a merge needs.
  private struct Meeting {
    /// Whether others are known to have changed the record.
    var isNews: Bool
    var key: RowKey
    var mapping: ObjectMapping
    var route: String
    var record: RecordID
    /// The record, nil if there is none.
    var remote: ObjectFields?
    /// The object, nil if there is none.
    var object: ObjectFields?
    var queued: [OutboxBook.Entry]

    var target: OutboxBook.Target {
      OutboxBook.Target(
        object: key, route: route, table: mapping.recordTable ?? "", record: record, base: remote)
    }
  }

  /// Makes an object what its record says, but for what is pending. Returns whether something
  /// pending was in the way. `isNews`: others are known to have changed the record.
  @discardableResult
  func absorb(
    _ key: RowKey, _ mapping: ObjectMapping, _ route: String, _ record: RecordID,
    isNews: Bool = false, lost: PendingFields = [:], _ sets: inout BatchNames,
    _ changes: inout [SyncResult.Change]
  ) throws(CairnError) -> Bool {
    let meeting = Meeting(
      isNews: isNews, key: key, mapping: mapping, route: route, record: record,
      remote: try self.record(route, mapping.recordTable ?? "", record), object: try fields(key),
      queued: book.outbox.queued(key, route, mapping.recordTable ?? ""))
    guard let remote = meeting.remote else { return try absorbDelete(meeting, &sets, &changes) }
    if let delete = meeting.queued.first(where: { $0.kind == .delete }) {
      return try restore(meeting, remote, delete, &sets, &changes)
    }
    guard let object = meeting.object else {
      try make(meeting, remote, &changes)
      return false
    }
    // One that stays here by its mapping has nothing to do with a record of the same id.
    guard let shaped = try shape(key, object) else { return false }
    return try merge(meeting, remote, shaped, lost: lost, &sets, &changes)
  }

  // MARK: both are there

  private func merge(
    _ meeting: Meeting, _ remote: ObjectFields, _ shaped: ShapedObject, lost: PendingFields,
    _ sets: inout BatchNames, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) -> Bool {
    var originals: ObjectFields = [:]
    var pending: PendingFields = [:]
    for entry in meeting.queued {
      originals.merge(entry.originals) { first, _ in first }
      for field in entry.fields { pending.updateValue(shaped.fields[field], forKey: field) }
    }
    var outcome = decide(meeting, remote, shaped, originals, pending)
    let isMerge =
      !pending.isEmpty && (meeting.isNews || pending.keys.contains { remote[$0] != originals[$0] })
    if let handler = meeting.mapping.resolve {
      let (losses, known) = lostHere(meeting, lost, besides: pending)
      if isMerge || !losses.isEmpty {
        var context = ObjectMerge(
          meeting.key, meeting.route, meeting.record,
          original: originals.merging(known) { a, _ in a }, remote: remote,
          pending: pending.merging(losses) { a, _ in a },
          conflicts: Set(outcome.conflicts).union(losses.keys), still: outcome.still)
        handler(&context)
        if context.isDeleted {
          try deleteBoth(meeting, &sets, &changes)
          return true
        }
        outcome.still = context.stillPending.mapValues { $0?.stored }
      }
    }
    // What comes to the same needs no upload.
    outcome.still = outcome.still.filter { $0.value != remote[$0.key] }
    var result = remote
    for (field, value) in outcome.still { result[field] = value }
    try put(meeting, result, &changes)
    if !meeting.queued.isEmpty || !outcome.still.isEmpty {
      let batch = sets.number(meeting.route, &book.outbox)
      book.outbox.rebase(meeting.target, still: Set(outcome.still.keys), in: batch)
    }
    return isMerge
  }

  private func decide(
    _ meeting: Meeting, _ remote: ObjectFields, _ shaped: ShapedObject, _ originals: ObjectFields,
    _ pending: PendingFields
  ) -> (still: PendingFields, conflicts: [String]) {
    var still: PendingFields = [:]
    var conflicts: [String] = []
    let table = meeting.mapping.recordTable ?? ""
    for (field, value) in pending {
      let way = ThreeWay(
        original: originals[field], remote: remote[field], pending: value,
        rule: remotes[meeting.route]?.store.rule(table: table, field: field) ?? .remote,
        isSet: shaped.sets.contains(field))
      if way.isPending { still.updateValue(way.value, forKey: field) }
      if way.isConflict { conflicts.append(field) }
    }
    return (still, conflicts)
  }

  /// Of what lost by a rule: what was committed by a set whose originals are still here. It is
  /// asked for once.
  private func lostHere(
    _ meeting: Meeting, _ lost: PendingFields, besides pending: PendingFields
  ) -> (PendingFields, ObjectFields) {
    var values: PendingFields = [:]
    var originals: ObjectFields = [:]
    let sent = book.outbox.changes(meeting.key, meeting.route, meeting.target.table) {
      !$0.isQueued
    }
    for (field, value) in lost where pending[field] == nil {
      guard let entry = sent.first(where: { $0.fields.contains(field) }) else { continue }
      values.updateValue(value, forKey: field)
      originals[field] = entry.originals[field]
    }
    book.outbox.take(Set(values.keys), from: sent)
    return (values, originals)
  }

  // MARK: one is deleted

  /// The record is gone.
  private func absorbDelete(
    _ meeting: Meeting, _ sets: inout BatchNames, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) -> Bool {
    guard let object = meeting.object else {
      drop(meeting)
      return false
    }
    // It is not there yet, or it was never to be there.
    if meeting.queued.contains(where: { $0.kind == .insert }) { return false }
    guard let shaped = try shape(meeting.key, object), shaped.route == meeting.route else {
      return false
    }
    var pending: PendingFields = [:]
    var originals: ObjectFields = [:]
    for entry in meeting.queued {
      originals.merge(entry.originals) { first, _ in first }
      for field in entry.fields { pending.updateValue(shaped.fields[field], forKey: field) }
    }
    if !pending.isEmpty, let handler = meeting.mapping.resolve {
      var context = ObjectMerge(
        meeting.key, meeting.route, meeting.record, original: originals, remote: nil,
        pending: pending, conflicts: Set(pending.keys), still: pending)
      handler(&context)
      if !context.isDeleted {
        try keep(meeting, shaped, context.stillPending.mapValues { $0?.stored }, &sets, &changes)
        return true
      }
    }
    drop(meeting)
    try remove(meeting, &changes)
    return !pending.isEmpty
  }

  /// Inserts the record again, with all that the object is.
  private func keep(
    _ meeting: Meeting, _ shaped: ShapedObject, _ still: PendingFields,
    _ sets: inout BatchNames, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) {
    drop(meeting)
    var result = shaped.fields
    for (field, value) in still { result[field] = value }
    try put(meeting, result, &changes)
    let batch = sets.number(meeting.route, &book.outbox)
    var target = meeting.target
    target.base = nil
    book.outbox.save(target, [], now: result, known: Set(result.keys), in: batch)
  }

  /// The object was deleted here, and the record has changed.
  private func restore(
    _ meeting: Meeting, _ remote: ObjectFields, _ delete: OutboxBook.Entry,
    _ sets: inout BatchNames, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) -> Bool {
    // Detached, and its record deleted: the object has no say in it.
    if delete.originals == remote || meeting.object != nil { return false }
    var context = ObjectMerge(
      meeting.key, meeting.route, meeting.record, original: delete.originals, remote: remote,
      pending: nil, conflicts: [], still: [:])
    meeting.mapping.resolve?(&context)
    if context.isDeleted {
      var delete = delete
      delete.originals = remote
      book.outbox.put(delete)
      return true
    }
    drop(meeting)
    let still = context.stillPending.mapValues { $0?.stored }
      .filter { $0.value != remote[$0.key] }
    var result = remote
    for (field, value) in still { result[field] = value }
    try make(meeting, result, &changes)
    if !still.isEmpty {
      let batch = sets.number(meeting.route, &book.outbox)
      book.outbox.rebase(meeting.target, still: Set(still.keys), in: batch)
    }
    return true
  }

  private func drop(_ meeting: Meeting) {
    book.outbox.drop(meeting.key, meeting.route, meeting.target.table)
  }

  private func deleteBoth(
    _ meeting: Meeting, _ sets: inout BatchNames, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) {
    let batch = sets.number(meeting.route, &book.outbox)
    book.outbox.delete(meeting.target, in: batch)
    try remove(meeting, &changes)
  }

  // MARK: objects

  private func make(
    _ meeting: Meeting, _ record: ObjectFields, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) {
    let place = ObjectPlace(object: meeting.key.id, record: meeting.record)
    guard let fields = try meeting.mapping.absorb(record, nil, place) else { return }
    // Before anything is changed: it may throw.
    let wanted = try shape(meeting.key, fields)?.route
    let (table, id) = (meeting.key.table, meeting.key.id.name)
    try wrapped { () throws(StoreError) in
      try local.store.insert(table: table, id: id, fields.inOrder.map { ($0.0, $0.1) })
    }
    changes.append(SyncResult.Change(table: table, id: meeting.key.id, isDeleted: false))
    // It stays where it came from, also if the mapping would say another route.
    if book[link: meeting.key] == nil, wanted != meeting.route {
      book[link: meeting.key] = MappingBook.Link(route: meeting.route, record: meeting.record)
    }
  }

  private func put(
    _ meeting: Meeting, _ record: ObjectFields, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) {
    guard let now = meeting.object else { return try make(meeting, record, &changes) }
    let place = ObjectPlace(object: meeting.key.id, record: meeting.record)
    guard let fields = try meeting.mapping.absorb(record, now, place) else { return }
    let changed = ObjectFields.differences(now, fields).sorted()
    if changed.isEmpty { return }
    let (table, id) = (meeting.key.table, meeting.key.id.name)
    try wrapped { () throws(StoreError) in
      try local.store.update(table: table, id: id, changed.map { ($0, fields[$0]) })
    }
    changes.append(SyncResult.Change(table: table, id: meeting.key.id, isDeleted: false))
  }

  private func remove(
    _ meeting: Meeting, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) {
    guard meeting.object != nil else { return }
    let (table, id) = (meeting.key.table, meeting.key.id.name)
    try wrapped { () throws(StoreError) in try local.store.delete(table: table, id: id) }
    book[link: meeting.key] = nil
    changes.append(SyncResult.Change(table: table, id: meeting.key.id, isDeleted: true))
  }
}

extension ObjectMerge {
  /// `pending`: nil for a pending delete.
  init(
    _ key: RowKey, _ route: String, _ record: RecordID, original: ObjectFields,
    remote: ObjectFields?, pending: PendingFields?, conflicts: Set<String>,
    still: PendingFields
  ) {
    table = key.table
    object = key.id
    self.route = route
    self.record = record
    self.original = original.shown
    self.remote = remote?.shown
    self.pending = (pending ?? [:]).mapValues { $0.map(Value.init) }
    isPendingDelete = pending == nil
    self.conflicts = conflicts.sorted()
    stillPending = still.mapValues { $0.map(Value.init) }
    isDeleted = pending == nil || remote == nil
  }
}
