internal import CairnMerge
internal import CairnStore

/// What `Datastore.sync()` did.
public struct SyncResult: Sendable {
  /// A record that other devices' changes touched.
  public struct Change: Hashable, Sendable {
    /// Id of the table.
    public var table: String
    /// Id of the record.
    public var id: RecordID
    /// It is gone; it has no fields.
    public var isDeleted: Bool
  }

  /// A field that was changed on several devices at once, with the changes that lost; or an item of
  /// a list that several devices replaced, with the values of that item.
  public struct Conflict: Hashable, Sendable {
    /// A value (nil: a removal) that is not shown, and who wrote it when.
    public struct Loser: Hashable, Sendable {
      /// The value that lost; nil for a removal.
      public var value: Value?
      /// The device that wrote it, 16 hex digits.
      public var device: String
      /// When it was committed, by that device's clock.
      public var time: Timestamp
    }

    /// Id of the table.
    public var table: String
    /// Id of the record.
    public var id: RecordID
    /// Name of the field.
    public var field: String
    /// The rule that decided.
    public var rule: ResolutionRule
    /// The value that all devices show; nil if the field was removed.
    public var visible: Value?
    /// What lost; kept until a later write covers it.
    public var losers: [Loser]
  }

  /// Whether there were local changes to commit.
  public var committed: Bool
  /// Deltas of other devices that became visible.
  public var incorporated: Int

  /// The new name of this device (`Datastore.device`), 16 hex digits, if it had to take one:
  /// another copy of it had published under the old one. What only this copy had is under the new.
  public var newDevice: String? {
    get { news?.parts.newDevice }
    set { change { $0.newDevice = newValue } }
  }

  /// Records that other devices' changes touched, once each: also those of which everything that
  /// the others did has lost, so that they show what they did before. Those of the library's own
  /// tables are among them: a title is a field of the record `info` of the table `:info`.
  ///
  /// For a new device that has taken in a snapshot these are all records there are. They are read
  /// from the snapshot's file whenever they are asked for, and not kept: a walk over all of it. If
  /// the file has come to harm meanwhile, those that can't be read any more are not among them.
  public var changes: [Change] {
    get {
      guard let parts = news?.parts else { return [] }
      guard let arrived = parts.arrived else { return parts.listed }
      let known = Set(parts.listed.map { RowKey(table: $0.table, id: $0.id) })
      var result = parts.listed
      arrived.forEach { table, id in
        let key = RowKey(table: table, id: RecordID(id))
        if !known.isEmpty, known.contains(key) { return }
        result.append(Change(table: key.table, id: key.id, isDeleted: false))
      }
      return result
    }
    set { change { ($0.listed, $0.arrived) = (newValue, nil) } }
  }

  /// Conflicts in the records that changed, those decided earlier but still remembered included. A
  /// device that returns after it was left out also finds here what lost as its edits went on top.
  /// What an ``ObjectStore`` has noted for itself (tables `:map.…`) is not among them.
  ///
  /// Of three kinds of loss nothing is kept that could be shown here: edits of a list where another
  /// device has set or removed the field as a whole meanwhile; the new value of an item that
  /// another device has removed; and what was written to a record that another device has deleted.
  public var conflicts: [Conflict] {
    get { news?.parts.conflicts ?? [] }
    set { change { $0.conflicts = newValue } }
  }

  /// Other devices' deletes that were not taken, since there are so many at once, and how to go on;
  /// nil if there are none.
  public var massDelete: MassDelete? {
    get { news?.parts.massDelete }
    set { change { $0.massDelete = newValue } }
  }

  /// All that there is to say about other devices. After most syncs it is nothing, and a result,
  /// which is handed on and dropped for each, counts no references then.
  private var news: News?

  private final class News: Sendable {
    let parts: Parts

    init(_ parts: Parts) { self.parts = parts }
  }

  private struct Parts: Sendable {
    var newDevice: String?
    var massDelete: MassDelete?
    var listed: [Change] = []
    var arrived: ArrivedRecords?
    var conflicts: [Conflict] = []
  }

  private mutating func change(_ body: (inout Parts) -> Void) {
    var parts = news?.parts ?? Parts()
    body(&parts)
    news = News(parts)
  }

  /// The changed records by table.
  public var changedRecords: [String: Set<RecordID>] {
    var result: [String: Set<RecordID>] = [:]
    for change in changes { result[change.table, default: []].insert(change.id) }
    return result
  }

  /// What a sync says that made nothing of other devices visible.
  init(
    committed: Bool, incorporated: Int = 0, newDevice: String? = nil, massDelete: MassDelete? = nil
  ) {
    self.committed = committed
    self.incorporated = incorporated
    if newDevice == nil, massDelete == nil { return }
    news = News(Parts(newDevice: newDevice, massDelete: massDelete))
  }

  /// What tables begin with that an object store keeps its own notes in.
  private static let notes = ":map."

  mutating func add(_ outcome: SyncOutcome, rule: (String, String) -> ResolutionRule) {
    let listed = outcome.changed.map {
      Change(table: $0.table, id: RecordID($0.id), isDeleted: $0.isDeleted)
    }
    // An object store's notes are nobody's to decide: both values of such a field count.
    let told = outcome.conflicts.filter { !$0.table.hasPrefix(SyncResult.notes) }
    let conflicts = told.map { found in
      Conflict(
        table: found.table, id: RecordID(found.id), field: found.conflict.field,
        rule: rule(found.table, found.conflict.field),
        visible: found.conflict.visible.map(Value.init),
        losers: found.conflict.losers.map {
          Conflict.Loser(
            value: $0.value.map(Value.init), device: $0.device.description,
            time: Timestamp(millisecondsSince1970: $0.time))
        })
    }
    change {
      ($0.listed, $0.arrived) = (listed, outcome.arrived)
      $0.conflicts = conflicts
    }
  }
}
