internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// Contents that are too large for a record.
extension Datastore {
  /// Keeps a content, and returns the attachment that records can refer to. Durable when it
  /// returns, as commits are. It is published before the delta of the first record that refers to
  /// it; one that no record refers to is removed after a while (`collectAttachments`).
  ///
  /// - Throws: `sizeLimit` beyond `Limits.attachmentBytes`; `diskSpace` and other errors of the
  ///   disk: nothing is attached then.
  public func attach(_ bytes: [UInt8]) throws(CairnError) -> Attachment {
    try attach { writer throws(CairnError) in try writer.write(bytes) }
  }

  /// The same for what `body` writes, piece by piece, in bounded memory. If it throws, nothing is
  /// attached.
  public func attach(
    _ body: (AttachmentWriter) throws(CairnError) -> Void
  ) throws(CairnError) -> Attachment {
    try checkOpen()
    try checkNotFollowed("attach a content to")
    let writer = try BlobWriter(blobs)
    do throws(CairnError) {
      try body(AttachmentWriter(blob: writer))
      try checkOpen()
      return try attachment(writer)
    } catch {
      writer.cancel()
      throw error
    }
  }

  /// The same for the content of a file, which is copied. It has to be a regular file.
  public func attach(file path: String) throws(CairnError) -> Attachment {
    let file: any DiskFile
    do { file = try manager.machine.disk.open(path, .read) } catch { throw CairnError(error) }
    defer { file.close() }
    return try attach { writer throws(CairnError) in
      while true {
        let bytes: [UInt8]
        do throws(DiskError) {
          bytes = try file.read(at: writer.length, count: BlobStore.chunkBytes)
        } catch { throw CairnError(error) }
        if bytes.isEmpty { return }
        try writer.write(bytes)
      }
    }
  }

  /// The same for a stream of pieces. If that throws, or the task is cancelled before its end,
  /// nothing is attached: a `CancellationError` becomes a `CairnError` with the code `cancelled`,
  /// any other that is none becomes one with the code `fileIO`.
  public func attach<Pieces: AsyncSequence>(
    contentsOf pieces: Pieces
  ) async throws(CairnError) -> Attachment where Pieces.Element == [UInt8] {
    try checkOpen()
    try checkNotFollowed("attach a content to")
    let writer = try BlobWriter(blobs)
    do {
      for try await bytes in pieces { try writer.write(bytes) }
      try checkOpen()
      // A stream ends for a cancelled task as if all had come.
      if Task.isCancelled { throw Self.cancelledStream }
      return try attachment(writer)
    } catch {
      writer.cancel()
      if let error = error as? CairnError { throw error }
      if error is CancellationError { throw Self.cancelledStream }
      throw CairnError(.fileIO, "the stream of an attachment ended with an error: \(error)")
    }
  }

  private static let cancelledStream = CairnError(
    .cancelled, "the task was cancelled; nothing was attached")

  /// What was written becomes one.
  func attachment(_ writer: BlobWriter) throws(CairnError) -> Attachment {
    let reference = try writer.finish()
    exchanger?.blobs?.noteAttached(reference)
    return attachment(AttachmentID(reference))
  }

  /// The attachment of an id, whether or not its content is on this device.
  public func attachment(_ id: AttachmentID) -> Attachment { Attachment(datastore: self, id: id) }

  /// Every place in visible or pending records that refers to an attachment, and places that only
  /// remember one: values that lost a conflict. Sorted by table, record and field. Reads
  /// everything.
  public func attachments() throws(CairnError) -> [AttachmentUse] {
    let found = try wrapped { () throws(StoreError) in
      try store.values(beginningWith: BlobReference.magic).found
    }
    return Set(found.compactMap(AttachmentUse.init)).sorted()
  }

  /// Removes contents that nothing has referred to for `graceSeconds`
  /// (`Options.attachmentGraceSeconds` if not given): from this device, and of what this device has
  /// published also from the folder, when for as long again all other devices are known to know
  /// everything that this one knows. For an account's datastore this is a round of exchange, too.
  ///
  /// Of a datastore that is followed it removes what is here only. Records in the trash and in
  /// conflicts keep theirs. Rounds do this by themselves once a day; a
  /// datastore without a folder has no rounds and does it only when it is asked. With a shorter
  /// grace than others' `trashDays`, what comes back from their trash may come without its content.
  ///
  /// - Throws: `retryLater` if the round could not publish (`ExchangeReport.isRejoining`, or the
  ///   folder shows an old state of this device): nothing was looked for; errors of the disk, and
  ///   of the folder.
  @discardableResult
  public func collectAttachments(
    graceSeconds: Double? = nil
  ) async throws(CairnError) -> AttachmentCollection {
    try checkOpen()
    let grace = graceSeconds.map { Int64(max(0, min($0, 1e9)) * 1000) }
    if let exchanger, exchanger.following == nil { return try await exchanger.collectBlobs(grace) }
    let collector = BlobCollector(
      store: store, home: blobs, grace: grace ?? manager.options.attachmentGraceMilliseconds)
    return try collector.collectHere()
  }

  /// Throws if it is somebody else's.
  func checkNotFollowed(_ what: String) throws(CairnError) {
    guard exchanger?.following != nil else { return }
    throw CairnError(
      .readOnly, "can't \(what) \(id): it is somebody else's, and is followed here. To change it, "
        + "link its folder as an account, with another root", id: id)
  }

  /// Throws if it can't be used any more.
  func checkOpen() throws(CairnError) {
    guard var ending = store.ending else { return }
    ending.id = id
    throw CairnError(ending)
  }
}

extension AttachmentUse: Comparable {
  init?(_ kept: KeptBytes) {
    guard let reference = BlobReference(kept.bytes) else { return nil }
    self.init(
      table: kept.table, record: RecordID(kept.id), field: kept.field, id: AttachmentID(reference))
  }

  /// By table, record, field and content.
  public static func < (a: AttachmentUse, b: AttachmentUse) -> Bool {
    (a.table, a.record.description, a.field, a.id.description)
      < (b.table, b.record.description, b.field, b.id.description)
  }
}

extension Record {
  /// The field as an attachment; nil if it is none.
  public func attachment(_ field: String) throws(CairnError) -> Attachment? {
    guard case .attachment(let id) = try get(field) else { return nil }
    return table.datastore.attachment(id)
  }

  /// Sets a field to an attachment of the same datastore.
  ///
  /// - Throws: `illegalArgument` for one of another datastore, whose content is not here.
  public func set(_ field: String, _ attachment: Attachment) throws(CairnError) {
    guard attachment.datastore === table.datastore else {
      throw CairnError(
        .illegalArgument, "field \(field): this attachment is another datastore's; attach its "
          + "content to this one", id: field)
    }
    try set(field, attachment.value)
  }

  /// Attaches a content and sets a field to it.
  @discardableResult
  public func attach(_ field: String, _ bytes: [UInt8]) throws(CairnError) -> Attachment {
    let attachment = try table.datastore.attach(bytes)
    try set(field, attachment)
    return attachment
  }
}
