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
      let place = try guarded.store.tables[number].find(id, &guarded.store.ground)
      let born = try guarded.store.state(number, place)?.bornOfUpdate ?? []
      return born.allSatisfy { seen.contains($0) }
    }
  }
}
