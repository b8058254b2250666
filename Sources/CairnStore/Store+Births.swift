package import CairnMerge

/// What a record here was born after: for putting another store's deletes into this one.
extension Store {
  /// Whether a delete takes all that keeps a record alive, as its author had seen so much: not one
  /// that was inserted again after a delete that the author did not know.
  package func isTaken(
    byDeleteThatKnows seen: VersionVector, table: String, id: RecordName
  ) throws(StoreError) -> Bool {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      let born = try guarded.store.born(number, id)
      return born.allSatisfy { seen.contains($0) }
    }
  }
}

extension StoreState {
  /// The deletes that what is alive of a record comes after, as far as they count still.
  fileprivate mutating func born(_ number: Int, _ id: RecordName) throws(StoreError) -> [Dot] {
    switch try tables[number].find(id, &ground) {
    case .nowhere: return []
    case .slot(let slot): return tables[number].complex[slot]?.bornOfUpdate ?? []
    case .base(let row):
      guard let block = try ground.base?.block(Int(row.block)),
        let range = block.complexState(Int(row.row))
      else { return [] }
      return try TableState.state(block.bytes, range, ground).bornOfUpdate
    }
  }
}
