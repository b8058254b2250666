internal import CairnStore

/// Sizes that no app has a reason to choose, small in simulations so that a few records reach them.
package struct Tuning: Sendable {
  /// A log file is closed at this size; nil: as the options say.
  package var segmentBytes: Int?
  /// The log is compacted when it is larger than this and than half of the snapshot.
  package var compactFrom = StoreOptions().compactFrom
  /// A log of at most this size is not folded when the datastore is closed.
  package var replayBytes = StoreOptions().replayBytes
  /// A commit waits for the compaction that it made due when what has changed since the snapshot
  /// takes about so many bytes of memory; see `StoreOptions.overlayBytes`.
  package var overlayBytes = StoreOptions().overlayBytes
  /// Snapshots of more records have their index made with the help of a temporary file.
  package var indexRecords = StoreOptions().indexRecords
  /// Compaction that is due runs in the commit that made it due, and not on a thread of its own.
  package var compactsInline = false
  /// Own files in the folder below this are merged into larger ones, and deltas of so many bytes
  /// behind the last snapshot ask for a new one, or of as many as that has.
  package var smallFileBytes: UInt64 = 256 << 10
  /// Small files are merged when there are this many of them in a row.
  package var smallFileRun = 8
  /// Published files are cut at about this size, unpacked, …
  package var packBytes = 4 << 20
  /// … and those of who has published much at up to this. One as large as the parts in which a sync
  /// takes files needs no more memory than these.
  package var packBytesMax = 16 << 20

  /// Contents of attachments that one round fetches by itself: at least one, then up to so many
  /// bytes. Deltas go on in between.
  package var blobRoundBytes: UInt64 = 64 << 20
  /// So many rounds go by before a quiet directory of blobs is listed again.
  package var blobQuietRounds = 16
  /// Unused contents are looked for when so much time has passed, in milliseconds.
  package var blobCollectMilliseconds: Int64 = 86_400_000

  package init() {}

  func apply(to options: inout StoreOptions) {
    options.segmentBytes = segmentBytes ?? options.segmentBytes
    options.compactFrom = compactFrom
    options.replayBytes = replayBytes
    options.overlayBytes = overlayBytes
    options.indexRecords = indexRecords
    options.compactsInline = compactsInline
  }
}
