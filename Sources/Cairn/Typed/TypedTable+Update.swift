internal import CairnMerge
internal import CairnStore

extension TypedTable {
  /// Makes a record what the model is, writing only the fields that differ.
  ///
  /// A list that differs is edited item by item, so that what other devices do to it at the same
  /// time merges; what is kept as a list and is none, a range say, is written as a whole. A
  /// property that is nil removes its field. Fields that the model does not encode stay. What other
  /// threads or devices changed since the model was read is overwritten where it differs: to change
  /// some fields only, use ``update(_:change:)``.
  ///
  /// - Throws: `deleted` if there is no such record; `badType` for what a record can't hold;
  ///   `illegalArgument` for a bad id, one that is not the model's, or a bad coding key;
  ///   `sizeLimit`. Nothing is changed then.
  public func update(_ id: RecordID, _ model: Model) throws(CairnError) {
    let new = try encode(model, id)
    try write(id) { now throws(CairnError) -> ([FieldDiff.Change], RecordFields, Void) in
      var form = new
      // A record that is no `Model` yet tells nothing of that type.
      if form.mayTellApart(now), let read = try? encode(decode(now, id), id) {
        form.tellApart(as: read)
      }
      return (FieldDiff.changes(from: now, to: form), form, ())
    }
  }

  /// Changes a record: `change` gets its value as it is now, and the fields that it makes different
  /// are written as one change. Returns the new value.
  ///
  /// No other change comes between: if the record was changed on another thread meanwhile, `change`
  /// is called again with the value of then. It should do nothing but change its argument.
  ///
  /// - Throws: `deleted` if there is no such record; `badType` if it is no `Model`, or for what
  ///   a record can't hold; `illegalArgument` for a bad id, a bad coding key, or if the model's id
  ///   was changed; `sizeLimit`. Nothing is changed then.
  @discardableResult
  public func update(
    _ id: RecordID, change: (inout Model) -> Void
  ) throws(CairnError) -> Model {
    try write(id) { now throws(CairnError) in
      var model = try decode(now, id)
      // Against the model, not the record: what the model makes up for an absent field, or can't
      // hold exactly, is no change of the app's.
      let old = try encode(model, id)
      change(&model)
      var new = try encode(model, id)
      new.tellApart(as: old)
      return (FieldDiff.changes(from: old.fields, to: new.fields), new, model)
    }
  }

  /// Works out changes from what the record is, until nothing came between.
  private func write<Result>(
    _ id: RecordID,
    _ changes: ([(String, FieldValue)]) throws(CairnError) -> (
      [FieldDiff.Change], RecordFields, Result
    )
  ) throws(CairnError) -> Result {
    while true {
      guard let now = try fields(id) else {
        throw CairnError(
          .deleted, "there is no record \(id) in table \(table.id); was it deleted?",
          id: id.description)
      }
      let (changed, model, result) = try changes(now)
      let change = FieldDiff.update(changed, from: now, as: model)
      if change.fields.isEmpty, change.lists.isEmpty { return result }
      let isDone = try wrapped { () throws(StoreError) in
        try table.datastore.store.update(table: table.id, id: id.name, change, ifStill: now)
      }
      if isDone { return result }
    }
  }
}

extension TypedTable where Model: Identifiable, Model.ID == RecordID {
  /// Makes the record of the model's id what the model is: ``update(_:_:)``.
  public func update(_ model: Model) throws(CairnError) { try update(model.id, model) }
}
