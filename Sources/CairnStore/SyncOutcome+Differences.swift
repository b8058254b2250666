import CairnMerge

extension SyncOutcome {
  /// Names what differs between two states, neither of which has pending changes. Looks at every
  /// record of both but those of cuts, which are nobody's data. Of the deltas of `renamed` only
  /// those up to `common` are in both.
  mutating func note(
    from old: inout StoreState, to new: inout StoreState, renamed: DeviceID, common: UInt64
  ) throws(StoreError) {
    old.addBaseTables()
    new.addBaseTables()
    let names = Set((old.tables + new.tables).map(\.name)).sorted()
    for name in names where name != CutTable.name {
      let (before, after) = (old.table(name), new.table(name))
      for (id, place) in try new.places(in: after) {
        let now = try new.values(after, place)
        let oldPlace = try old.tables[before].find(id, &old.ground)
        if try old.isThere(before, oldPlace), try old.values(before, oldPlace) == now { continue }
        changed.append(Changed(table: name, id: id, isDeleted: false))
        conflicts += try new.conflicts(after, place, id)
      }
      for (id, _) in try old.places(in: before) {
        let place = try new.tables[after].find(id, &new.ground)
        if try new.isThere(after, place) { continue }
        changed.append(Changed(table: name, id: id, isDeleted: true))
      }
    }
    for dot in new.vector.entries where dot.device != newDevice {
      let known = dot.device == renamed ? common : old.vector[dot.device]
      addApplied(Int(clamping: dot.sequence - min(dot.sequence, known)))
    }
  }

  /// Says what a join changes, and how what was written here since its freeze comes out on top of
  /// that: the join does not know of it, and who watches was told what it looked like without.
  /// Neither state has pending changes. Returns how many records of the old one are gone.
  mutating func note(
    _ joined: SnapshotJoin.Result, from old: inout StoreState, to new: inout StoreState
  ) throws(StoreError) -> Int {
    (changed, conflicts) = (joined.changed, joined.conflicts)
    var deletes = joined.deletes
    // The freeze has begun the epoch.
    let written = old.changedInEpoch.filter { !$0.names.isEmpty && $0.table != CutTable.name }
    let known = numbers(of: written)
    dropConflicts(of: known)
    for (table, names) in written {
      let isCounted = TableState.isCounted(table)
      let (before, after) = (old.table(table), new.table(table))
      for id in names {
        let oldPlace = try old.tables[before].find(id, &old.ground)
        let place = try new.tables[after].find(id, &new.ground)
        let existed = try old.isThere(before, oldPlace)
        let exists = try new.isThere(after, place)
        if isCounted, existed, !exists { deletes += 1 }
        if let index = known[table]?[id] {
          if isCounted, changed[index].isDeleted { deletes -= 1 }
          changed[index].isDeleted = !exists
          if exists { conflicts += try new.conflicts(after, place, id) }
          continue
        }
        if !existed, !exists { continue }
        if existed, exists, try old.values(before, oldPlace) == new.values(after, place) {
          continue
        }
        changed.append(Changed(table: table, id: id, isDeleted: !exists))
        if exists { conflicts += try new.conflicts(after, place, id) }
      }
    }
    return deletes
  }

  /// A join knows nothing of what was written to these records since: what competes there now is
  /// another matter.
  private mutating func dropConflicts(of records: [String: [RecordName: Int]]) {
    if records.isEmpty { return }
    conflicts.removeAll { records[$0.table]?[$0.id] != nil }
  }

  /// Which of `changed` these records are, by table.
  private func numbers(
    of records: [(table: String, names: [RecordName])]
  ) -> [String: [RecordName: Int]] {
    // As a rule nothing is written in so short a time.
    if records.isEmpty { return [:] }
    var wanted: [String: Set<RecordName>] = [:]
    for (table, names) in records { wanted[table, default: []].formUnion(names) }
    var result: [String: [RecordName: Int]] = [:]
    for (index, change) in changed.enumerated()
    where wanted[change.table]?.contains(change.id) == true {
      result[change.table, default: [:]][change.id] = index
    }
    return result
  }
}

extension StoreState {
  /// Records that are here, and not in another state; reserved tables are left out.
  mutating func gone(
    in other: inout StoreState
  ) throws(StoreError) -> [(table: String, id: RecordName)] {
    addBaseTables()
    other.addBaseTables()
    var result: [(table: String, id: RecordName)] = []
    for name in tables.map(\.name) where !Identifier.isReserved(name) {
      let (here, there) = (table(name), other.table(name))
      for (id, _) in try places(in: here) {
        let place = try other.tables[there].find(id, &other.ground)
        if try !other.isThere(there, place) { result.append((name, id)) }
      }
    }
    return result
  }

  fileprivate mutating func values(
    _ number: Int, _ place: TableState.Place
  ) throws(StoreError) -> [String: FieldValue] {
    let fields = try tables[number].fields(place, &ground, rules)
    return Dictionary(fields, uniquingKeysWith: { first, _ in first })
  }

  /// The conflicts in a record.
  fileprivate func conflicts(
    _ number: Int, _ place: TableState.Place, _ id: RecordName
  ) throws(StoreError) -> [SyncOutcome.Conflict] {
    guard let state = try state(number, place) else { return [] }
    let table = tables[number].name
    return state.conflicts(rule: { rules.rule(table: table, field: $0) }).map {
      SyncOutcome.Conflict(table: table, id: id, conflict: $0)
    }
  }

  /// The full state of a record that has one.
  func state(
    _ number: Int, _ place: TableState.Place
  ) throws(StoreError) -> RecordState? {
    switch place {
    case .nowhere: return nil
    case .slot(let slot): return tables[number].complex[slot]
    case .base(let row):
      var ground = ground
      guard let block = try ground.base?.block(Int(row.block)),
        let range = block.complexState(Int(row.row))
      else { return nil }
      return try TableState.state(block.bytes, range, ground)
    }
  }
}
