import CairnDisk
import CairnLog
package import CairnMerge
import Synchronization

extension Store {
  /// The field's value, nil if the record or the field is not there.
  package func value(
    table: String, id: RecordName, field: String
  ) throws(StoreError) -> FieldValue? {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      guard let (place, column) = try guarded.store.find(number, id, field) else { return nil }
      let view = try guarded.store.tables[number].view(place, column, &guarded.store.ground)
      return view.value
    }
  }

  /// Whether there is such a record.
  package func exists(table: String, id: RecordName) throws(StoreError) -> Bool {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      return try guarded.store.tables[number].exists(
        id, &guarded.store.ground, guarded.store.rules)
    }
  }

  /// All fields of a record, nil if it is not there.
  package func fields(
    table: String, id: RecordName
  ) throws(StoreError) -> [(String, FieldValue)]? {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      let place = try guarded.store.tables[number].find(id, &guarded.store.ground)
      guard try guarded.store.isThere(number, place) else { return nil }
      return try guarded.store.tables[number].fields(
        place, &guarded.store.ground, guarded.store.rules)
    }
  }

  /// The size that a record counts with, 0 if it is not there.
  package func size(table: String, id: RecordName) throws(StoreError) -> Int {
    guard let fields = try fields(table: table, id: id) else { return 0 }
    return fields.reduce(Sizes.record) { $0 + Sizes.field($1.1) }
  }

  /// Tables that have records, sorted, with how many. Reserved ones are not among them.
  package func tables() throws(StoreError) -> [(name: String, count: Int)] {
    try withState { guarded throws(StoreError) in
      guarded.store.addBaseTables()
      var result: [(name: String, count: Int)] = []
      for number in guarded.store.tables.indices {
        let name = guarded.store.tables[number].name
        if name.utf8.first == UInt8(ascii: ":") { continue }
        let count = try guarded.store.count(number)
        if count > 0 { result.append((name, count)) }
      }
      return result.sorted { $0.name < $1.name }
    }
  }

  package func count(table: String) throws(StoreError) -> Int {
    try withState { guarded throws(StoreError) in
      try guarded.store.count(guarded.store.table(table))
    }
  }

  // MARK: the whole

  /// Size, records, and what the changes since the last sync count with (0 if there are none).
  package var totals: (size: Int, records: Int, pending: Int) {
    state.withLock { guarded in
      let pending = guarded.store.hasPending
      return (
        guarded.store.totals.size, guarded.store.totals.recordCount,
        pending ? Sizes.delta + guarded.store.pendingSize : 0
      )
    }
  }

  package var vector: VersionVector { state.withLock { $0.store.vector } }

  /// Time of the newest delta, nil if there is none.
  package var modified: Int64? {
    state.withLock { $0.store.vector.isEmpty ? nil : $0.store.modified }
  }

  package func rule(table: String, field: String) -> Rule {
    state.withLock { $0.store.rules.rule(table: table, field: field) }
  }

  /// Own deltas up to here are in the folder; compaction may drop them from the log, unless the
  /// folder lacks them again.
  package func confirmPublished(through sequence: UInt64) {
    state.withLock { $0.published = max($0.published, sequence) }
  }

  package var published: UInt64 { state.withLock { $0.published } }

  /// Published deltas from here on are not in the folder, or not known to be: a log that has them
  /// keeps them, to give them back. nil: all are there.
  package func noteLacking(from sequence: UInt64?) { state.withLock { $0.lacking = sequence } }
}

extension StoreState {
  /// Where a record is and its field's column; nil if either is nowhere.
  @inline(__always)
  mutating func find(
    _ number: Int, _ id: RecordName, _ field: String
  ) throws(StoreError) -> (TableState.Place, Int)? {
    let place = try tables[number].find(id, &ground)
    switch place {
    case .nowhere: return nil
    case .slot(let slot): if !tables[number].exists(slot) { return nil }
    case .base: break
    }
    if let column = tables[number].findColumn(field) { return (place, column) }
    // Who has a column may be written to: see `writableColumn`.
    guard Identifier.isValidField(field) else { return nil }
    return (place, tables[number].column(field, &ground, rules))
  }

  mutating func count(_ number: Int) throws(StoreError) -> Int {
    var count = tables[number].ids.indices.reduce(0) {
      $0 + (tables[number].exists($1) ? 1 : 0)
    }
    guard let baseTable = tables[number].baseTable, let base = ground.base else { return count }
    // Rows in conflict may be deleted ones; only a table that has such rows needs a walk.
    if tables[number].ids.isEmpty, base.description.recordCount == base.description.rowTotal {
      return base.description.tables[baseTable].rowCount
    }
    try forEachBaseRow(in: number) { _, _, _ in count += 1 }
    return count
  }
}

extension SnapshotDescription {
  /// Rows of all tables that count.
  var rowTotal: Int {
    tables.reduce(0) { $0 + (TableState.isCounted($1.name) ? $1.rowCount : 0) }
  }
}

extension Store {
  /// All tables, reserved ones too, the rules first: what is written into the others depends on
  /// them. Not the cuts: they are about this datastore's own deltas.
  package func allTables() throws(StoreError) -> [String] {
    try withState { guarded in
      guarded.store.addBaseTables()
      let names = guarded.store.tables.map(\.name).filter { $0 != CutTable.name }.sorted()
      return names.filter { $0 == RuleBook.table } + names.filter { $0 != RuleBook.table }
    }
  }

  /// Whether only this device ever wrote here.
  package var isOwnOnly: Bool { vector.entries.allSatisfy { $0.device == device } }
}
