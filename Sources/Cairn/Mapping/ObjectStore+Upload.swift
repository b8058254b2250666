internal import CairnDisk
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// From the queue into the datastores.
extension ObjectStore {
  /// Commits a queued set as one delta of its route's datastore, merged with what the records say
  /// by now. In memory nothing comes between, and on the disk a note in the same delta says which
  /// set it was, so that it is committed once, whenever the app ends.
  func upload(
    _ batch: OutboxBook.Batch, _ report: inout ObjectReport
  ) throws(CairnError) {
    guard let remote = remotes[batch.route] else { return }
    try mergeAgain(batch, &report)
    guard let batch = book.outbox.batches[batch.number], batch.isQueued else { return }
    // The datastore has a note of the last set only: what became of those before has to last.
    try wrapped { () throws(StoreError) in try local.store.flush() }
    let before = remote.store.vector
    do throws(CairnError) {
      for entry in book.outbox.changes(in: batch) { try write(entry, to: remote) }
      try wrapped { () throws(StoreError) in
        try MappingBook.put(
          ["set": .string(batch.id.description)], MappingBook.Place.sent,
          book.installation.name, remote.store)
      }
    } catch {
      // The set goes as a whole or not at all.
      try remote.rollback()
      throw error
    }
    let result: SyncResult
    let own = remote.store.device
    do throws(CairnError) { result = try syncDurably(remote) } catch {
      // If what failed came after the commit, the next round finds that out.
      if remote.isOpen, error.code != .syncFailed { try remote.rollback() }
      throw error
    }
    let after = remote.store.vector
    // Otherwise somebody else has written there, too, and the next round looks at all of it.
    let isKnown =
      book.followed[batch.route]?.vector == before && before[own] + 1 == after[own]
      && result.newDevice == nil
    try changing { () throws(CairnError) in
      book.outbox.noteCommitted(
        batch, device: remote.device, sequence: after[remote.store.device])
      if isKnown, result.incorporated == 0 { book.note(after, followedOn: batch.route) }
      try commit()
    }
    if isKnown, result.incorporated > 0 {
      // Something came with it.
      try take(result, batch.route, through: after, &report)
    }
  }

  /// Before a set is written: somebody may have written to its records since they were followed.
  private func mergeAgain(
    _ batch: OutboxBook.Batch, _ report: inout ObjectReport
  ) throws(CairnError) {
    try changing { () throws(CairnError) in
      var sets = BatchNames()
      for entry in book.outbox.changes(in: batch) {
        guard let mapping = mappings[entry.object.table], mapping.recordTable == entry.table else {
          // Sets of such are held: they do not come here.
          continue
        }
        if try absorb(
          entry.object, mapping, batch.route, entry.record, &sets, &report.changes)
        {
          report.merges += 1
        }
      }
      try commit()
    }
  }

  /// Writes what an entry says, with the values that the object has.
  private func write(
    _ entry: OutboxBook.Entry, to remote: Datastore
  ) throws(CairnError) {
    let (table, id) = (entry.table, entry.record.name)
    let now = try wrapped { () throws(StoreError) in try remote.store.fields(table: table, id: id) }
    if entry.kind == .delete {
      guard now != nil else { return }
      return try wrapped { () throws(StoreError) in try remote.store.delete(table: table, id: id) }
    }
    guard let object = try fields(entry.object), let shaped = try shape(entry.object, object) else {
      return
    }
    let changes = entry.fields.sorted().map { (field: $0, value: shaped.fields[$0]) }
    guard let now else {
      guard entry.kind == .insert else { return }
      return try wrapped { () throws(StoreError) in
        try remote.store.insert(table: table, id: id, changes)
      }
    }
    // Lists are edited item by item, so that they merge with what others publish just now.
    let different = changes.filter { change in
      now.first { $0.0 == change.field }?.1 != change.value
    }
    let update = FieldDiff.update(different, from: now, sets: shaped.sets)
    if update.fields.isEmpty, update.lists.isEmpty { return }
    let isDone = try wrapped { () throws(StoreError) in
      try remote.store.update(table: table, id: id, update, ifStill: now)
    }
    if !isDone {
      throw CairnError(
        .retryLater, "the record \(entry.record) of the table \(table) was changed meanwhile; "
          + "resume the queue and exchange again", id: entry.record.description)
    }
  }

  // MARK: what has arrived

  /// Sets that are in the folder leave the queue. Their originals stay as long as somebody may
  /// publish at the same moment, if there is a handler that would want them.
  func noteArrived(_ route: String) throws(CairnError) -> [RecordID] {
    guard let remote = remotes[route] else { return [] }
    let inFlight = book.outbox.list(route) { !$0.isQueued && !$0.isPublished }
    let kept = book.outbox.list(route, where: \.isPublished)
    if inFlight.isEmpty, kept.isEmpty { return [] }
    return try changing { () throws(CairnError) in
      var arrived: [RecordID] = []
      for var batch in inFlight {
        if batch.device != remote.device {
          // The device has another name by now, and what it had committed is under that one.
          batch.device = remote.device
          batch.sequence = remote.store.vector[remote.store.device]
          book.outbox.put(batch)
        }
        if remote.store.published < batch.sequence { continue }
        batch.isPublished = true
        book.outbox.put(batch)
        arrived.append(batch.id)
      }
      forget(route, remote)
      if !arrived.isEmpty || !book.outbox.changedBatches.isEmpty { try commit() }
      return arrived
    }
  }

  /// How many sets that have arrived are kept at most, for devices that never answer.
  private static let keptMax = 64

  /// Lets go of sets that have arrived, and that nobody can have missed.
  private func forget(_ route: String, _ remote: Datastore) {
    let published = book.outbox.list(route, where: \.isPublished)
    let heads = remote.exchanger.map { $0.memory.withLock { $0.sortedHeads } } ?? []
    let own = remote.store.device
    for (index, batch) in published.enumerated() {
      let entries = book.outbox.changes(in: batch)
      for entry in entries where mappings[entry.object.table]?.resolve == nil {
        book.outbox.remove(entry)
      }
      let isKnown = heads.allSatisfy { $0.acknowledged[own] >= batch.sequence }
      if isKnown || published.count - index > ObjectStore.keptMax
        || book.outbox.changes(in: batch).isEmpty
      {
        book.outbox.remove(batch)
      }
    }
  }

  // MARK: what was left

  /// A set that is committed in its datastore, and that the queue does not know of: the app ended
  /// between the two, or a disk failed. To be asked after a sync of the datastore, which vouches
  /// for what is in it.
  func settle(_ route: String) throws(CairnError) {
    guard let remote = remotes[route] else { return }
    let fields = try record(route, MappingBook.Place.sent, book.installation)
    guard let sent = fields?.text("set"),
      let batch = book.outbox.list(route, where: { $0.isQueued && $0.id.description == sent })
        .first
    else { return }
    try changing { () throws(CairnError) in
      book.outbox.noteCommitted(
        batch, device: remote.device, sequence: remote.store.vector[remote.store.device])
      try commit()
    }
  }
}
