package import CairnMerge

/// How a store behaves; the public `Options` has the same, with the reasons.
package struct StoreOptions: Sendable {
  /// When a commit is durable.
  package enum Durability: Equatable, Sendable {
    /// When `sync` returns.
    case full
    /// With the first `sync` that comes this many milliseconds after the last one that was
    /// durable, with all before it; at close.
    case periodic(milliseconds: Int64)
    /// When the operating system likes.
    case none
  }

  package var durability = Durability.full
  package var limits = Limits()
  /// Unpacked blocks of the snapshot that are kept in memory.
  package var cacheBytes = 64 << 20
  /// A log segment is closed at this size.
  package var segmentBytes = 8 << 20
  /// The log is compacted when it is larger than this and than half of the snapshot.
  package var compactFrom = 8 << 20
  /// Who has brought so much in half a minute, by what it takes in memory, waits for the compaction
  /// that folds it; nine quarters of it are folded although the log is not as long as it may be.
  /// What comes while a compaction runs is there a second time; beyond a quarter of this, commits
  /// wait for its end. Lists, records in conflict and bytes of ids are not counted.
  package var overlayBytes = 32 << 20
  /// Of so many records the index of a snapshot is made in memory, at 8 bytes each; of more with
  /// the help of a temporary file beside it.
  package var indexRecords = 1_000_000
  /// So many fields of one record are folded into a snapshot. Fewer than the format allows are for
  /// tests.
  package var rowColumns = FormatBounds.columnsInTable
  /// A log of at most this size is left for the next open to replay.
  package var replayBytes = 128 << 10
  /// Compacts by itself; off for tests that want the log as it is.
  package var compactsAutomatically = true
  /// How long records stay in the trash that other devices have deleted; 0: nothing is kept.
  package var trashMilliseconds: Int64 = 0
  /// Bytes of all files in the trash.
  package var trashBytes = 64 << 20

  /// The datastore is somebody else's, and is only followed here: nothing is ever changed but by
  /// what its devices have published, and of that these tables are kept. nil: an own one.
  package var followed: TableChoice?

  /// What is due runs in the commit that made it due, and not on a thread of its own.
  package var compactsInline = false

  /// Compactions ask the other devices for a fence, behind which metadata can be forgotten. Off:
  /// somebody has to ask, or to retire a device.
  package var cutsAutomatically = false
  /// So many deltas outside of the fence make it worth asking by itself.
  package var cutFrom: UInt64 = 256

  package init() {}
}
