import CairnDisk
package import CairnMerge
import Synchronization

/// What changes on one condition, and what is looked up for that.
extension Store {
  /// Sets several fields of a record and edits lists of it as one change if all of its fields are
  /// still what `fields` gave; returns whether they are. This way a change that was worked out from
  /// what was read can't overwrite what another thread has written since.
  package func update(
    table: String, id: RecordName, _ update: RecordUpdate,
    ifStill expected: [(String, FieldValue)]
  ) throws(StoreError) -> Bool {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      let place = try guarded.store.tables[number].find(id, &guarded.store.ground)
      if try guarded.store.isThere(number, place) {
        let now = try guarded.store.tables[number].fields(
          place, &guarded.store.ground, guarded.store.rules)
        let isSame = now.count == expected.count && zip(now, expected).allSatisfy { $0 == $1 }
        guard isSame else { return false }
      }
      // For a record that is gone it throws the error that every update throws.
      try guarded.store.update(number, id, update, expected, limits: options.limits)
      return true
    }
  }

  /// The rule that was set for a field itself; nil if it goes by the datastore's.
  package func ownRule(table: String, field: String) -> Rule? {
    state.withLock { $0.store.rules.rules(of: table)[field] }
  }

  /// Whether one was set for a field itself, be it one that only a newer version knows: here that
  /// goes for none.
  package func hasRule(table: String, field: String) throws(StoreError) -> Bool {
    if ownRule(table: table, field: field) != nil { return true }
    let set = try fields(table: RuleBook.table, id: RecordName(table)) ?? []
    return set.contains { $0.0 == field }
  }
}
