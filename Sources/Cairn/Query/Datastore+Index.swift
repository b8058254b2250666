internal import CairnMerge
internal import CairnStore

extension Datastore {
  /// Lets queries of a table use an index of a field: for conditions on it (all but `notEquals`),
  /// and for sorting by it first with a limit. The result of a query is the same with and without.
  ///
  /// An index is this datastore object's own: it is in memory, not synced, not stored, and gone
  /// after `close()`; add it again after opening. The declaration costs nothing. The first query
  /// that needs it builds it, one walk over the table and a sort: some tens of milliseconds for
  /// 100,000 records, and about 30 to 60 bytes of memory a record. After that, changes cost a few
  /// nanoseconds more and are put in order by the next query; compaction builds it anew in the
  /// background. Of long texts the first 128 bytes are in it, and lists have no order in it: it is
  /// right for those, too, and not as quick.
  ///
  /// - Throws: `illegalArgument` for a bad or a reserved id; `closed`.
  public func addIndex(table: String, field: String) throws(CairnError) {
    let name = try indexName(table, field)
    try wrapped { () throws(StoreError) in try store.addIndex(name) }
  }

  /// Takes an index back and frees its memory; no effect if there is none.
  ///
  /// - Throws: as `addIndex`.
  public func removeIndex(table: String, field: String) throws(CairnError) {
    let name = try indexName(table, field)
    try wrapped { () throws(StoreError) in try store.removeIndex(name) }
  }

  private func indexName(_ table: String, _ field: String) throws(CairnError) -> IndexName {
    // The table's own check of its id.
    _ = try self.table(table)
    try Query.check(field: field)
    return IndexName(table: table, field: field)
  }
}
