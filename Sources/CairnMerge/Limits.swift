/// How large things may grow by local changes. A limit itself is still allowed.
///
/// A merge is never refused: convergence comes first, and local growth is refused until the
/// datastore is back under its limits.
package struct Limits: Hashable, Sendable {
  package var recordBytes: Int
  package var records: Int
  package var datastoreBytes: Int
  package var deltaBytes: Int
  /// Nodes of one list, those of removed and moved items included. No format holds more; only tests
  /// have less.
  package var listNodes: Int
  /// What one list counts with is below this. No format holds more.
  package var listBytes: Int

  package init(
    recordBytes: Int = 100 << 10,
    records: Int = 100_000,
    datastoreBytes: Int = 10 << 20,
    deltaBytes: Int = 2 << 20,
    listNodes: Int = FormatBounds.cellsInDelta - 1,
    listBytes: Int = Cell.heapLengthMax
  ) {
    self.recordBytes = recordBytes
    self.records = records
    self.datastoreBytes = datastoreBytes
    self.deltaBytes = deltaBytes
    self.listNodes = listNodes
    self.listBytes = listBytes
  }

  /// For what was checked already.
  package static let unlimited = Limits(
    recordBytes: .max, records: .max, datastoreBytes: .max, deltaBytes: .max, listNodes: .max,
    listBytes: .max)
}
