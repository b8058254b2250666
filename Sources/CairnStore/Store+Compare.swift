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
}

extension Store {
  /// The fields of a record where a concurrent value lost, as a sync that changes it reports them.
  package func conflicts(table: String, id: RecordName) throws(StoreError) -> [FieldConflict] {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      guard case .slot(let slot) = try guarded.store.tables[number].find(id, &guarded.store.ground),
        guarded.store.tables[number].exists(slot),
        let state = guarded.store.tables[number].complex[slot]
      else { return [] }
      let rules = guarded.store.rules
      return state.conflicts(rule: { rules.rule(table: table, field: $0) })
    }
  }
}
