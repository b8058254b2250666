import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge

/// Writes the state of a frozen store as a snapshot: the base's rows and the overlay's slots,
/// merged in order, table by table. Works on values, outside the store's lock.
struct SnapshotBuild {
  /// What a freeze hands over: everything committed, nothing pending.
  struct Source {
    var datastore: UInt128
    var tables: [TableState]
    var ground: Ground
    var rules: RuleBook
    var totals: StoreTotals
    var description: SnapshotDescription
    /// Everything is settled: no other device can write here.
    var isAlone: Bool
  }

  private let source: Source
  private var sink: RowSink
  private var fields = FieldNumbers()

  init(
    _ source: Source, writer: SnapshotWriter, columnsMax: Int = FormatBounds.columnsInTable
  ) {
    self.source = source
    writer.expect(records: source.totals.recordCount)
    sink = RowSink(writer: writer, columnsMax: columnsMax)
  }

  /// Writes the whole file; returns its length.
  mutating func run() throws(StoreError) -> UInt64 {
    var description = source.description
    description.size = source.totals.size
    description.recordCount = source.totals.recordCount
    for table in source.tables.sorted(by: { $0.name < $1.name }) {
      sink.begin(table.name)
      var rows = SnapshotRows(table, of: source, &fields)
      while try rows.next(&fields) {
        try sink.add(rows.row, heap: rows.heap, baseHeap: rows.baseHeap, fields)
      }
      try sink.end(table.name, fields)
    }
    return try sink.finish(description)
  }
}

extension RecordState {
  /// What a plain row can hold: one presence, one plain entry a field, nothing else.
  var plain: (presence: Stamp, fields: [(String, Entry)])? {
    guard tombstones.isEmpty, presences.count == 1, presences[0].born.isEmpty else { return nil }
    var result: [(String, Entry)] = []
    for (field, register) in fields {
      guard let only = register.only, only.born.isEmpty else { return nil }
      result.append((field, only))
    }
    return (presences[0].stamp, result)
  }
}
