internal import CairnDisk
internal import CairnMerge
internal import CairnStore

/// What a datastore takes on the disk.
public struct DatastoreStatistics: Hashable, Sendable {
  /// Records, as `Datastore.recordCount` has them.
  public var recordCount: Int
  /// Size by the accounting of `Limits`.
  public var size: Int
  /// Bytes of all its files.
  public var bytes: UInt64
  /// Bytes that a compaction would leave.
  public var liveBytes: UInt64
  /// Bytes that a compaction would free.
  public var deadBytes: UInt64 { bytes > liveBytes ? bytes - liveBytes : 0 }
  /// Contents of attachments that are on this device, in use or not. They are not in `bytes`.
  public var attachmentCount = 0
  /// Their bytes.
  public var attachmentBytes: UInt64 = 0
}

extension Datastore {
  /// Files, live and dead bytes. Builds a snapshot in thought: some milliseconds a megabyte.
  public func statistics() throws(CairnError) -> DatastoreStatistics {
    let preview = try compactionPreview()
    let contents = try blobs.list()
    return DatastoreStatistics(
      recordCount: recordCount, size: size, bytes: preview.bytesBefore,
      liveBytes: preview.bytesAfter, attachmentCount: contents.count,
      attachmentBytes: contents.reduce(0) { $0 + $1.info.size })
  }

  /// What `compact()` would do, without doing it.
  public func compactionPreview() throws(CairnError) -> CompactionReport {
    let outcome = try wrapped { () throws(StoreError) in try store.previewCompaction() }
    return CompactionReport(
      bytesBefore: outcome.bytesBefore, bytesAfter: outcome.bytesAfter, records: outcome.records)
  }

  /// Deltas that this device has committed.
  public var committedDeltas: UInt64 { store.standing.committed }

  /// How many of them are in the folder; 0 for a local datastore.
  public var publishedDeltas: UInt64 { exchanger == nil ? 0 : store.standing.published }

  /// The devices that have published in the folder, by their heads. Reads only.
  public func devices() async throws(CairnError) -> [DeviceInfo] {
    guard let exchanger else {
      throw CairnError(
        .invalidOperation, "\(id) is a local datastore; it has no other devices", id: id)
    }
    return try await exchanger.look()
  }
}
