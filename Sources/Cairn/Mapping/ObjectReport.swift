/// What an exchange or a sync did for objects.
public struct ObjectReport: Sendable {
  /// A record that could not become an object, or whose object can't be read: both are left as they
  /// are.
  public struct Unreadable: Hashable, Sendable {
    /// Where the record is.
    public var route: String
    /// The record's table.
    public var table: String
    /// The record's id.
    public var record: RecordID
    /// What is wrong with it.
    public var error: CairnError
  }

  /// What happened in the folder, by route: the last round of each.
  public var exchanges: [String: ExchangeReport] = [:]
  /// Objects that other devices have changed, in the order in which that was found out.
  public var changes: [SyncResult.Change] = []
  /// How often a change of another device met pending ones.
  public var merges = 0
  /// Records that are no objects to this version of the app: those that were met. The first report
  /// has those that were met when the store was opened.
  public var unreadable: [Unreadable] = []
  /// The sets that have arrived in a folder, each told once: those that were found when the store
  /// was opened are among them, and those of a round that failed before anybody heard of them.
  public var arrived: [RecordID] = []
  /// Deletes that wait for consent, by route: `Datastore.sync(allowingMassDelete:)` gives it.
  public var massDeletes: [String: MassDelete] = [:]
}

extension [ObjectReport.Unreadable] {
  /// One that was told already is not told again.
  mutating func add(_ place: RecordPlace, _ error: CairnError) {
    let isTold = contains {
      $0.route == place.route && $0.table == place.table && $0.record == place.record
    }
    if isTold { return }
    append(
      ObjectReport.Unreadable(
        route: place.route, table: place.table, record: place.record, error: error))
  }
}
