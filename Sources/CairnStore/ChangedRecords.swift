package import CairnMerge

/// Records by table, as a set that never grows without bound: beyond a number of ids, a table is
/// in it as a whole.
package struct ChangedRecords: Hashable, Sendable {
  /// Ids that are kept, of all tables together.
  package static let idsMax = 10_000

  /// By table; no set is empty, and no table also in `wholeTables`.
  package private(set) var records: [String: Set<RecordName>] = [:]
  /// Tables of which any record may be meant.
  package private(set) var wholeTables: Set<String> = []
  private var idCount = 0

  package init() {}

  package var isEmpty: Bool { records.isEmpty && wholeTables.isEmpty }

  package mutating func insert(_ id: RecordName, table: String) {
    if !wholeTables.isEmpty, wholeTables.contains(table) { return }
    guard records[table, default: []].insert(id).inserted else { return }
    idCount += 1
    if idCount > ChangedRecords.idsMax { insertAll(of: table) }
  }

  package mutating func insertAll(of table: String) {
    idCount -= records.removeValue(forKey: table)?.count ?? 0
    wholeTables.insert(table)
  }

  package mutating func formUnion(_ other: ChangedRecords) {
    for table in other.wholeTables { insertAll(of: table) }
    for (table, ids) in other.records {
      for id in ids { insert(id, table: table) }
    }
  }
}
