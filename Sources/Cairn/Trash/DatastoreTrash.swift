internal import CairnLog
internal import CairnStore

/// The records that other devices have deleted, as they were here: for `Options.trashDays`, on this
/// device only. Records that were deleted here are not in it, nor those that were back and that
/// this device has deleted then.
///
/// It is written before a delete becomes visible, so a crash does not lose what is in it.
/// Thread-safe.
public struct DatastoreTrash: Sendable {
  let datastore: Datastore

  private var store: Store { datastore.store }

  /// What is in it, from the least to the most recently deleted one; records that are there again
  /// are left out. Reads the files of the trash.
  ///
  /// - Throws: `corrupt` if all that is there can't be read; errors of the disk. If only some of it
  ///   can't, `problems` says which.
  public func list() throws(CairnError) -> [DeletedRecord] {
    let found = try wrapped { () throws(StoreError) in try store.deletedRecords() }
    if found.records.isEmpty, let problem = found.problems.first { throw CairnError(problem) }
    return found.records.map { DeletedRecord(kept: $0) }
  }

  /// Files of the trash that can't be used, and why. What is in damaged ones can't be had back:
  /// they may be removed. As long as the disk does not give one, or one is a newer version's,
  /// unused attachments stay.
  public var problems: [CairnError] {
    get throws(CairnError) {
      try wrapped { () throws(StoreError) in try store.deletedRecords().problems }.map {
        CairnError($0)
      }
    }
  }

  /// How many deleted records were too many for `Options.trashBytes` and are not in it: at most,
  /// as some that made room may be there again.
  public var notKept: UInt64 {
    get throws(CairnError) {
      try wrapped { () throws(StoreError) in try store.deletedRecords().notKept }
    }
  }

  /// Inserts a record again, under its id: an ordinary change, which the next `sync()` commits and
  /// other devices get.
  ///
  /// - Throws: `exists` if there is such a record; `sizeLimit` if there is no room for it in the
  ///   next commit or the datastore, or it is larger than `Limits.recordBytes`, as what two devices
  ///   have written at once may be: raise that; `disallowed`.
  public func restore(_ record: DeletedRecord) throws(CairnError) {
    defer { datastore.observers.tell() }
    do throws(StoreError) { try store.restore(record.kept) } catch {
      var failure = CairnError(error)
      // Only what is too large by itself names the record.
      if failure.code == .sizeLimit, failure.id == record.id.description {
        failure.message += ", or raise Limits.recordBytes to have it back"
      }
      throw failure
    }
  }

  /// Inserts all of them again; returns how many. They are changes like any others, and all of them
  /// are of the next commit: if one can't be inserted, those before it are, and if it is only that
  /// there is no room for it, those behind it that fit.
  ///
  /// - Throws: what `restore(_:)` throws first. `sizeLimit` if they are more than one commit has
  ///   room for (`Limits.deltaBytes`), as after a mass delete: `sync()`, and call it again for the
  ///   others.
  @discardableResult
  public func restoreAll() throws(CairnError) -> Int {
    let records = try list()
    var failure: CairnError?
    for record in records {
      do throws(CairnError) { try restore(record) } catch {
        guard error.code == .sizeLimit else { throw failure ?? error }
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return records.count
  }

  /// Removes what is in it for good: everything, or what was deleted up to a time.
  public func empty(through time: Timestamp? = nil) throws(CairnError) {
    try wrapped { () throws(StoreError) in
      try store.emptyTrash(through: time?.millisecondsSince1970 ?? .max)
    }
  }
}

extension Datastore {
  /// The records that other devices have deleted.
  public var trash: DatastoreTrash { DatastoreTrash(datastore: self) }
}
