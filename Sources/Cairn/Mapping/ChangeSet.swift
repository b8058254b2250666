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
    /// flight: with the values that the object has now. Without a mapping, or with one that can't
    /// read the object, its values are not known, and are nil. Of a record that comes from another
    /// route the fields that the mapping does not know are among them.
    public var fields: [String: Value?]
    /// What these fields were before; one that had no value is not in it. Of a delete: all of the
    /// record.
    public var originals: [String: Value]
  }

  /// Why a set can't be uploaded, suspended or not. Nothing of it is lost: it goes on when the
  /// object store is opened with what is missing. It is all of the set: what could be uploaded of
  /// it is in a set of its own.
  @nonexhaustive
  public enum Hold: Hashable, Sendable {
    /// This store has no mappings that make objects of these tables records of the tables that the
    /// changes say.
    case noMapping(tables: [String])
    /// The mappings can't read these records, or their objects, as another version of the app has
    /// left them. It is tried again when one of them changes, and when the store is opened.
    case unreadable(records: [RecordID])
    /// The store was opened without a datastore for the set's route.
    case noRoute
  }

  /// Its name: random, and the same until it has arrived.
  public var id: RecordID
  /// Where it goes.
  public var route: String
  /// Whether it is committed in its datastore and on its way into the folder: what changes after
  /// that is in later sets.
  public var isInFlight: Bool
  /// Why it waits although it is not in flight; nil for a set that the next round takes.
  public var hold: Hold?
  /// By object, in the order in which they were first recorded.
  public var changes: [Change]

  /// How many records it inserts or updates.
  public var savedCount: Int { changes.count { $0.kind != .delete } }
  /// How many records it deletes.
  public var deletedCount: Int { changes.count { $0.kind == .delete } }
}
