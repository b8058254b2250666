/// What an app sees of a record. `rule` gives the rule of a field.
extension RecordState {
  package func visible(_ field: String, rule: Rule) -> FieldValue? {
    fields[field]?.visible(rule)
  }

  /// The fields that have a value.
  package func visible(rule: (String) -> Rule) -> [String: FieldValue] {
    var values: [String: FieldValue] = [:]
    for (field, register) in fields { values[field] = register.visible(rule(field)) }
    return values
  }

  /// The size that the record counts with; 0 if it does not exist.
  package func size(rule: (String) -> Rule) -> Int {
    guard exists else { return 0 }
    var size = Sizes.record
    for (field, register) in fields {
      if let value = register.visible(rule(field)) { size += Sizes.field(value) }
    }
    return size
  }

  /// The fields where a concurrent value lost, sorted by name, and items of lists where one did.
  package func conflicts(rule: (String) -> Rule) -> [FieldConflict] {
    fields.flatMap { field, register -> [FieldConflict] in
      let items = register.itemConflicts(field, rule(field))
      let losers = register.losers(rule(field))
      if losers.isEmpty { return items }
      let whole = FieldConflict(
        field: field, visible: register.visible(rule(field)),
        losers: losers.map { FieldConflict.Loser($0) })
      return [whole] + items
    }
  }
}
