import CairnDisk
package import CairnMerge
import Synchronization

/// What a live query finds at one moment.
package struct LiveReading: Sendable {
  /// Everything that had changed until then and was not told before.
  package var changes = StoreChanges()
  /// The records that were looked at; nil: all of the table.
  package var evaluated: Set<RecordName>?
  /// Those of them that match, in no order.
  package var matches: [RecordQuery.Key] = []
  /// Why nothing could be found.
  package var failure: StoreError?

  package init() {}
}

extension Store {
  /// Takes what has changed and looks at the records that may match differently since, under one
  /// lock: what is found is the state of one moment, and exactly what is told of it. `seen` is what
  /// was told before and not looked at yet; nil for all records.
  package func read(
    live query: RecordQuery, table: String, seen: [ChangedRecords]?
  ) -> LiveReading {
    state.withLock { guarded in
      var reading = LiveReading()
      reading.changes = guarded.store.journal.take(remote: true)
      if let seen {
        var ids: Set<RecordName>? = []
        for part in seen + [reading.changes.local, reading.changes.remote] {
          if part.wholeTables.contains(table) { ids = nil }
          ids?.formUnion(part.records[table] ?? [])
        }
        reading.evaluated = ids
      }
      guard guarded.isOpen else {
        reading.failure = guarded.ending ?? Store.closedError
        return reading
      }
      do throws(StoreError) {
        reading.matches = try guarded.store.keys(query, table: table, among: reading.evaluated)
      } catch { reading.failure = error }
      return reading
    }
  }
}

extension StoreState {
  /// What the matching records are sorted by, in no order; `ids` nil: among all records.
  fileprivate mutating func keys(
    _ query: RecordQuery, table: String, among ids: Set<RecordName>?
  ) throws(StoreError) -> [RecordQuery.Key] {
    let number = self.table(table)
    // Only what is asked about is read.
    let fields = Set(query.conditions.map(\.field) + query.sorts.map(\.field)).sorted()
    let columns = fields.map { tables[number].column($0, &ground, rules) }
    var places: [(RecordName, TableState.Place)] = []
    if let ids {
      for id in ids {
        let place = try tables[number].find(id, &ground)
        if try isThere(number, place) { places.append((id, place)) }
      }
    } else {
      places = try self.places(in: number)
    }
    var result: [RecordQuery.Key] = []
    var values: [String: FieldValue] = [:]
    for (id, place) in places {
      for (field, column) in zip(fields, columns) {
        values[field] = try tables[number].view(place, column, &ground).value
      }
      if query.matches({ values[$0] }) { result.append(query.key(id) { values[$0] }) }
    }
    return result
  }
}
