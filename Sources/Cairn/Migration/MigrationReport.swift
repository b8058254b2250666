/// What a migration of local datastores to an account moved.
public struct MigrationReport: Hashable, Sendable {
  /// A field that both the local and the account's copy on this device had, with different values.
  public struct Conflict: Hashable, Sendable {
    /// Id of the table.
    public var table: String
    /// Id of the record.
    public var record: RecordID
    /// Name of the field.
    public var field: String
    /// The rule that decided, the account's value being the remote one.
    public var rule: ResolutionRule
    /// The value that the field has now.
    public var kept: Value
    /// The value that is nowhere any more but here.
    public var lost: Value
  }

  /// A datastore that was moved.
  public struct Moved: Hashable, Sendable {
    /// Its id.
    public var id: String
    /// Its records, reserved ones too.
    public var records = 0
    /// Those of them that the account's copy on this device had, too.
    public var mergedRecords = 0
    /// Fields in which one of two values had to go. What other devices have is merged later, by
    /// the exchange, and reported by `sync()`.
    public var conflicts: [Conflict] = []

    init(id: String) { self.id = id }
  }

  /// The datastores that were moved, sorted by id.
  public var datastores: [Moved] = []
  /// Whether an earlier migration, which was interrupted when everything was copied, was completed
  /// first. What it moved is not listed again.
  public var hasCompletedEarlier = false

  init() {}
}
