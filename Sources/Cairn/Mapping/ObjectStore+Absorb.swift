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
    var place: RecordPlace
    /// The record, nil if there is none.
    var remote: ObjectFields?
    /// The object, nil if there is none.
    var object: ObjectFields?
    var queued: [OutboxBook.Entry]
    /// The object had another record until now, which others have deleted; this one takes over,
    /// with what was pending of that.
    var isMoved = false
    /// Whether the record counts as unread from now on, nil if as before: by its mapping the object
    /// stays here.
    var isUnread: Bool? = false

    var target: OutboxBook.Target {
      OutboxBook.Target(
        object: key, route: place.route, table: place.table, record: place.record, base: remote)
    }
    var objectPlace: ObjectPlace { ObjectPlace(object: key.id, record: place.record) }
  }

  /// Makes an object what its record says, but for what is pending. Returns whether something
  /// pending was in the way. `isNews`: others are known to have changed the record.
  ///
  /// Functions of the app's are asked before anything is changed: what they throw leaves nothing
  /// half, neither in the objects nor in the queue.
  @discardableResult
  func absorb(
    _ key: RowKey, _ mapping: ObjectMapping, _ route: String, _ record: RecordID,
    isNews: Bool = false, _ sets: inout BatchNames, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) -> Bool {
    let place = RecordPlace(route: route, table: mapping.recordTable ?? "", record: record)
    var meeting = Meeting(
      isNews: isNews, key: key, mapping: mapping, place: place,
      remote: try self.record(route, place.table, record), object: try fields(key),
      queued: book.outbox.queued(key, place))
    let isMerge = try meet(&meeting, &sets, &changes)
    if let isUnread = meeting.isUnread { book.note(place, isUnread: isUnread) }
    release(place)
    return isMerge
  }

  private func meet(
    _ meeting: inout Meeting, _ sets: inout BatchNames, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) -> Bool {
    guard let remote = meeting.remote else { return try absorbDelete(meeting, &sets, &changes) }
    if let delete = book.outbox.delete(of: meeting.place) {
      return try restore(&meeting, remote, delete, &sets, &changes)
    }
    guard let object = meeting.object else {
      try make(&meeting, remote, &changes)
      return false
    }
    // One that stays here by its mapping has nothing to do with a record of the same id.
    guard let shaped = try shape(meeting.key, object) else {
      // One that goes with this record all the same had another, which others have deleted.
      let isBack =
        try home(meeting.key) == nil && book[link: meeting.key]?.route == meeting.place.route
      meeting.isUnread = isBack ? true : nil
      return false
    }
    guard try adopts(&meeting, shaped) else { return false }
    return try merge(&meeting, remote, shaped, &sets, &changes)
  }

  /// Whether an object and a record of its id belong together. If the object has a record on
  /// another route, or is to have one, this is another thing.
  private func adopts(
    _ meeting: inout Meeting, _ shaped: ShapedObject
  ) throws(CairnError) -> Bool {
    guard let home = try home(meeting.key), home != meeting.place else {
      return try self.home(meeting.key) != nil || shaped.route == meeting.place.route
    }
    if home.route == meeting.place.route || remotes[home.route] == nil {
      return shaped.route == meeting.place.route
    }
    if try record(home.route, home.table, home.record) != nil { return false }
    meeting.isMoved = true
    meeting.queued += book.outbox.queued(meeting.key, home)
    return true
  }

  // MARK: both are there

  private func merge(
    _ meeting: inout Meeting, _ remote: ObjectFields, _ shaped: ShapedObject,
    _ sets: inout BatchNames, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) -> Bool {
    var (pending, originals) = wanted(meeting, shaped)
    if book.version != version.tag { addNew(&pending, remote, shaped) }
    var outcome = decide(meeting, remote, shaped, originals, pending)
    let isMerge =
      !pending.isEmpty
      && (meeting.isNews
        || pending.keys.contains { !shaped.isSame($0, remote[$0], originals[$0]) })
    var losses = Losses()
    var isAsked = false
    if let handler = meeting.mapping.resolve {
      losses = try lostHere(meeting, besides: pending)
      isAsked = isMerge || !losses.values.isEmpty
      if isAsked {
        var context = ObjectMerge(
          meeting.key, meeting.place, original: originals.merging(losses.originals) { a, _ in a },
          remote: remote, pending: pending.merging(losses.values) { a, _ in a },
          conflicts: Set(outcome.conflicts).union(losses.values.keys), still: outcome.still)
        handler(&context)
        if context.isDeleted {
          book.outbox.take(Set(losses.values.keys), from: losses.sent)
          try deleteBoth(meeting, &sets, &changes)
          return true
        }
        outcome.still = context.stillPending.mapValues { $0?.stored }
      }
    }
    // What comes to the same needs no upload.
    outcome.still = outcome.still.filter { !shaped.isSame($0.key, $0.value, remote[$0.key]) }
    var result = remote
    for (field, value) in outcome.still { result[field] = value }
    let fields = try meeting.mapping.absorb(result, meeting.object, meeting.objectPlace)
    var after: ShapedObject?
    if let fields, isAsked || meeting.isMoved {
      after = try meeting.mapping.shape(fields, meeting.objectPlace, .change)
      // What the object can't say, nobody could upload.
      outcome.still = outcome.still.filter { $0.value == nil || after?.fields[$0.key] != nil }
    }
    if let fields, fields != meeting.object { meeting.isUnread = try staysHere(fields, meeting) }
    // From here on nothing of the app's is asked.
    if let fields { try put(meeting, fields, &changes) }
    book.outbox.take(Set(losses.values.keys), from: losses.sent)
    if meeting.isMoved { move(meeting, to: after?.route) }
    if !meeting.queued.isEmpty || !outcome.still.isEmpty {
      if !outcome.still.isEmpty { sets.makeRoom(for: outcome.still.values, upTo: partMax) }
      let batch = sets.number(meeting.place.route, &book.outbox)
      book.outbox.rebase(meeting.target, still: Set(outcome.still.keys), in: batch)
    }
    try setHome(meeting.place, of: meeting.key)
    return isMerge
  }

  /// Whether what an object becomes by its record stays on this device by the mapping. Others share
  /// it then: no change of it here may delete that.
  private func staysHere(
    _ fields: ObjectFields, _ meeting: Meeting
  ) throws(CairnError) -> Bool {
    do throws(CairnError) {
      return try meeting.mapping.shape(fields, meeting.objectPlace, .change) == nil
    } catch {
      // The object's next change is refused for it.
      if error.code == .badType || error.code == .illegalArgument { return false }
      throw error
    }
  }

  /// What is pending of an object, and what that was.
  private func wanted(_ meeting: Meeting, _ shaped: ShapedObject) -> (PendingFields, ObjectFields) {
    var pending: PendingFields = [:]
    var originals: ObjectFields = [:]
    for entry in meeting.queued {
      originals.merge(entry.replaced) { first, _ in first }
      for field in entry.fields { pending.updateValue(shaped.fields[field], forKey: field) }
    }
    return (pending, originals)
  }

  /// Before all objects were enumerated for these mappings: a field that no record has yet is one
  /// that mappings before did not speak of, and the object's value of it must not go.
  private func addNew(
    _ pending: inout PendingFields, _ remote: ObjectFields, _ shaped: ShapedObject
  ) {
    for (field, value) in shaped.fields
    where remote[field] == nil && pending[field] == nil && !shaped.isSame(field, value, nil) {
      pending.updateValue(value, forKey: field)
    }
  }

  /// What was pending of the record that is gone is pending of this one, and is queued anew.
  private func move(_ meeting: Meeting, to route: String?) {
    let own = Set(book.outbox.queued(meeting.key, meeting.place).map(\.number))
    for entry in meeting.queued where !own.contains(entry.number) { book.outbox.remove(entry) }
    // It stays where it is, also if the mapping would say another route.
    book[link: meeting.key] =
      route == nil || route == meeting.place.route
      ? nil : MappingBook.Link(route: meeting.place.route, record: meeting.place.record)
  }

  private func decide(
    _ meeting: Meeting, _ remote: ObjectFields, _ shaped: ShapedObject, _ originals: ObjectFields,
    _ pending: PendingFields
  ) -> (still: PendingFields, conflicts: [String]) {
    var still: PendingFields = [:]
    var conflicts: [String] = []
    let table = meeting.place.table
    for (field, value) in pending {
      let way = ThreeWay(
        original: shaped.read(field, originals[field]),
        remote: shaped.read(field, remote[field]), pending: shaped.read(field, value),
        rule: remotes[meeting.place.route]?.store.rule(table: table, field: field) ?? .remote,
        isSet: shaped.form.sets.contains(field), isWhole: shaped.form.wholes.contains(field))
      if way.isPending { still.updateValue(way.value, forKey: field) }
      if way.isConflict { conflicts.append(field) }
    }
    return (still, conflicts)
  }

  private struct Losses {
    var values: PendingFields = [:]
    var originals: ObjectFields = [:]
    /// The sets' entries that said so.
    var sent: [OutboxBook.Entry] = []
  }

  /// Of what lost by a rule against others that published at the same moment: what was committed by
  /// a set whose originals are still here. It is asked for once.
  private func lostHere(
    _ meeting: Meeting, besides pending: PendingFields
  ) throws(CairnError) -> Losses {
    var losses = Losses()
    guard let remote = remotes[meeting.place.route] else { return losses }
    losses.sent = book.outbox.changes(meeting.key, meeting.place) { !$0.isQueued }
    if losses.sent.isEmpty { return losses }
    let device = remote.store.device
    let conflicts = try wrapped { () throws(StoreError) in
      try remote.store.conflicts(table: meeting.place.table, id: meeting.place.record.name)
    }
    for conflict in conflicts where pending[conflict.field] == nil {
      guard let own = conflict.losers.first(where: { $0.device == device }),
        let entry = losses.sent.first(where: { $0.fields.contains(conflict.field) })
      else { continue }
      losses.values.updateValue(own.value, forKey: conflict.field)
      losses.originals[conflict.field] = entry.originals[conflict.field]
    }
    return losses
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
    guard try home(meeting.key) == meeting.place else { return false }
    if let other = try otherPlace(meeting.key, but: meeting.place) {
      // Others have moved it.
      return try absorb(
        meeting.key, meeting.mapping, other.route, other.record, isNews: meeting.isNews, &sets,
        &changes)
    }
    guard let shaped = try shape(meeting.key, object), shaped.route == meeting.place.route else {
      try setHome(nil, of: meeting.key)
      return false
    }
    let (pending, originals) = wanted(meeting, shaped)
    if !pending.isEmpty, let handler = meeting.mapping.resolve {
      var context = ObjectMerge(
        meeting.key, meeting.place, original: originals, remote: nil, pending: pending,
        conflicts: Set(pending.keys), still: pending)
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
    var result = shaped.fields
    for (field, value) in still { result[field] = value }
    let fields = try meeting.mapping.absorb(result, meeting.object, meeting.objectPlace)
    if let fields {
      let after = try meeting.mapping.shape(fields, meeting.objectPlace, .change)
      // What the object can't say, nobody could upload.
      result = result.filter { after?.fields[$0.key] != nil }
      try put(meeting, fields, &changes)
    }
    drop(meeting)
    sets.makeRoom(for: result.values.map { Optional($0) }, upTo: partMax)
    let batch = sets.number(meeting.place.route, &book.outbox)
    var target = meeting.target
    target.base = nil
    var kept = shaped
    (kept.fields, kept.known) = (result, Set(result.keys))
    book.outbox.save(target, [], now: kept, in: batch)
    try setHome(nil, of: meeting.key)
  }

  /// The object was deleted here, and the record has changed.
  private func restore(
    _ meeting: inout Meeting, _ remote: ObjectFields, _ delete: OutboxBook.Entry,
    _ sets: inout BatchNames, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) -> Bool {
    if delete.originals == remote { return false }
    var kept = delete
    kept.originals = remote
    // Detached, or there again without its record: the object has no say in it.
    if meeting.object != nil || delete.object != meeting.key {
      book.outbox.put(kept)
      return false
    }
    var context = ObjectMerge(
      meeting.key, meeting.place, original: delete.originals, remote: remote, pending: nil,
      conflicts: [], still: [:])
    meeting.mapping.resolve?(&context)
    if context.isDeleted {
      book.outbox.put(kept)
      return true
    }
    var still = context.stillPending.mapValues { $0?.stored }
      .filter { $0.value != remote[$0.key] }
    var result = remote
    for (field, value) in still { result[field] = value }
    let made = try make(&meeting, result, &changes)
    still = still.filter { $0.value == nil || made?.fields[$0.key] != nil }
    if let made { still = still.filter { !made.isSame($0.key, $0.value, remote[$0.key]) } }
    book.outbox.remove(delete)
    drop(meeting)
    if !still.isEmpty {
      let batch = sets.number(meeting.place.route, &book.outbox)
      book.outbox.rebase(meeting.target, still: Set(still.keys), in: batch)
    }
    return true
  }

  private func drop(_ meeting: Meeting) { book.outbox.drop(meeting.key, meeting.place) }

  private func deleteBoth(
    _ meeting: Meeting, _ sets: inout BatchNames, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) {
    // Also what was pending of a record that it had before.
    for entry in meeting.queued { book.outbox.remove(entry) }
    let batch = sets.number(meeting.place.route, &book.outbox)
    book.outbox.delete(meeting.target, in: batch)
    try remove(meeting, &changes)
  }

  // MARK: objects

  /// Returns what the mapping makes of the new object; nil if it is none.
  @discardableResult
  private func make(
    _ meeting: inout Meeting, _ record: ObjectFields, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) -> ShapedObject? {
    guard let fields = try meeting.mapping.absorb(record, nil, meeting.objectPlace) else {
      return nil
    }
    // Before anything is changed: it may throw.
    let shaped = try meeting.mapping.shape(fields, meeting.objectPlace, .change)
    let (table, id) = (meeting.key.table, meeting.key.id.name)
    try wrapped { () throws(StoreError) in
      try local.store.insert(
        table: table, id: id, fields.inOrder.map { ($0.0, $0.1) }, limits: .unlimited)
    }
    changes.append(SyncResult.Change(table: table, id: meeting.key.id, isDeleted: false))
    // It stays where it came from, also if the mapping would say another route.
    if book[link: meeting.key] == nil,
      shaped?.route != meeting.place.route || meeting.place.record != meeting.key.id
    {
      book[link: meeting.key] = MappingBook.Link(
        route: meeting.place.route, record: meeting.place.record)
    }
    try setHome(meeting.place, of: meeting.key)
    // Others share what this device keeps: no change of it here may delete that.
    if shaped == nil { meeting.isUnread = true }
    return shaped
  }

  private func put(
    _ meeting: Meeting, _ fields: ObjectFields, _ changes: inout [SyncResult.Change]
  ) throws(CairnError) {
    let changed = ObjectFields.differences(meeting.object ?? [:], fields).sorted()
    if changed.isEmpty { return }
    let (table, id) = (meeting.key.table, meeting.key.id.name)
    try wrapped { () throws(StoreError) in
      try local.store.update(
        table: table, id: id, changed.map { ($0, fields[$0]) }, limits: .unlimited)
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
    try setHome(nil, of: meeting.key)
    changes.append(SyncResult.Change(table: table, id: meeting.key.id, isDeleted: true))
  }
}

extension ObjectMerge {
  /// `pending`: nil for a pending delete.
  init(
    _ key: RowKey, _ place: RecordPlace, original: ObjectFields, remote: ObjectFields?,
    pending: PendingFields?, conflicts: Set<String>, still: PendingFields
  ) {
    table = key.table
    object = key.id
    route = place.route
    record = place.record
    self.original = original.shown
    self.remote = remote?.shown
    self.pending = (pending ?? [:]).mapValues { $0.map(Value.init) }
    isPendingDelete = pending == nil
    self.conflicts = conflicts.sorted()
    stillPending = still.mapValues { $0.map(Value.init) }
    isDeleted = pending == nil || remote == nil
  }
}
