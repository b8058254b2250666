internal import CairnMerge

/// The change sets that have not arrived in a folder yet: which fields of which records, and what
/// they were before. Values are not in it, the objects have them.
///
/// For each object, each pending field is in one queued set only: the newest that changed it, with
/// what it was before the oldest.
struct OutboxBook: Sendable {
  /// One commit's changes for one route.
  struct Batch: Sendable, Equatable {
    var number: UInt64
    var id: RecordID
    var route: String
    /// The device under whose name its delta was committed, empty as long as it is queued.
    var device = ""
    /// The delta's number.
    var sequence: UInt64 = 0
    /// It has arrived, and is kept for those who were not seen to know it yet.
    var isPublished = false

    var isQueued: Bool { device.isEmpty }
  }

  /// What is pending of one record in one set.
  struct Entry: Sendable, Equatable {
    enum Kind: Int64, Sendable { case update, insert, delete }
    var number: UInt64
    var batch: UInt64
    var object: RowKey
    var table: String
    var record: RecordID
    var kind: Kind
    /// Names of the fields that are written.
    var fields: Set<String>
    /// What they were; of a delete: all of the record. An insert has `carried` here as well.
    var originals: ObjectFields

    /// What the fields were that it writes; of a delete: all of the record.
    var replaced: ObjectFields {
      kind == .insert ? originals.filter { fields.contains($0.key) } : originals
    }
    /// Fields of the record that the object had on another route, and that its mapping does not
    /// know: an insert writes them as they were.
    var carried: ObjectFields {
      kind == .insert ? originals.filter { !fields.contains($0.key) } : [:]
    }
  }

  /// By number.
  private(set) var batches: [UInt64: Batch] = [:]
  private(set) var entries: [UInt64: Entry] = [:]
  private var byObject: [RowKey: Set<UInt64>] = [:]
  private var byBatch: [UInt64: Set<UInt64>] = [:]
  /// Entries that delete, by what they delete: the object may be another one's by now, or gone.
  private var deletes: [RecordPlace: Set<UInt64>] = [:]
  /// Sets that have lost their last entry.
  private var emptied: Set<UInt64> = []
  /// Queued sets that can't be uploaded by this version of the app. It is not stored: the next one
  /// may have what is missing.
  var held: Set<UInt64> = []
  /// Of queued sets, those that are held among them.
  private(set) var queuedCount = 0
  private(set) var inFlightCount = 0
  private var nextNumber: UInt64 = 1
  /// What storage does not have as it is here.
  private(set) var changedBatches: Set<UInt64> = []
  private(set) var changedEntries: Set<UInt64> = []

  // MARK: looking

  /// Oldest first.
  func list(_ route: String? = nil, where isWanted: (Batch) -> Bool) -> [Batch] {
    batches.values.filter { (route == nil || $0.route == route) && isWanted($0) }
      .sorted { $0.number < $1.number }
  }

  func changes(in batch: Batch) -> [Entry] {
    (byBatch[batch.number] ?? []).sorted().compactMap { entries[$0] }
  }

  /// Sets that the next round commits, oldest first.
  func uploads(_ route: String) -> [Batch] {
    list(route) { $0.isQueued && !held.contains($0.number) }
  }

  /// Whether a round has anything to upload: sets in flight or queued, not those that are held.
  func hasUploads(_ route: String) -> Bool {
    batches.values.contains {
      $0.route == route && !$0.isPublished && !held.contains($0.number)
    }
  }

  /// What is pending of an object's record, oldest first. Another mapping may have left something
  /// for another table, and the object may have had another record: that is somebody else's.
  func changes(
    _ object: RowKey, _ place: RecordPlace, where isWanted: (Batch) -> Bool
  ) -> [Entry] {
    guard let numbers = byObject[object] else { return [] }
    return numbers.sorted().compactMap { entries[$0] }.filter { entry in
      entry.table == place.table && entry.record == place.record
        && batches[entry.batch].map { $0.route == place.route && isWanted($0) } ?? false
    }
  }

  func queued(_ object: RowKey, _ place: RecordPlace) -> [Entry] {
    changes(object, place) { $0.isQueued }
  }

  /// The queued delete of a record, whichever object it was.
  func delete(of place: RecordPlace) -> Entry? {
    deletes[place]?.sorted().compactMap { entries[$0] }.last {
      batches[$0.batch]?.isQueued == true
    }
  }

  /// The queued delete of a record that an object had; nil if there is none.
  func delete(of object: RowKey) -> (entry: Entry, route: String)? {
    for number in (byObject[object] ?? []).sorted().reversed() {
      guard let entry = entries[number], entry.kind == .delete, let batch = batches[entry.batch],
        batch.isQueued
      else { continue }
      return (entry, batch.route)
    }
    return nil
  }

  private func place(_ entry: Entry) -> RecordPlace? {
    batches[entry.batch].map {
      RecordPlace(route: $0.route, table: entry.table, record: entry.record)
    }
  }

  /// Routes on which something of an object's record is queued.
  func routes(of object: RowKey, _ table: String, _ record: RecordID) -> Set<String> {
    Set((byObject[object] ?? []).compactMap { entries[$0] }
      .filter { $0.table == table && $0.record == record }
      .compactMap { batches[$0.batch] }.filter(\.isQueued).map(\.route))
  }

  // MARK: storage

  mutating func load(_ batch: Batch) {
    if let old = batches[batch.number] { count(old, -1) }
    batches[batch.number] = batch
    count(batch, 1)
    nextNumber = max(nextNumber, batch.number &+ 1)
  }

  private mutating func count(_ batch: Batch, _ difference: Int) {
    if batch.isQueued {
      queuedCount += difference
    } else if !batch.isPublished {
      inFlightCount += difference
    }
  }

  mutating func load(_ entry: Entry) {
    entries[entry.number] = entry
    byObject[entry.object, default: []].insert(entry.number)
    byBatch[entry.batch, default: []].insert(entry.number)
    if entry.kind == .delete, let place = place(entry) {
      deletes[place, default: []].insert(entry.number)
    }
    nextNumber = max(nextNumber, entry.number &+ 1)
  }

  mutating func noteStored() {
    changedBatches = []
    changedEntries = []
  }

  // MARK: changing

  mutating func begin(_ route: String, id: RecordID) -> UInt64 {
    let number = nextNumber
    put(Batch(number: number, id: id, route: route))
    emptied.insert(number)
    return number
  }

  mutating func put(_ batch: Batch) {
    load(batch)
    changedBatches.insert(batch.number)
  }

  mutating func put(_ entry: Entry) {
    load(entry)
    changedEntries.insert(entry.number)
  }

  mutating func add(
    _ kind: Entry.Kind, _ object: RowKey, table: String, _ record: RecordID,
    fields: Set<String>, originals: ObjectFields, in batch: UInt64
  ) {
    put(
      Entry(
        number: nextNumber, batch: batch, object: object, table: table, record: record, kind: kind,
        fields: fields, originals: originals))
  }

  mutating func remove(_ entry: Entry) {
    entries[entry.number] = nil
    if let place = place(entry), deletes[place]?.remove(entry.number) != nil,
      deletes[place]?.isEmpty == true
    {
      deletes[place] = nil
    }
    byObject[entry.object]?.remove(entry.number)
    if byObject[entry.object]?.isEmpty == true { byObject[entry.object] = nil }
    byBatch[entry.batch]?.remove(entry.number)
    if byBatch[entry.batch]?.isEmpty == true {
      byBatch[entry.batch] = nil
      emptied.insert(entry.batch)
    }
    changedEntries.insert(entry.number)
  }

  mutating func remove(_ batch: Batch) {
    for entry in changes(in: batch) { remove(entry) }
    if let old = batches.removeValue(forKey: batch.number) { count(old, -1) }
    held.remove(batch.number)
    changedBatches.insert(batch.number)
  }

  /// Takes entries out of a set into one of their own, which comes right behind it: later sets may
  /// build on them. For that it gets the number of an entry, which no other set has; the set itself
  /// may have that of one of its own. Returns false if there is no entry with another one.
  mutating func split(_ entries: [Entry], from batch: Batch) -> Bool {
    guard let number = entries.map(\.number).first(where: { batches[$0] == nil }) else {
      return false
    }
    put(Batch(number: number, id: .random(), route: batch.route))
    for var entry in entries {
      remove(entry)
      entry.batch = number
      put(entry)
    }
    return true
  }

  /// A queued set without changes is none.
  mutating func dropEmpty() {
    for number in emptied {
      if let batch = batches[number], batch.isQueued, byBatch[number] == nil { remove(batch) }
    }
    emptied = []
  }

  /// Takes fields out of entries; those that have none left go, unless they insert the record.
  mutating func take(_ fields: Set<String>, from entries: [Entry]) {
    for var entry in entries where !entry.fields.isDisjoint(with: fields) {
      entry.fields.subtract(fields)
      // What is carried stays.
      entry.originals = entry.originals.filter { !fields.contains($0.key) }
      if entry.fields.isEmpty, entry.kind == .update { remove(entry) } else { put(entry) }
    }
  }
}
