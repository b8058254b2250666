internal import CairnMerge
internal import CairnStore

extension Table {
  /// The records that a query finds, in its order.
  ///
  /// Cost: a walk over the table, some nanoseconds a record, or with an index
  /// (`Datastore.addIndex`) the logarithm of the table and the records found. A sort without an
  /// index looks at all records that match; with a limit it keeps only so many.
  /// - Throws: `illegalArgument` for a bad field name or a negative limit or skip, `badType` for a
  ///   list in a list; `closed`.
  public func query(_ query: Query) throws(CairnError) -> [Record] {
    try query.check()
    let wanted = query.stored
    let found = try wrapped { () throws(StoreError) in
      try datastore.store.query(table: id, wanted)
    }
    return found.map { Record(table: self, id: RecordID($0)) }
  }

  /// How many records a query finds, its limit and skip included. Costs less than finding them.
  ///
  /// - Throws: as `query`.
  public func count(where query: Query) throws(CairnError) -> Int {
    try query.check()
    let wanted = query.stored
    return try wrapped { () throws(StoreError) in
      try datastore.store.count(table: id, wanted)
    }
  }

  /// A cursor over the records that a query finds: for results that are too many to hold, or of
  /// which perhaps only the first few are needed.
  ///
  /// - Throws: as `query`. Nothing is searched yet.
  public func records(_ query: Query = Query()) throws(CairnError) -> RecordCursor {
    try query.check()
    try datastore.checkOpen()
    return RecordCursor(self, query)
  }

  /// How a query would be run now, in words for people: which index, how many candidates. The
  /// wording may change.
  ///
  /// - Throws: as `query`.
  public func explain(_ query: Query) throws(CairnError) -> String {
    try query.check()
    let wanted = query.stored
    return try wrapped { () throws(StoreError) in
      try datastore.store.explain(table: id, wanted)
    }
  }
}
