internal import CairnDisk
internal import Synchronization

/// Which databases are being pulled in this process: one pull at a time each, and nobody empties
/// one meanwhile.
final class Followers: Sendable {
  static let shared = Followers()
  private let busy = Lock<Set<CouchDBDatabase>>([])

  /// False if somebody else is at it.
  func begin(_ database: CouchDBDatabase) -> Bool {
    busy.withLock { $0.insert(Followers.plain(database)).inserted }
  }

  func end(_ database: CouchDBDatabase) {
    // What it held may go with it: not under the lock.
    let gone = busy.withLock { $0.remove(Followers.plain(database)) }
    withExtendedLifetime(gone) {}
  }

  /// The same, whichever fields its store was told.
  private static func plain(_ database: CouchDBDatabase) -> CouchDBDatabase {
    CouchDBDatabase(store: CouchDBStore(database.store.datastore), name: database.name)
  }
}
