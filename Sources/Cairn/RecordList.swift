internal import CairnMerge
internal import CairnStore

/// A list in a field of a record: a handle that always shows what the list is now.
///
/// Edits change items and not the whole value, so what several devices do at once merges without
/// conflict: each keeps its insertions, runs that were typed at one place stay together, deleting
/// beats moving and replacing, and an item that several devices moved is there once. Setting the
/// field to a whole list, or removing it, beats edits made at the same time. Like all changes,
/// edits show at once and last with the next `sync()`.
///
/// A handle stands for the field, whatever comes to be in it: once the field was removed it reads
/// as empty, and the first insertion begins a new list there.
///
/// Indexes count from 0. An edit costs O(log n), and in the log and the folder some 20 bytes and
/// what it puts in. May be used from any thread; each call is atomic by itself.
///
/// As a sequence it is the items of the moment at which a walk begins: `for`, `map`, `filter`,
/// `Array(list)` and all the like see one moment, whatever other threads and syncs do meanwhile. No
/// sequence can throw: of a list that can't be read, because the datastore is closed or the field
/// holds something else by now, it has no items. `values` throws then.
public struct RecordList: Sendable {
  /// The record that it is in.
  public let record: Record
  /// The field that it is in.
  public let field: String

  init(record: Record, field: String) {
    self.record = record
    self.field = field
  }

  private var store: Store { record.table.datastore.store }

  /// All items, at one moment; empty if the field is absent or the record deleted.
  ///
  /// - Throws: `badType` if the field holds something else by now; `closed`.
  public var values: [Value] {
    get throws(CairnError) {
      var values: [Value] = []
      _ = try wrapped { () throws(StoreError) in
        try store.forEachListItem(
          table: record.table.id, id: record.id.name, field: field,
          count: { values.reserveCapacity($0) }
        ) { values.append(Value($0)) }
      }
      return values
    }
  }

  /// The item at an index. Cost: O(log n) while the list's edits are in the log; O(n) after a
  /// compaction, or for a list that was set whole. To walk over a list use `values`.
  ///
  /// - Throws: `badIndex` if there is none.
  public func value(at index: Int) throws(CairnError) -> Value {
    let value = try wrapped { () throws(StoreError) in
      try store.listItem(
        table: record.table.id, id: record.id.name, field: field, at: index)
    }
    guard let value else {
      throw CairnError(
        .badIndex,
        "there is no item \(index) in field \(field) of record \(record.id) in table "
          + record.table.id, id: field)
    }
    return Value(value)
  }

  // MARK: edits

  /// Puts an item before the one at an index, or, at `count`, at the end.
  ///
  /// - Throws: `badIndex`; `badType` if the field holds no list, or the value is one; `deleted`;
  ///   `sizeLimit`. The list is as before then.
  public func insert(_ value: Value, at index: Int) throws(CairnError) {
    try check(value)
    try edit(.insert(value.stored, at: index))
  }

  /// Puts several items before the one at an index, as one change. No items at all are no change,
  /// and begin no list.
  ///
  /// - Throws: as `insert(_:at:)`, also for no items.
  public func insert(
    contentsOf values: some Collection<Value>, at index: Int
  ) throws(CairnError) {
    for value in values { try check(value) }
    if values.isEmpty {
      return try wrapped { () throws(StoreError) in
        try store.requirePlace(
          table: record.table.id, id: record.id.name, field: field, at: index)
      }
    }
    try edit(.insertAll(values.map(\.stored), at: index))
  }

  /// Puts an item at the end.
  public func append(_ value: Value) throws(CairnError) {
    try check(value)
    try edit(.append(value.stored))
  }

  /// Takes an item out.
  public func remove(at index: Int) throws(CairnError) { try edit(.remove(at: index)) }

  /// Takes the last item out.
  ///
  /// - Throws: `badIndex` if the list is empty.
  public func removeLast() throws(CairnError) { try edit(.removeLast) }

  /// Gives an item another value. Two devices that replace one item at once have a conflict, which
  /// the field's rule decides (`sum` as `remote`).
  public func replace(at index: Int, with value: Value) throws(CairnError) {
    try check(value)
    try edit(.replace(at: index, value.stored))
  }

  /// Takes an item out and puts it in again so that it ends at `target`.
  public func move(from source: Int, to target: Int) throws(CairnError) {
    try edit(.move(from: source, to: target))
  }

  private func edit(_ operation: ListOperation) throws(CairnError) {
    do {
      try store.edit(
        table: record.table.id, id: record.id.name, field: field, operation)
    } catch { throw CairnError(error) }
  }

  private func check(_ value: Value) throws(CairnError) {
    if case .list = value {
      throw CairnError(
        .badType, "field \(field): a list can't hold lists; keep them in fields or records of "
          + "their own", id: field)
    }
  }
}

extension RecordList: Hashable {
  /// Whether both stand for the same field of the same record.
  public static func == (a: RecordList, b: RecordList) -> Bool {
    a.record == b.record && a.field == b.field
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(record)
    hasher.combine(field)
  }
}

// No collection: algorithms of those ask for a count, and then for so many items, and a sync on
// another thread may take some away in between.
extension RecordList: Sequence {
  /// Walks over the items that are there now, whatever happens to the list meanwhile; over none
  /// where `values` would throw. Cost: as `values`, at once.
  public func makeIterator() -> IndexingIterator<[Value]> {
    do throws(CairnError) { return try values.makeIterator() } catch { return [].makeIterator() }
  }

  /// How many items there are; 0 if the field is absent or holds something else, the record is
  /// deleted, or the datastore closed.
  public var count: Int {
    do throws(StoreError) {
      return try store.listCount(
        table: record.table.id, id: record.id.name, field: field) ?? 0
    } catch { return 0 }
  }

  /// Whether there are no items: `count` is 0.
  public var isEmpty: Bool { count == 0 }

  /// The first item; nil if there is none, or where `values` would throw. Cost: as `value(at:)`.
  public var first: Value? {
    do throws(CairnError) { return try value(at: 0) } catch { return nil }
  }

  /// The last item; nil if there is none, or where `values` would throw. Cost: as `values`.
  public var last: Value? {
    // Not by index: the last one may be another by the time it is asked for.
    do throws(CairnError) { return try values.last } catch { return nil }
  }

  /// The item at an index that is known to be there, as in an array: one that is not there ends the
  /// process. So it is for lists that no other thread edits and no sync changes meanwhile;
  /// `value(at:)` throws instead. Cost: as `value(at:)`, which is O(n) after a compaction or for a
  /// list that was set whole: use `values`, or `for item in list`, for more than a few items.
  public subscript(index: Int) -> Value {
    do throws(CairnError) { return try value(at: index) } catch {
      // As an array of these items would.
      return Array(self)[index]
    }
  }
}

extension Record {
  /// The list in a field, for editing; an absent field counts as an empty list, and holds one from
  /// the first insertion on.
  ///
  /// Lists that several devices begin in an absent field at once become one list, with the items of
  /// all: unlike whole lists that are set, of which one wins.
  ///
  /// - Throws: `badType` if the field holds something else, `deleted`, `illegalArgument`.
  public func list(_ field: String) throws(CairnError) -> RecordList {
    try table.check(field, nil)
    if try isDeleted {
      throw CairnError(
        .deleted, "the record \(id) of table \(table.id) is deleted; it has no lists", id: "\(id)")
    }
    let list = RecordList(record: self, field: field)
    try wrapped { () throws(StoreError) in
      try table.datastore.store.requireList(table: table.id, id: id.name, field: field)
    }
    return list
  }
}
