package import CairnMerge

/// Changes with limits of the caller's: what follows from other devices is no growth of the app's.
extension Store {
  package func insert(
    table: String, id: RecordName, _ fields: [(field: String, value: FieldValue?)], limits: Limits
  ) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      try guarded.store.insert(number, id, count: fields.count, limits: limits) { fields[$0] }
    }
  }

  package func update(
    table: String, id: RecordName, _ fields: [(field: String, value: FieldValue?)], limits: Limits
  ) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      try guarded.store.update(number, id, fields, limits: limits)
    }
  }
}
