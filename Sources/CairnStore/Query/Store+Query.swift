package import CairnMerge
import Synchronization

extension Store {
  /// Ids of the records of which every field given equals its value; all for none.
  package func query(
    table: String, _ filter: [(String, FieldValue)]
  ) throws(StoreError) -> [RecordName] {
    var query = RecordQuery()
    query.conditions = filter.map {
      RecordQuery.Condition(field: $0.0, test: .equals($0.1))
    }
    return try self.query(table: table, query)
  }

  /// Ids of a query's result.
  package func query(
    table: String, _ query: RecordQuery
  ) throws(StoreError) -> [RecordName] {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      return try guarded.store.run(number, query)
    }
  }

  /// How many records a query's result has.
  package func count(table: String, _ query: RecordQuery) throws(StoreError) -> Int {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      return try guarded.store.count(number, query)
    }
  }

  /// How a query would be run now.
  package func explain(table: String, _ query: RecordQuery) throws(StoreError) -> String {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      return try guarded.store.explanation(number, query)
    }
  }

  /// Some more ids of a walk over a query's result.
  package func advance(
    _ walk: inout QueryWalk, table: String
  ) throws(StoreError) -> [RecordName] {
    var next = walk
    defer { walk = next }
    return try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      return try next.advance(&guarded.store, number)
    }
  }
}
