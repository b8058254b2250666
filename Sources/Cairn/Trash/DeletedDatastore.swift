/// A copy of a datastore in the trash of its root.
public struct DeletedDatastore: Hashable, Sendable {
  /// The datastore's id.
  public var id: String
  /// When it was put there.
  public var deleted: Timestamp
  /// Its directory.
  public var directory: String
  /// Why it is there, if not because another device has deleted the datastore: what a repair has
  /// replaced stays until the trash is emptied, everything else for 30 days.
  public var reason: String?
  /// Bytes of its files.
  public var bytes: UInt64
  /// How often the id had been deleted when it was created.
  let generation: UInt32
}
