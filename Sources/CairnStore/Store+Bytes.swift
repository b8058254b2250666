package import CairnMerge
import Synchronization

/// A value of bytes that something in a store remembers.
package struct KeptBytes: Sendable {
  package var table: String
  package var id: RecordName
  package var field: String
  package var bytes: [UInt8]
}

extension Store {
  /// The values of bytes that begin so, in fields and in lists, each as often as it is there: what
  /// is visible or pending, what a roll-back would bring back, and what is remembered of conflicts.
  /// Reads everything once, block by block, outside of all locks. `vector` is that of the state
  /// that was looked at.
  package func values(
    beginningWith prefix: [UInt8]
  ) throws(StoreError) -> (found: [KeptBytes], vector: VersionVector) {
    var found = BytesFinder(prefix: prefix)
    let frozen = try withState { guarded throws(StoreError) -> SnapshotBuild.Source in
      try guarded.store.findPending(&found)
      return try source(&guarded)
    }
    var fields = FieldNumbers()
    for table in frozen.tables {
      var rows = SnapshotRows(table, of: frozen, &fields)
      while try rows.next(&fields) { found.look(at: rows, table.name, fields) }
    }
    return (found.result, frozen.description.vector)
  }

  /// The same in one record, as far as it is visible.
  package func values(
    beginningWith prefix: [UInt8], table: String, id: RecordName
  ) throws(StoreError) -> [KeptBytes] {
    var found = BytesFinder(prefix: prefix)
    for (field, value) in try fields(table: table, id: id) ?? [] {
      found.look(at: value, table, id, field)
    }
    return found.result
  }
}

/// Collects values of bytes.
struct BytesFinder {
  let prefix: [UInt8]
  private(set) var result: [KeptBytes] = []

  init(prefix: [UInt8]) { self.prefix = prefix }

  mutating func look(at value: FieldValue, _ table: String, _ id: RecordName, _ field: String) {
    switch value {
    case .bytes(let bytes):
      if bytes.starts(with: prefix) {
        result.append(KeptBytes(table: table, id: id, field: field, bytes: bytes))
      }
    case .list(let items): for item in items { look(at: item, table, id, field) }
    default: break
    }
  }

  mutating func look(at rows: SnapshotRows, _ table: String, _ fields: FieldNumbers) {
    let id = rows.row.name
    if let full = rows.full {
      full.forEachValue { look(at: $1, table, id, $0) }
      return
    }
    for cell in rows.row.cells {
      let (tag, heap) = (cell.cell.tag, cell.isBase ? rows.baseHeap : rows.heap)
      guard tag == CellTag.bytes || CellTag.isList(tag) else { continue }
      // Most bytes are something else: only the beginning is looked at.
      let range = Cell.heapRange(cell.cell.word)
      if tag == CellTag.bytes, !heap[range].starts(with: prefix) { continue }
      if let value = cell.cell.value(heap) { look(at: value, table, id, fields.names[cell.field]) }
    }
  }
}

extension StoreState {
  /// What is in records that were changed since the last commit.
  mutating func findPending(_ found: inout BytesFinder) throws(StoreError) {
    for number in tables.indices where tables[number].hasPending {
      let name = tables[number].name
      var slots = Set(tables[number].pendingRecords.map(\.slot))
      slots.formUnion(tables[number].undo.map { Int($0.slot) })
      slots.formUnion(tables[number].pendingLists.map { Int($0.key.slot) })
      for slot in slots.sorted() where tables[number].exists(slot) {
        let id = tables[number].ids[slot]
        for (field, value) in try tables[number].fields(.slot(slot), &ground, rules) {
          found.look(at: value, name, id, field)
        }
      }
    }
  }
}
