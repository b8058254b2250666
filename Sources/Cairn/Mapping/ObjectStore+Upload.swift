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
    // A merge of one before may have found that it has to wait.
    guard let remote = remotes[batch.route], !book.outbox.held.contains(batch.number) else {
      return
    }
    guard let batch = try mergeUntilQuiet(batch, remote, &report) else { return }
    let before = remote.store.vector
    do throws(CairnError) {
      for entry in book.outbox.changes(in: batch) { try write(entry, of: batch, to: remote) }
      try wrapped { () throws(StoreError) in
        // Of a datastore that merging has brought beyond its limits a delete must get out.
        try SentNote(of: book.installation.name, in: remote.store)
          .add(batch.id, to: remote.store, .unlimited)
      }
    } catch {
      // The set goes as a whole or not at all.
      try remote.rollback()
      throw error
    }
    let result: SyncResult
    let own = remote.store.device
    do throws(CairnError) { result = try syncDurably(remote) } catch {
      // If what failed came after the commit, the next round or write finds that out.
      if remote.isOpen, error.code != .syncFailed { try remote.rollback() }
      doubts[batch.route] = error
      throw error
    }
    let after = remote.store.vector
    // One that was closed since answers as an empty one would. The note in it tells the next time.
    try remote.checkOpen()
    // Otherwise somebody else has written there, too, and the next round looks at all of it.
    let isKnown =
      book.followed[batch.route]?.vector == before && before[own] + 1 == after[own]
      && result.newDevice == nil && result.isAll(from: before, to: after)
    do throws(CairnError) {
      try changing { () throws(CairnError) in
        book.outbox.noteCommitted(
          batch, device: remote.device, sequence: after[remote.store.device])
        try noteHomes(batch)
        if isKnown, result.incorporated == 0 { book.note(after, followedOn: batch.route) }
        try commit()
      }
    } catch {
      doubts[batch.route] = error
      throw error
    }
    if isKnown, result.incorporated > 0 {
      // Something came with it.
      try take(result, batch.route, through: after, &report)
    }
  }

  /// Merges a set until nobody comes between that and the writing, the commit of the merge among
  /// it. Returns what is left of the set; nil if nothing is, or what is has to wait.
  private func mergeUntilQuiet(
    _ batch: OutboxBook.Batch, _ remote: Datastore, _ report: inout ObjectReport
  ) throws(CairnError) -> OutboxBook.Batch? {
    for _ in 0..<16 {
      try mergeAgain(batch, &report)
      guard let left = book.outbox.batches[batch.number], left.isQueued,
        !book.outbox.held.contains(left.number)
      else { return nil }
      // What became of it has to last before the datastore has it.
      try wrapped { () throws(StoreError) in try local.store.flush() }
      if try isAsMerged(left) { return left }
    }
    throw CairnError(
      .retryLater, "the records of the set \(batch.id) on the route \(batch.route) change all the "
        + "time; resume the queue and exchange again", id: batch.id.description)
  }

  /// Whether the record is the object's, and not another thing of the same id.
  private func isOwn(
    _ entry: OutboxBook.Entry, _ batch: OutboxBook.Batch
  ) throws(CairnError) -> Bool {
    try home(entry.object)
      == RecordPlace(route: batch.route, table: entry.table, record: entry.record)
  }

  private func isAsMerged(_ batch: OutboxBook.Batch) throws(CairnError) -> Bool {
    for entry in book.outbox.changes(in: batch) {
      let now = try record(batch.route, entry.table, entry.record)
      switch entry.kind {
      case .delete:
        if let now, now != entry.originals { return false }
      case .insert:
        guard now != nil, let object = try fields(entry.object) else { continue }
        if try shape(entry.object, object)?.route == batch.route { return false }
      case .update:
        guard let now, let object = try fields(entry.object),
          try isOwn(entry, batch), try shape(entry.object, object) != nil
        else { continue }
        if entry.fields.contains(where: { now[$0] != entry.originals[$0] }) { return false }
      }
    }
    return true
  }

  /// Before a set is written: somebody may have written to its records since they were followed.
  private func mergeAgain(
    _ batch: OutboxBook.Batch, _ report: inout ObjectReport
  ) throws(CairnError) {
    let isAllRead = try changing { () throws(CairnError) in
      var sets = BatchNames()
      var isRead = true
      for entry in book.outbox.changes(in: batch) {
        guard let mapping = mappings[entry.object.table], mapping.recordTable == entry.table else {
          // Sets of such are held: they do not come here.
          continue
        }
        let place = RecordPlace(route: batch.route, table: entry.table, record: entry.record)
        guard try mergeAgain(entry, mapping, place, &sets, &report) else {
          isRead = false
          continue
        }
        if entry.kind != .delete { try followOther(entry.object, than: place, &sets, &report) }
      }
      try commit()
      return isRead
    }
    // What this version can't read keeps nothing else from leaving.
    if !isAllRead { try holdWhatCannotLeave() }
  }

  /// Returns false for a record that can't be read, or whose object can't: neither has changed.
  private func mergeAgain(
    _ entry: OutboxBook.Entry, _ mapping: ObjectMapping, _ place: RecordPlace,
    _ sets: inout BatchNames, _ report: inout ObjectReport
  ) throws(CairnError) -> Bool {
    do throws(CairnError) {
      if try absorb(
        entry.object, mapping, place.route, place.record, &sets, &report.changes)
      {
        report.merges += 1
      }
      // Where there is no record nobody has read the object so far.
      if entry.kind != .delete, let object = try fields(entry.object) {
        _ = try shape(entry.object, object)
      }
      return true
    } catch {
      guard error.code == .badType || error.code == .illegalArgument else { throw error }
      book.note(place, isUnread: true)
      unreadable.insert(place)
      report.unreadable.add(place, error)
      return false
    }
  }

  /// Writes what an entry says, with the values that the object has.
  private func write(
    _ entry: OutboxBook.Entry, of batch: OutboxBook.Batch, to remote: Datastore
  ) throws(CairnError) {
    let (table, id) = (entry.table, entry.record.name)
    let now = try wrapped { () throws(StoreError) in try remote.store.fields(table: table, id: id) }
    if entry.kind == .delete {
      guard let now else { return }
      // What somebody has written since it was merged is not deleted unseen.
      if ObjectFields(now) != entry.originals { throw changedMeanwhile(entry) }
      return try wrapped { () throws(StoreError) in try remote.store.delete(table: table, id: id) }
    }
    guard let object = try fields(entry.object), let shaped = try shape(entry.object, object) else {
      return
    }
    let changes = entry.fields.sorted().map { (field: $0, value: shaped.fields[$0]) }
    guard let now else {
      guard entry.kind == .insert else {
        // It went since it was merged: the merge handler is to be asked.
        if try isOwn(entry, batch) { throw changedMeanwhile(entry) }
        return
      }
      // As a whole, an empty list would beat what others put into theirs.
      let filled = changes.filter { !shaped.form.isAsGoodAsAbsent($0.field, $0.value) }
      // A newer version of the app knows some of these, and its user may have changed one by now.
      let place = RecordPlace(route: batch.route, table: table, record: entry.record)
      let said = Set(book.outbox.queued(entry.object, place).flatMap(\.fields))
      let carried = entry.carried.filter { !said.contains($0.key) }
        .map { (field: $0.key, value: Optional($0.value)) }
      let others = Set(carried.map(\.field))
      let all = (filled.filter { !others.contains($0.field) } + carried)
        .sorted { $0.field < $1.field }
      return try wrapped { () throws(StoreError) in
        try remote.store.insert(table: table, id: id, all)
      }
    }
    guard entry.kind == .update, try isOwn(entry, batch) else { return }
    let last = ObjectFields(now)
    if entry.fields.contains(where: { last[$0] != entry.originals[$0] }) {
      throw changedMeanwhile(entry)
    }
    // Lists are edited item by item, so that they merge with what others publish just now.
    let different = changes.filter { change in
      let old = now.first { $0.0 == change.field }?.1
      // Setting an empty list where there is none would beat what others begin there.
      if old == nil, shaped.form.isAsGoodAsAbsent(change.field, change.value) { return false }
      return old != change.value
    }
    let form = self.form(of: shaped, entry, object, over: now)
    let update = FieldDiff.update(different, from: now, as: form)
    if update.fields.isEmpty, update.lists.isEmpty { return }
    let isDone: Bool
    do throws(StoreError) {
      isDone = try remote.store.update(table: table, id: id, update, ifStill: now)
    } catch {
      // The record, and not the datastore.
      if error.kind == .deleted, remote.store.ending == nil { throw changedMeanwhile(entry) }
      throw CairnError(error)
    }
    if !isDone { throw changedMeanwhile(entry) }
  }

  /// What the fields are to the record's type: also which of them it reads as integers.
  private func form(
    of shaped: ShapedObject, _ entry: OutboxBook.Entry, _ object: ObjectFields,
    over now: [(String, FieldValue)]
  ) -> RecordFields {
    var form = shaped.form
    guard form.mayTellApart(now), let mapping = mappings[entry.object.table] else { return form }
    let place = ObjectPlace(object: entry.object.id, record: entry.record)
    do throws(CairnError) {
      // The object as it would be if it only followed the record, and what is made of that.
      if let followed = try mapping.absorb(ObjectFields(now), object, place),
        let read = try mapping.shape(followed, place, .change)
      {
        form.tellApart(as: read.form)
      }
    } catch {
      // What can't be read tells nothing.
    }
    return form
  }

  private func changedMeanwhile(_ entry: OutboxBook.Entry) -> CairnError {
    CairnError(
      .retryLater, "the record \(entry.record) of the table \(entry.table) was changed meanwhile; "
        + "resume the queue and exchange again", id: entry.record.description)
  }

  // MARK: what has arrived

  /// Sets that are in the folder leave the queue and are added to `arrived`, also those before an
  /// error. What they changed stays known until it is forgotten.
  func noteArrived(_ route: String, _ arrived: inout [RecordID]) throws(CairnError) {
    guard let remote = remotes[route] else { return }
    let inFlight = book.outbox.list(route) { !$0.isQueued && !$0.isPublished }
    if inFlight.isEmpty { return }
    let (device, published) = (remote.store.device, remote.store.published)
    let last = remote.store.vector[device]
    try remote.checkOpen()
    try changing { () throws(CairnError) in
      var part: [RecordID] = []
      var hasChanged = false
      for var batch in inFlight {
        let before = batch
        if batch.device != remote.device {
          // The device has another name by now, and what it had committed is under that one.
          batch.device = remote.device
          batch.sequence = last
        }
        if published >= batch.sequence {
          batch.isPublished = true
          part.append(batch.id)
        }
        if batch == before { continue }
        book.outbox.put(batch)
        hasChanged = true
        // Any number may arrive at once, and a delta holds so many only.
        guard try isFull() else { continue }
        try commit()
        arrived += part
        (part, hasChanged) = ([], false)
      }
      if hasChanged { try commit() }
      arrived += part
    }
  }

  /// How many sets that have arrived are kept at most, for devices that never answer.
  private static let keptMax = 64

  /// Lets go of sets that have arrived, and that nobody can have missed: the originals stay as long
  /// as somebody may have published at the same moment, if there is a handler that would want them.
  /// To be called in the end of a round: its heads were read, and what it brought was followed.
  func forget(_ route: String) throws(CairnError) {
    guard let remote = remotes[route] else { return }
    let published = book.outbox.list(route, where: \.isPublished)
    if published.isEmpty { return }
    let all = remote.exchanger.map { $0.memory.withLock { $0.sortedHeads } } ?? []
    let (own, vector, cuts) = (remote.store.device, remote.store.vector, remote.store.cuts)
    // What a device that was left out has published and nobody has merged never comes.
    let heads = all.filter {
      !cuts.isLeftOut($0.device, seen: vector, word: $0.acknowledged)
    }
    // A device of which nothing is read may have anything.
    let isHeard = vector.entries.allSatisfy { dot in
      dot.device == own || all.contains { $0.device == dot.device }
        || cuts.isLeftOut(dot.device, seen: vector, word: nil)
    }
    // What a device wrote before it knew of ours is in its deltas up to here.
    let isFollowed = isHeard && book.followed[route]?.vector == vector
      && heads.allSatisfy { vector[$0.device] >= max($0.last, $0.acknowledgedAt) }
    try changing { () throws(CairnError) in
      for (index, batch) in published.enumerated() {
        let entries = book.outbox.changes(in: batch)
        for entry in entries where mappings[entry.object.table]?.resolve == nil {
          book.outbox.remove(entry)
        }
        let isKnown = isFollowed && heads.allSatisfy { $0.acknowledged[own] >= batch.sequence }
        if isKnown || published.count - index > ObjectStore.keptMax
          || book.outbox.changes(in: batch).isEmpty
        {
          book.outbox.remove(batch)
        }
      }
      if !book.outbox.changedBatches.isEmpty { try commit() }
    }
  }

  // MARK: what was left

  /// Sets that are committed in their datastore, and that the queue does not know of: the app ended
  /// between the two, or a disk failed, or this device is an old copy. To be asked after a sync of
  /// the datastore, which vouches for what is in it.
  func settle(_ route: String) throws(CairnError) {
    guard let remote = remotes[route] else { return }
    let note = try wrapped { () throws(StoreError) in
      try SentNote(of: book.installation.name, in: remote.store)
    }
    let sent = book.outbox.list(route) { $0.isQueued && note.has($0.id) }
    if sent.isEmpty { return }
    let last = remote.store.vector[remote.store.device]
    try remote.checkOpen()
    try changing { () throws(CairnError) in
      for batch in sent {
        book.outbox.noteCommitted(batch, device: remote.device, sequence: last)
        try noteHomes(batch)
        if try isFull() { try commit() }
      }
      try commit()
    }
  }

  /// Before objects are changed: a change would be recorded on top of a set that is committed
  /// already. What stays in doubt, `save` refuses to build on.
  func settleDoubts() {
    for (route, doubt) in doubts.sorted(by: { $0.key < $1.key }) {
      // What such a datastore shows may never have been committed: only opening it anew can tell.
      guard let remote = remotes[route], doubt.code != .syncFailed else { continue }
      do throws(CairnError) {
        try wrapped { () throws(StoreError) in try remote.store.flush() }
        try settle(route)
        doubts[route] = nil
      } catch { doubts[route] = error }
    }
  }
}
