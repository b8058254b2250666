internal import CairnStore

extension Datastore {
  /// The table of a model, with the model's rules for fields that have none yet.
  ///
  /// - Parameters:
  ///   - model: The type of the table's records.
  ///   - rules: Rules by field, in place of the model's for the same fields.
  /// - Throws: `illegalArgument` for a bad name of a table or field; `closed`; `sizeLimit`.
  ///
  /// A rule is set where the field has none of its own: a change like others, which holds at once
  /// and needs a `sync()` to stay. One that is set stays, also if this version of the app has
  /// another one: two versions would take turns otherwise. ``Table/setRule(_:field:)`` changes it,
  /// on all devices. So tables may be made anew whenever they are needed; who may not write sets
  /// no rule. Cost without new rules: about a microsecond.
  public func table<Model: TableModel>(
    of model: Model.Type, rules: [String: ResolutionRule] = [:]
  ) throws(CairnError) -> TypedTable<Model> {
    try table(Model.table, of: model, rules: rules)
  }

  /// A table by id whose records are values of a type.
  ///
  /// - Parameters:
  ///   - id: The table's id.
  ///   - model: The type of its records.
  ///   - rules: Rules by field, for those that have none yet; if the type is a ``TableModel``, its
  ///     own rules go for the others.
  /// - Throws: `illegalArgument` for a bad name of a table or field; `closed`; `sizeLimit`.
  public func table<Model: Codable & Sendable>(
    _ id: String, of model: Model.Type, rules: [String: ResolutionRule] = [:]
  ) throws(CairnError) -> TypedTable<Model> {
    let table = try table(id)
    var all = (model as? any TableModel.Type)?.rules ?? [:]
    for (field, rule) in rules { all[field] = rule }
    // All or none: what could be refused is refused before the first is set.
    for field in all.keys.sorted() { try table.check(field, nil) }
    // Who may not write reads by the rules that the others have set.
    guard isWritable else { return TypedTable(table: table) }
    for (field, rule) in all.sorted(by: { $0.key < $1.key }) {
      let isSet = try wrapped { () throws(StoreError) in
        try store.hasRule(table: id, field: field)
      }
      if !isSet { try table.setRule(rule, field: field) }
    }
    return TypedTable(table: table)
  }
}
