import CairnDisk
package import CairnLog
import CairnMerge

extension Store {
  var trash: RecordTrash {
    RecordTrash(store: directory, datastore: datastore, options: options, machine: machine)
  }

  /// Before deltas are logged that delete records which are here: these records, as they are now.
  /// A crash after this leaves some that are still there; they are not listed. Returns what that
  /// has changed, if anything.
  func keepDeleted(
    _ deletes: [PlannedDelete], _ guarded: inout Guarded
  ) throws(StoreError) -> RecordTrash.Kept? {
    let trash = trash
    guard trash.isOn, !deletes.isEmpty else { return nil }
    let now = machine.clock.now()
    var records = trash.room()
    var known: Set<Key> = []
    for found in deletes {
      guard known.insert(Key(table: found.table, id: found.id)).inserted else { continue }
      let number = guarded.store.table(found.table)
      let place = try guarded.store.tables[number].find(found.id, &guarded.store.ground)
      guard try guarded.store.isThere(number, place) else { continue }
      let fields = try guarded.store.tables[number].fields(
        place, &guarded.store.ground, guarded.store.rules)
      records.add(
        KeptRecord(
          dot: found.dot, time: now, table: found.table, id: found.id,
          fields: fields.map { KeptRecord.Field(name: $0.0, value: $0.1) }))
    }
    if records.isEmpty { return nil }
    return try trash.keep(records, durable: options.durability != .none)
  }

  /// The same for what a snapshot deletes that is about to be joined: it does not tell which of its
  /// deltas does that, so it is one of those that were not here.
  func keepDeleted(
    _ changed: [SyncOutcome.Changed], of theirs: VersionVector, _ here: VersionVector,
    _ guarded: inout Guarded
  ) throws(StoreError) -> RecordTrash.Kept? {
    let new = theirs.entries.first { !here.contains($0) }
    guard let dot = new, changed.contains(where: \.isDeleted) else { return nil }
    let deletes = changed.filter { $0.isDeleted && !Identifier.isReserved($0.table) }.map {
      PlannedDelete(dot: dot, table: $0.table, id: $0.id)
    }
    return try keepDeleted(deletes, &guarded)
  }

  /// The same for what is not in the state that this store is about to become. Whose deltas say so
  /// can't be told, only of whom there is more than before.
  func keepGone(
    in new: StoreState, _ plan: Rejoining, _ guarded: inout Guarded
  ) throws(StoreError) -> RecordTrash.Kept? {
    guard trash.isOn else { return nil }
    // Looking gives a state tables that it does not have.
    var copy = new
    let gone = try guarded.store.gone(in: &copy)
    if gone.isEmpty { return nil }
    let here = guarded.store.vector
    let others = new.vector.entries.filter { $0.device != plan.device }
    // A copy of this device may have used the same numbers.
    let twin = others.first { $0.device == plan.common.device && $0.sequence > plan.common.last }
    guard let dot = others.first(where: { !here.contains($0) }) ?? twin ?? others.first else {
      return nil
    }
    let deletes = gone.map { PlannedDelete(dot: dot, table: $0.table, id: $0.id) }
    return try keepDeleted(deletes, &guarded)
  }

  /// What was to be deleted stays, and its files go: each new try would leave others.
  func takeBack(_ kept: RecordTrash.Kept, mayBeLogged: Bool, _ guarded: inout Guarded) {
    if mayBeLogged {
      // A write that failed may be there all the same, and would count after a crash.
      do throws(LogError) { try guarded.tail.segment?.trim() } catch { return }
    }
    trash.takeBack(kept)
  }

  private struct Key: Hashable {
    var table: String
    var id: RecordName
  }

  /// Records that other devices have deleted and that are not there, the newest of each id, oldest
  /// first; without those that this device has deleted since. `notKept` counts those that were too
  /// many to keep.
  package func deletedRecords() throws(StoreError) -> (
    records: [KeptRecord], notKept: UInt64, problems: [LogError]
  ) {
    let (files, problems) = try trash.contents()
    let vector = vector
    var last: [Key: Int] = [:]
    var records: [KeptRecord] = []
    for record in files.flatMap(\.records) where vector.contains(record.dot) {
      last[Key(table: record.table, id: record.id)] = records.count
      records.append(record)
    }
    var result: [KeptRecord] = []
    for (index, record) in records.enumerated() {
      guard last[Key(table: record.table, id: record.id)] == index,
        try !exists(table: record.table, id: record.id), try !isDeletedHere(record)
      else { continue }
      result.append(record)
    }
    let notKept = files.reduce(0) { RecordTrash.sum($0, $1.notKept) }
    return (result, notKept, problems)
  }

  /// Whether this device has deleted a record that is not there after it was back: as long as that
  /// is remembered, under the name that the device has now.
  private func isDeletedHere(_ kept: KeptRecord) throws(StoreError) -> Bool {
    let device = device
    return try withState { guarded throws(StoreError) in
      let number = guarded.store.table(kept.table)
      let place = try guarded.store.tables[number].find(kept.id, &guarded.store.ground)
      // Not committed yet.
      if case .slot(let slot) = place, guarded.store.tables[number].hasPendingDelete(slot) {
        return true
      }
      guard let state = try guarded.store.state(number, place) else { return false }
      return state.tombstones.contains {
        $0.dot.device == device && $0.context.contains(kept.dot)
      }
    }
  }

  /// Everything that the trash remembers, also of records that are there again: one that comes back
  /// while somebody looks is found here if it is not found among those. Files that are damaged can
  /// give nothing back; those that can't be read, or only by a newer version, are an error.
  package func remembered() throws(StoreError) -> [KeptRecord] {
    let (files, problems) = try trash.contents()
    for problem in problems {
      switch problem.reason {
      case .needsNewerVersion: throw StoreError(problem)
      // One that is gone was removed meanwhile.
      case .disk(let disk) where disk.reason != .notFound: throw StoreError(problem)
      default: break
      }
    }
    return files.flatMap(\.records)
  }

  /// Removes what is too old.
  package func purgeTrash() throws(StoreError) {
    if let ending { throw ending }
    trash.purge()
  }

  /// Inserts a record of the trash again, as a local change.
  package func restore(_ record: KeptRecord) throws(StoreError) {
    try insert(
      table: record.table, id: record.id, record.fields.map { (field: $0.name, value: $0.value) })
  }

  /// Removes from the trash what was put there up to a time.
  package func emptyTrash(through time: Int64) throws(StoreError) {
    if let ending { throw ending }
    try trash.empty(through: time)
  }
}

extension TableState {
  /// Whether the next commit deletes a record that the last one has left.
  fileprivate func hasPendingDelete(_ slot: Int) -> Bool {
    let mark = Int(pendingMarks[slot])
    return mark != 0 && pendingRecords[mark - 1].deleted
  }
}
