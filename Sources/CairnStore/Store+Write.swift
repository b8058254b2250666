package import CairnMerge
import Synchronization

/// Local changes. Ids and values have been checked by the caller; limits are checked here.
extension Store {
  package func insert(
    table: String, id: RecordName, _ fields: [(field: String, value: FieldValue?)]
  ) throws(StoreError) {
    try insert(table: table, id: id, count: fields.count) { fields[$0] }
  }

  /// The same with fields that are given one by one, each asked for once.
  package func insert(
    table: String, id: RecordName, count: Int,
    field: (Int) -> (field: String, value: FieldValue?)
  ) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      try guarded.store.insert(number, id, count: count, limits: options.limits, field: field)
    }
  }

  /// Inserts unless there is such a record; returns whether it did.
  package func getOrInsert(
    table: String, id: RecordName, _ fields: [(field: String, value: FieldValue?)]
  ) throws(StoreError) -> Bool {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      let place = try guarded.store.tables[number].find(id, &guarded.store.ground)
      if try guarded.store.isThere(number, place) { return false }
      try guarded.store.insert(
        number, id, count: fields.count, limits: options.limits) { fields[$0] }
      return true
    }
  }

  /// Sets several fields of a record as one change; nil removes a field.
  package func update(
    table: String, id: RecordName, _ fields: [(field: String, value: FieldValue?)]
  ) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      try guarded.store.update(number, id, fields, limits: options.limits)
    }
  }

  /// Sets one field of a record that need not be there yet, in one step; nil removes it.
  package func set(
    table: String, id: RecordName, field: String, _ value: FieldValue?
  ) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      let place = try guarded.store.tables[number].find(id, &guarded.store.ground)
      let isThere = try guarded.store.isThere(number, place)
      if value == nil, !isThere { return }
      try set(number, id, isThere: isThere, field, value, &guarded)
    }
  }

  private func set(
    _ number: Int, _ id: RecordName, isThere: Bool, _ field: String, _ value: FieldValue?,
    _ guarded: inout Guarded
  ) throws(StoreError) {
    if isThere {
      try guarded.store.update(number, id, [(field, value)], limits: options.limits)
    } else {
      try guarded.store.insert(number, id, count: 1, limits: options.limits) { _ in
        (field, value)
      }
    }
  }

  /// Deletes a record. One that is not there is left as it is.
  package func delete(table: String, id: RecordName) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      try guarded.store.requireWritable()
      let number = guarded.store.table(table)
      let place = try guarded.store.tables[number].find(id, &guarded.store.ground)
      guard try guarded.store.isThere(number, place) else { return }
      try guarded.store.delete(number, id)
    }
  }

  /// Takes everything back that was changed since the last sync.
  package func rollBack() throws(StoreError) {
    let wasRetiring = try withState { guarded throws(StoreError) -> Bool in
      // What was set of rules and roles holds before its sync; taken back, it holds no more. It has
      // to be read again for that: all of it is taken back, or nothing.
      let before = guarded.store.hasPendingRules ? guarded.store : nil
      guarded.store.rollBack()
      do throws(StoreError) {
        if before != nil {
          try guarded.store.readRules()
          try guarded.store.readAccess()
        }
      } catch {
        if let before { guarded.store = before }
        throw error
      }
      guarded.wantsCut = nil
      defer { guarded.retiring = [] }
      return !guarded.retiring.isEmpty
    }
    // No record says that.
    if wasRetiring { tell() }
  }

  /// Sets the rule that a field is merged by. Setting the same rule again writes nothing.
  package func setRule(_ rule: Rule, table: String, field: String) throws(StoreError) {
    try setRule(rule, record: table, field: field)
  }

  package func setDefaultRule(_ rule: Rule) throws(StoreError) {
    try setRule(rule, record: RuleBook.defaultRecord, field: RuleBook.defaultField)
  }

  private func setRule(_ rule: Rule, record: String, field: String) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      try guarded.store.requireWritable()
      // Apps set their rules at each start. Also where several devices have set this one at once:
      // one more delta would say nothing.
      if guarded.store.rules.own(record: record, field: field) == rule { return }
      let value = FieldValue.int(Int64(rule.rawValue))
      let number = guarded.store.table(RuleBook.table)
      let id = RecordName(record)
      let place = try guarded.store.tables[number].find(id, &guarded.store.ground)
      // Everything that the rule changes is read before anything changes.
      var next = guarded.store.rules
      next.set(record: record, field: field, value)
      let change = try guarded.store.change(to: next)
      let isThere = try guarded.store.isThere(number, place)
      try set(number, id, isThere: isThere, field, value, &guarded)
      // It holds at once, also before the next sync.
      guarded.store.adopt(change)
    }
  }
}
