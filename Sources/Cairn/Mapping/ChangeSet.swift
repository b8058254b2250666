/// What one commit has to say to one datastore: the unit in which changes are uploaded, whole or
/// not at all.
///
/// A value, made when it is asked for. Its values are those that would be uploaded now; later
/// changes and merges rewrite sets that are not in flight, and sets of which nothing is left go.
public struct ChangeSet: Identifiable, Hashable, Sendable {
  /// What it does to one record.
  public struct Change: Hashable, Sendable {
    /// Inserts, updates or deletes.
    @nonexhaustive
    public enum Kind: Hashable, Sendable {
      case insert
      case update
      case delete
    }

    /// What happens to the record.
    public var kind: Kind
    /// The object's table on this device.
    public var table: String
    /// The object's id.
    public var object: RecordID
    /// The record's table.
    public var recordTable: String
    /// The record's id.
    public var record: RecordID
    /// The fields that are written, with the values that they get; nil for a removal. Of a set in
    /// flight: with the values that the object has now.
    public var fields: [String: Value?]
    /// What these fields were before; one that had no value is not in it. Of a delete: all of the
    /// record.
    public var originals: [String: Value]
  }

  /// Its name: random, and the same until it has arrived.
  public var id: RecordID
  /// Where it goes.
  public var route: String
  /// Whether it is committed in its datastore and on its way into the folder: what changes after
  /// that is in later sets.
  public var isInFlight: Bool
  /// By object, in the order in which they were first recorded.
  public var changes: [Change]

  /// How many records it inserts or updates.
  public var savedCount: Int { changes.count { $0.kind != .delete } }
  /// How many records it deletes.
  public var deletedCount: Int { changes.count { $0.kind == .delete } }
}

/// An upload that did not succeed.
///
/// When it is handed over, the queue has been suspended once because of it, and the sets that did
/// arrive have left the queue. Nothing is uploaded before `ObjectStore.resume()`.
public struct UploadFailure: Sendable {
  /// Where the upload went.
  public let route: String
  /// The set that was refused; nil if the folder failed, and it is all that are in flight.
  public let changeSet: RecordID?
  /// What went wrong.
  public let error: CairnError
  /// The sets of this upload that have arrived.
  public let arrived: [RecordID]
}

/// How an object stands to its record.
public struct ObjectState: Hashable, Sendable {
  /// The datastore that the record is in, or would be; nil for an object that stays on this device.
  public var route: String?
  /// The record's table; nil for a table of objects that stay on this device.
  public var recordTable: String?
  /// The record's id.
  public var record: RecordID
  /// Whether the object was detached: it has no record, whatever its mapping says.
  public var isDetached: Bool
  /// Whether there is such a record here.
  public var hasRecord: Bool
  /// The fields that are not uploaded yet, sorted.
  public var pendingFields: [String]
  /// Whether the record's delete is not uploaded yet.
  public var hasPendingDelete: Bool
}
