internal import CairnMerge

/// How much a datastore may hold. Checked at each local change, before anything changes; merging
/// is never refused. The defaults are those of the original API; an app may raise any of them, on
/// all of its devices alike.
public struct Limits: Hashable, Sendable {
  /// Bytes of one record, by the accounting of `Record.size`. Default 100 KiB; at most 32 MiB. One
  /// value has to stay below 16 MiB, whatever this is.
  public var recordBytes: Int
  /// Records of one datastore. Default 100,000; ten million are fine.
  public var recordCount: Int
  /// Bytes of one datastore. Default 10 MiB.
  public var datastoreBytes: Int
  /// Bytes of the changes between two syncs. Default 2 MiB; at most 32 MiB.
  public var deltaBytes: Int
  /// Bytes of one attachment's content. Default 1 GiB. Longer ones of other devices are carried,
  /// and not fetched.
  public var attachmentBytes: Int

  /// The defaults, but for what is given.
  public init(
    recordBytes: Int = 100 << 10, recordCount: Int = 100_000, datastoreBytes: Int = 10 << 20,
    deltaBytes: Int = 2 << 20, attachmentBytes: Int = 1 << 30
  ) {
    self.recordBytes = recordBytes
    self.recordCount = recordCount
    self.datastoreBytes = datastoreBytes
    self.deltaBytes = deltaBytes
    self.attachmentBytes = attachmentBytes
  }

  /// Size that an empty datastore counts with.
  public static let datastoreBaseSize = Sizes.datastore
  /// Size that a record counts with besides its fields.
  public static let recordBaseSize = Sizes.record
  /// Size that a field counts with besides its value.
  public static let fieldBaseSize = Sizes.field
  /// Size that a list's item counts with besides its value.
  public static let listItemBaseSize = Sizes.listItem
  /// Size that changes not yet synced count with, besides each of them.
  public static let unsyncedChangesBaseSize = Sizes.delta
  /// Size that a change counts with besides its fields.
  public static let changeBaseSize = Sizes.change

  var stored: CairnMerge.Limits {
    CairnMerge.Limits(
      recordBytes: min(recordBytes, 32 << 20), records: recordCount, datastoreBytes: datastoreBytes,
      deltaBytes: min(deltaBytes, 32 << 20))
  }
}
