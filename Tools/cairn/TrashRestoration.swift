import Cairn
import CairnToolText

/// Puts deleted records back in as few commits as the limit of a delta allows.
struct TrashRestoration {
  let datastore: Datastore
  /// How many are back for good.
  private(set) var count = 0
  private var uncommitted = 0

  init(_ datastore: Datastore) { self.datastore = datastore }

  mutating func run(_ records: [DeletedRecord]) throws {
    do {
      var refusal: CairnError?
      for record in records {
        do { try put(record) } catch let error as CairnError
          where error.code == .sizeLimit && uncommitted == 0
        {
          // It keeps nobody from the others.
          refusal = refusal ?? error
        }
      }
      try commit()
      if let refusal { throw refusal }
    } catch var failure as CairnError where records.count > 1 {
      // What went before it is put back all the same; the first error says more.
      do { try commit() } catch {}
      failure.message +=
        " (\(count) of \(counted(records.count, "record")) are back; the others are still in the "
        + "trash)"
      throw failure
    }
  }

  private mutating func put(_ record: DeletedRecord) throws {
    do { try datastore.trash.restore(record) } catch {
      // Others of them may take all the room that a commit has.
      guard error.code == .sizeLimit, uncommitted > 0 else { throw error }
      try commit()
      try datastore.trash.restore(record)
    }
    uncommitted += 1
  }

  private mutating func commit() throws {
    if uncommitted == 0 { return }
    _ = try datastore.sync()
    count += uncommitted
    uncommitted = 0
  }
}
