package import CairnMerge

extension Store {
  /// The values of a record's fields, and beside them those that lost to a concurrent one and that
  /// no later write covers: one pair for each value, in no order. nil if the record is not there.
  package func remembered(
    table: String, id: RecordName
  ) throws(StoreError) -> [(String, FieldValue)]? {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      let place = try guarded.store.tables[number].find(id, &guarded.store.ground)
      guard try guarded.store.isThere(number, place) else { return nil }
      var result = try guarded.store.tables[number].fields(
        place, &guarded.store.ground, guarded.store.rules)
      // What is not committed yet is in the fields only, and what lost in the state only.
      let state = try guarded.store.tables[number].fullState(place, &guarded.store.ground)
      state?.forEachValue { field, value in result.append((field, value)) }
      return result
    }
  }
}

extension TableState {
  /// The whole state of a record, if it takes one to tell.
  fileprivate mutating func fullState(
    _ place: Place, _ ground: inout Ground
  ) throws(StoreError) -> RecordState? {
    switch place {
    case .nowhere: return nil
    case .slot(let slot): return complex[slot]
    case .base(let row):
      guard let block = try ground.base?.block(Int(row.block)),
        let range = block.complexState(Int(row.row))
      else { return nil }
      return try TableState.state(block.bytes, range, ground)
    }
  }
}
