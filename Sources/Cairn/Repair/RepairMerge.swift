internal import CairnMerge
internal import CairnStore

/// Puts what a damaged copy of an account's datastore still holds, and the folder does not have,
/// into the new one: as changes of the new device.
///
/// What the folder has is left alone, whatever the copy shows: it is there with all its history.
struct RepairMerge {
  private static let batchBytes = 1 << 20

  let salvage: StoreSalvage
  let target: Store
  private let source: Store
  /// What the target has without the copy, as far as it is the same history.
  private let known: VersionVector
  /// What the copy has, likewise.
  private let seen: VersionVector
  private(set) var records = 0
  /// What could not be decided.
  private(set) var losses: [SalvageLoss] = []

  /// Of the damaged copy, for messages: the source is a scratch of it.
  private let path: String

  /// `common`: the last of the copy's own deltas that is the same in the folder, if others have the
  /// same numbers there.
  init(_ salvage: StoreSalvage, of path: String, target: Store, common: Dot?) {
    self.path = path
    self.salvage = salvage
    self.target = target
    source = salvage.store
    var (known, seen) = (target.vector, salvage.store.vector)
    if let common {
      known[common.device] = min(known[common.device], common.sequence)
      seen[common.device] = min(seen[common.device], common.sequence)
    }
    self.known = known
    self.seen = seen
  }

  mutating func run() throws(StoreError) {
    for record in try unpublished() { try put(record) }
    _ = try target.sync()
    // Content that is only in the copy's snapshot, of deltas that the folder has lost. Where the
    // copy does not tell which these are, it is what was never heard of, if there is no fence: all
    // deletes are remembered then.
    let isUntold = !salvage.hasVector && target.cuts.fence.isEmpty
    guard isUntold || !known.covers(source.vector) else { return }
    // What is there without its table's name may be there under it, too.
    for table in try source.allTables() where !salvage.unnamed.contains(table) {
      for id in try source.query(table: table, []) where try isNews(table, id) {
        try insert(table, id)
      }
      _ = try target.sync()
    }
  }

  /// Whether the target has never heard of a record. Where deletes are forgotten it does not know
  /// the name of one that it has deleted, but still what had inserted it.
  private func isNews(_ table: String, _ id: RecordName) throws(StoreError) -> Bool {
    if try target.knows(table: table, id: id) { return false }
    return try !source.isAliveByWhatIsIn(known, table: table, id: id)
  }

  /// What own deltas changed that the folder does not have, each record once, in their order.
  private func unpublished() throws(StoreError) -> [TouchedRecord] {
    var touched = salvage.touched
    if salvage.isSnapshotWhole, !salvage.isLogWhole, let device = salvage.device {
      // What the log has lost of it may be in there.
      touched = try source.written(by: device, beyond: known) + touched
    }
    var places: [TouchedRecord.Key: Int] = [:]
    var result: [TouchedRecord] = []
    // Cuts are about the deltas that they were made with: whoever wants one has to ask anew.
    for record in touched
    where record.table != Cut.table && !known.contains(record.dot) {
      guard let place = places[record.key] else {
        places[record.key] = result.count
        result.append(record)
        continue
      }
      result[place].add(record)
    }
    return result
  }

  private mutating func put(_ record: TouchedRecord) throws(StoreError) {
    let (table, id) = (record.table, record.id)
    let goes =
      try record.isDeleted
      ? target.isTaken(byDeleteThatKnows: seen, table: table, id: id)
      : false
    guard let fields = try source.fields(table: table, id: id) else {
      if goes { try target.delete(table: table, id: id) } else { try noteLost(record) }
      return
    }
    // Deleted and inserted again: nothing is left of what the folder has.
    if goes, try isOwn(record) { try target.delete(table: table, id: id) }
    guard let there = try target.fields(table: table, id: id) else {
      // Deleted elsewhere meanwhile: a delete wins over updates, but not over an insert.
      let isNew = try record.isDeleted ? true : isNews(table, id)
      if isNew { try insert(table, id) }
      return
    }
    var changes: [(field: String, value: FieldValue?)] = []
    for field in record.fields {
      let own = fields.first { $0.0 == field }?.1
      let old = there.first { $0.0 == field }?.1
      if own == old { continue }
      if isLost(record, field, own: own, old: old) {
        noteLost(record, field, own: own, old: old)
        continue
      }
      if try target.isKnown(by: seen, table: table, id: id, field: field) {
        changes.append((field, own))
      } else if let change = merged(table, id, field, own: own, old: old) {
        changes.append(change)
      }
    }
    if changes.isEmpty { return }
    try target.update(table: table, id: id, changes)
    records += 1
    try commitBatch()
  }

  /// Whether nothing tells what a field was here in the end: the part of the snapshot that did is
  /// damaged.
  private func isLost(
    _ record: TouchedRecord, _ field: String, own: FieldValue?, old: FieldValue?
  ) -> Bool {
    if record.removed.contains(field) { return false }
    // What a whole snapshot does not have was removed, also where the delta that did it is damaged.
    guard own != nil else {
      return !(salvage.isSnapshotWhole && record.folded.contains(field))
    }
    return old != nil && record.folded.contains(field) && salvage.givenBack.contains(record.key)
  }

  /// Whatever was done to a record that the damaged part of the snapshot had: it had all of it.
  private mutating func noteLost(_ record: TouchedRecord) throws(StoreError) {
    let (table, id) = (record.table, record.id)
    // One that is known was deleted, and where all is read one that is not known has been, too.
    if salvage.isSnapshotWhole { return }
    if try source.knows(table: table, id: id) { return }
    guard let there = try target.fields(table: table, id: id) else { return }
    if record.isDeleted {
      losses.append(
        SalvageLoss(
          path: path, offset: nil,
          message: "\(table)/\(id.text): that it was deleted here is lost where it was not "
            + "published; what the others have stays"))
    }
    for field in record.fields {
      let old = there.first { $0.0 == field }?.1
      if record.removed.contains(field), record.isDeleted || old == nil { continue }
      noteLost(record, field, own: nil, old: old)
    }
  }

  private mutating func noteLost(
    _ record: TouchedRecord, _ field: String, own: FieldValue?, old: FieldValue?
  ) {
    let name = "\(record.table)/\(record.id.text).\(field)"
    let here = own.map { ", \($0) or what came after it," } ?? ""
    let theirs = old.map { ": \($0)" } ?? ""
    losses.append(
      SalvageLoss(
        path: path, offset: nil,
        message: "\(name): what was written here\(here) is lost where it was not published; what "
          + "the others have stays\(theirs)"))
  }

  /// Whether the copy's own device alone has inserted a record: of another one's insert a delete
  /// that was made before may know nothing.
  private func isOwn(_ record: TouchedRecord) throws(StoreError) -> Bool {
    let own = VersionVector([Dot(device: record.dot.device, sequence: .max)])
    return try source.isAliveByWhatIsIn(own, table: record.table, id: record.id)
  }

  /// What a field becomes that was changed in the copy, and elsewhere without its knowing; nil if
  /// it stays what it is.
  private mutating func merged(
    _ table: String, _ id: RecordName, _ field: String, own: FieldValue?, old: FieldValue?
  ) -> (field: String, value: FieldValue?)? {
    if case .list(let items)? = own, case .list(let others)? = old {
      let missing = items.filter { !others.contains($0) }
      let isLess = !others.allSatisfy({ items.contains($0) })
      if isLess || !RepairMerge.isAll(of: items, in: others + missing) {
        noteLost(
          table, id, field,
          "it was edited elsewhere, too: what was removed, moved or replaced here and was not "
            + "published may be as the others have it; here it was \(FieldValue.list(items))")
      }
      if missing.isEmpty { return nil }
      return (field: field, value: FieldValue.list(others + missing))
    }
    let rule = Identifier.isReserved(table) ? .remote : target.rule(table: table, field: field)
    if rule == .sum, let own, let old {
      noteLost(
        table, id, field,
        "additions that were not published are not in the sum: here it was \(own), with the "
          + "others' it is \(old)")
      return nil
    }
    // That there is none is a value like any other.
    let order = FieldValue.ordered(own, old)
    let takesOwn =
      switch rule {
      case .remote, .sum: false
      case .local: true
      case .max: order > 0
      case .min: order < 0
      }
    if takesOwn { return (field: field, value: own) }
    let here = own.map { "it was \($0) here" } ?? "it was removed here"
    let theirs = old.map { "stays, by its rule: \($0)" } ?? "stays, by its rule: none"
    noteLost(
      table, id, field, "\(here), which was not published; what the others have \(theirs)")
    return nil
  }

  private mutating func noteLost(
    _ table: String, _ id: RecordName, _ field: String, _ what: String
  ) {
    losses.append(
      SalvageLoss(path: path, offset: nil, message: "\(table)/\(id.text).\(field): \(what)"))
  }

  /// Whether a list has all items of another one, in their order.
  private static func isAll(of items: [FieldValue], in list: [FieldValue]) -> Bool {
    var rest = items[...]
    for item in list where item == rest.first { rest.removeFirst() }
    return rest.isEmpty
  }

  private mutating func insert(_ table: String, _ id: RecordName) throws(StoreError) {
    guard let fields = try source.fields(table: table, id: id) else { return }
    try target.insert(table: table, id: id, fields.map { ($0.0, $0.1) })
    records += 1
    try commitBatch()
  }

  private func commitBatch() throws(StoreError) {
    if target.totals.pending >= RepairMerge.batchBytes { _ = try target.sync() }
  }
}
