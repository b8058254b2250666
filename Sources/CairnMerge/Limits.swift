/// How large things may grow by local changes. A limit itself is still allowed.
///
/// A merge is never refused: convergence comes first, and local growth is refused until the
/// datastore is back under its limits.
package struct Limits: Hashable, Sendable {
  package var recordBytes: Int
  package var records: Int
  package var datastoreBytes: Int
  package var deltaBytes: Int

  package init(
    recordBytes: Int = 100 << 10,
    records: Int = 100_000,
    datastoreBytes: Int = 10 << 20,
    deltaBytes: Int = 2 << 20
  ) {
    self.recordBytes = recordBytes
    self.records = records
    self.datastoreBytes = datastoreBytes
    self.deltaBytes = deltaBytes
  }
}
