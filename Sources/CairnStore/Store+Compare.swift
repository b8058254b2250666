package import CairnMerge

/// What two stores of one datastore know of a record: for putting the one's content into the other.
extension Store {
  /// Whether anything is known of a record, that it was deleted among it.
  package func knows(table: String, id: RecordName) throws(StoreError) -> Bool {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      switch try guarded.store.tables[number].find(id, &guarded.store.ground) {
      case .nowhere: return false
      case .base, .slot: return true
      }
    }
  }

  /// Whether all that keeps a record alive here is known to a store which has seen so much. If that
  /// one has no such record, it is deleted there, whether or not that is still remembered.
  package func isAliveByWhatIsIn(
    _ seen: VersionVector, table: String, id: RecordName
  ) throws(StoreError) -> Bool {
    try withState { guarded throws(StoreError) in
      let fence = guarded.store.fence
      // Of what is settled only the fence tells what it was.
      let knowsSettled = !fence.isEmpty && seen.covers(fence)
      let number = guarded.store.table(table)
      let stamps = try guarded.store.aliveBy(number, id)
      return !stamps.isEmpty
        && stamps.allSatisfy { $0.isSettled ? knowsSettled : seen.contains($0.dot) }
    }
  }
}

extension StoreState {
  /// The stamps of a record's inserts, or of its values if those alone keep it alive.
  fileprivate mutating func aliveBy(
    _ number: Int, _ id: RecordName
  ) throws(StoreError) -> [Stamp] {
    switch try tables[number].find(id, &ground) {
    case .nowhere: return []
    case .slot(let slot):
      guard let state = tables[number].complex[slot] else {
        return [ground.stamps[tables[number].presences[slot]]]
      }
      return state.aliveBy
    case .base(let row):
      guard let block = try ground.base?.block(Int(row.block)) else { return [] }
      guard let range = block.complexState(Int(row.row)) else {
        return [block.presence(Int(row.row))]
      }
      return try TableState.state(block.bytes, range, ground).aliveBy
    }
  }
}

extension RecordState {
  fileprivate var aliveBy: [Stamp] {
    if !presences.isEmpty { return presences.map(\.stamp) }
    return fields.values.flatMap { $0.entries.filter { $0.value != nil }.map(\.stamp) }
  }
}

extension Store {
  /// The fields of a record where a concurrent value lost, as a sync that changes it reports them.
  package func conflicts(table: String, id: RecordName) throws(StoreError) -> [FieldConflict] {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      // A compaction may have put it into the snapshot meanwhile.
      let place = try guarded.store.tables[number].find(id, &guarded.store.ground)
      guard try guarded.store.isThere(number, place),
        let state = try guarded.store.state(number, place)
      else { return [] }
      let rules = guarded.store.rules
      return state.conflicts(rule: { rules.rule(table: table, field: $0) })
    }
  }
}
