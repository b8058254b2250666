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
  /// Why the log could not be folded into a snapshot, as `DatastoreStatus.maintenanceError` has it.
  public var maintenanceError: CairnError?
}

extension Datastore {
  /// Files, live and dead bytes. Builds a snapshot in thought: some milliseconds a megabyte.
  public func statistics() throws(CairnError) -> DatastoreStatistics {
    let preview = try compactionPreview()
    let contents = try blobs.list()
    return DatastoreStatistics(
      recordCount: recordCount, size: size, bytes: preview.bytesBefore,
      liveBytes: preview.bytesAfter, attachmentCount: contents.count,
      attachmentBytes: contents.reduce(0) { $0 + $1.info.size },
      maintenanceError: store.compactionFailure.map { CairnError($0) })
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
  ///
  /// - Throws: `invalidOperation` in a local datastore; `notFound` if the folder that it was
  ///   exchanged with is not there, `disallowed` if another one is; errors of the folder.
  @concurrent
  public func devices() async throws(CairnError) -> [DeviceInfo] {
    guard let exchanger else {
      throw CairnError(
        .invalidOperation, "\(id) is a local datastore; it has no other devices", id: id)
    }
    return try await exchanger.look()
  }

  /// Asks the other devices to agree on what may be forgotten of all that is committed by now: that
  /// records were deleted, and who wrote what when. Like any change it needs a `sync()`, and
  /// `rollback()` takes it back. As long as an earlier agreement is open nothing more is asked.
  ///
  /// Whoever takes part goes on writing as ever. Once every device that has written here, but for
  /// retired ones, has exchanged three times, with a `sync()` after each, `compact()` leaves that
  /// out, on each device: once to hear of it, once to say so, once to hear that all have. A device
  /// that wrote something without having exchanged, so that nobody knew it, has to take over the
  /// others' state first; what it wrote goes on top of that, under a new id.
  ///
  /// That one does wait if a device is silent: until all have said that they have seen what was
  /// asked, or are retired, the others hold what it wrote (`ExchangeReport.held`), and it holds
  /// what they write on top. `DatastoreStatus.awaitedDevices` names those whose word is missing.
  ///
  /// - Throws: `invalidOperation` in a local datastore, which remembers nothing of the kind;
  ///   `disallowed` if the user may not write, `readOnly` if it is followed.
  public func askToForget() throws(CairnError) {
    guard exchanger != nil else {
      throw CairnError(
        .invalidOperation, "\(id) is a local datastore; it remembers nothing of the kind", id: id)
    }
    try checkNotFollowed("ask others to forget in")
    try wrapped { () throws(StoreError) in try store.requireWritable() }
    store.requestCut()
  }

  /// Leaves a device out: one that is lost, or was reset and never comes back. Until then nobody
  /// forgets what it might not have seen. Like any change it needs a `sync()`, and reaches the
  /// others with the next exchange.
  ///
  /// What the device had published and somebody had merged stays. What it publishes later without
  /// having seen this is not merged by anyone: if it does come back, it has to take over what the
  /// others have first, which it can once all others have said that they have seen this
  /// (`DatastoreStatus.awaitedDevices`). A device that is retired and writes after having merged
  /// this is no longer retired.
  ///
  /// Devices whose changes are held for good at that moment (`ExchangeReport.held`), since they do
  /// not go with an earlier agreement, are retired with it: nobody could wait for them, and they go
  /// on under new ids. `devices()` lists them.
  ///
  /// - Parameters:
  ///   - device: its id, as in `DeviceInfo.id`.
  ///   - givingUp: leaves it out even if it has published more than is merged here: what nobody has
  ///     merged stays out, unless the device comes back.
  /// - Throws: `invalidOperation` in a local datastore; `illegalArgument` if it is no device's id,
  ///   or this device's; `notFound` if nothing is known of such a device here; `retryLater` if its
  ///   head, as it was last read by `exchange()` or `devices()`, names more than is merged here, or
  ///   could not be read just now; `disallowed` if the user may not write, `readOnly` if it is
  ///   followed.
  public func retireDevice(_ device: String, givingUp: Bool = false) throws(CairnError) {
    guard let exchanger else {
      throw CairnError(
        .invalidOperation, "\(id) is a local datastore; it has no other devices", id: id)
    }
    try wrapped { () throws(StoreError) in try store.requireWritable() }
    guard let number = DeviceID(hex: device), number.rawValue != 0 else {
      throw CairnError(
        .illegalArgument, "\"\(device)\" is no device's id, which has 16 hex digits", id: id)
    }
    guard number != store.device else {
      throw CairnError(
        .illegalArgument, "\(device) is this device itself; only others can be retired", id: id)
    }
    try exchanger.checkRetirement(of: number, givingUp: givingUp)
    try wrapped { () throws(StoreError) in try store.retire(number) }
  }
}
