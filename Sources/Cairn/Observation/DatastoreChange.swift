internal import CairnStore

/// Records that were changed, here or by other devices.
///
/// A change that a reader has not read yet is joined with those that follow it, so one may stand
/// for any number of changes. What it says is *where* to look, not what happened: read the records
/// to see what they are now, which is at least as new as the change.
public struct DatastoreChange: Hashable, Sendable {
  /// Local and remote together only as long as nobody reads it.
  private var changes: StoreChanges

  init(_ changes: StoreChanges) { self.changes = changes }

  /// Whether they were changed on this device: by inserts, updates and deletes, by a roll-back, by
  /// a new rule that decides a conflict anew. Otherwise a `sync()` made changes of other devices
  /// visible.
  public var isLocal: Bool { !changes.local.isEmpty }

  /// The changed records by table, `:info` (the title) and other tables of the library among them.
  /// Deleted records are in it, too. Made anew each time: some nanoseconds a record.
  public var records: [String: Set<RecordID>] {
    parts.records.mapValues { Set($0.lazy.map(RecordID.init)) }
  }

  /// Tables of which any record may have changed: beyond 10,000 of them, single records are not
  /// told any more, nor is what is in a whole state that was fetched.
  public var wholeTables: Set<String> { parts.wholeTables }

  /// Whether `records` names all of them: there are no `wholeTables`.
  public var isComplete: Bool { parts.wholeTables.isEmpty }

  /// The changed records of one table: empty if there are none, nil if it may be any.
  public func records(in table: String) -> Set<RecordID>? {
    if parts.wholeTables.contains(table) { return nil }
    return Set((parts.records[table] ?? []).lazy.map(RecordID.init))
  }

  /// Whether records of a table are among them.
  public func affects(_ table: String) -> Bool {
    parts.records[table] != nil || parts.wholeTables.contains(table)
  }

  private var parts: ChangedRecords { changes.local.isEmpty ? changes.remote : changes.local }

  /// The changes of both kinds, joined.
  var all: ChangedRecords {
    var all = changes.local
    all.formUnion(changes.remote)
    return all
  }

  mutating func join(_ later: DatastoreChange) { changes.formUnion(later.changes) }

  /// Takes the remote part off, if there are both.
  mutating func split() -> DatastoreChange? {
    if changes.local.isEmpty || changes.remote.isEmpty { return nil }
    var rest = StoreChanges()
    swap(&rest.remote, &changes.remote)
    return DatastoreChange(rest)
  }
}
