internal import CairnLog

/// The content of an attachment: a handle by datastore and id, which costs nothing to make.
///
/// A content never changes. It is on this device, in the folder, or both; `state` says where.
/// Contents of any size are read and written in pieces, in bounded memory. Thread-safe.
public struct Attachment: Hashable, Sendable {
  /// The datastore that it belongs to.
  public let datastore: Datastore
  /// Which content it is: what records hold.
  public let id: AttachmentID

  /// The value that a record holds of it.
  public var value: Value { .attachment(id) }
  /// Bytes of the content.
  public var length: UInt64 { id.length }

  /// Where the content is. One look at the disk; what it says of the folder is as old as the last
  /// exchange that looked there.
  public var state: AttachmentState {
    get throws(CairnError) {
      if id.needsNewerVersion { return .needsNewerVersion }
      try datastore.checkOpen()
      if try datastore.blobs.find(id.reference) != nil { return .here }
      return datastore.exchanger?.blobs?.isInFolder(id.reference) ?? (datastore.exchanger != nil)
        ? .remote : .missing
    }
  }

  /// Calls `body` with the content, piece by piece, in order. Nothing is given out before all of it
  /// was found to be what the id says. All of that on the calling thread: where that is the main
  /// one, and the content is long, read `chunks`.
  ///
  /// - Throws: `notFound` if it is not on this device (see `fetch()`); `corrupt` if it is damaged
  ///   here: then it is put into quarantine, and can be fetched again; `needsNewerVersion`; what
  ///   `body` throws.
  public func read(_ body: ([UInt8]) throws(CairnError) -> Void) throws(CairnError) {
    let reader = try open()
    while let bytes = try reader.next() { try body(bytes) }
  }

  /// The whole content, if it has at most `limit` bytes.
  ///
  /// - Throws: `sizeLimit` if it is longer; what `read(_:)` throws.
  public func bytes(limit: Int = 64 << 20) throws(CairnError) -> [UInt8] {
    try checkReadable()
    guard length <= UInt64(max(0, limit)) else {
      throw CairnError(
        .sizeLimit, "the attachment has \(length) bytes, more than the \(limit) that were asked "
          + "for; read it in pieces", id: id.description)
    }
    var result: [UInt8] = []
    try read { result += $0 }
    return result
  }

  /// The content in pieces, fetched first if it is not on this device. The disk is read, and the
  /// content checked, on no actor of the caller's: it may be the main one.
  public var chunks: AttachmentChunks { AttachmentChunks(attachment: self) }

  /// Makes sure that the content is on this device: returns at once if it is, otherwise when all of
  /// it came from the folder and was checked. One that was interrupted goes on where it ended.
  ///
  /// - Throws: `notFound` if the folder does not have it (yet), or is not there; `disallowed` if
  ///   the policy says never, or the folder is another one; `corrupt` if what the folder has is
  ///   something else; `sizeLimit`; `cancelled`; errors of the folder and of the disk.
  @concurrent
  public func fetch() async throws(CairnError) {
    try checkReadable()
    try datastore.checkOpen()
    if try datastore.blobs.find(id.reference) != nil { return }
    guard let exchanger = datastore.exchanger, let exchange = exchanger.blobs else {
      throw missing("there is no folder")
    }
    do throws(CairnError) { try await exchange.fetch(id.reference) } catch {
      // A drive that is away has no contents either.
      if error.code == .notFound { try await exchanger.checkIsThere() }
      throw error
    }
  }

  /// Removes the content from this device, to make room; `fetch()` brings it back, and so does the
  /// next round if the policy says always. Reads the folder's copy to its last byte first: what is
  /// only here stays. Returns whether there was anything to remove.
  ///
  /// - Throws: `invalidOperation` for a local datastore, or if the folder has no whole and right
  ///   copy; errors of the folder and of the disk.
  @discardableResult
  @concurrent
  public func evict() async throws(CairnError) -> Bool {
    try checkReadable()
    try datastore.checkOpen()
    guard let file = try datastore.blobs.find(id.reference) else { return false }
    // What was attached here counts only when it is there under this device's name: whoever else
    // has it there may be about to remove it.
    guard let exchange = datastore.exchanger?.blobs, !file.isOwn,
      try await exchange.isSafelyInFolder(id.reference)
    else {
      throw CairnError(
        .invalidOperation, "the content of attachment \(id) is only on this device; exchange first",
        id: id.description)
    }
    try datastore.checkOpen()
    return try datastore.blobs.remove(file, evenIfPinned: true)
  }

  func open() throws(CairnError) -> BlobReader {
    try checkReadable()
    try datastore.checkOpen()
    guard let file = try datastore.blobs.find(id.reference) else {
      throw missing("fetch() gets it if the folder has it")
    }
    return try BlobReader(datastore.blobs, file, id.reference)
  }

  private func missing(_ advice: String) -> CairnError {
    CairnError(
      .notFound, "the content of attachment \(id) is not on this device; \(advice)",
      id: id.description)
  }

  private func checkReadable() throws(CairnError) {
    guard !id.needsNewerVersion else {
      throw CairnError(
        .needsNewerVersion,
        "a newer version wrote this attachment's reference: it is kept and synced as it is; update "
          + "the app to read it", id: id.description)
    }
  }
}

/// The pieces of an attachment's content, in order.
public struct AttachmentChunks: AsyncSequence, Sendable {
  let attachment: Attachment

  /// Begins at the first piece.
  public func makeAsyncIterator() -> Iterator { Iterator(attachment: attachment) }

  /// Reads one piece at a time.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    let attachment: Attachment
    private var reader: BlobReader?

    init(attachment: Attachment) { self.attachment = attachment }

    /// The next piece; nil at the end.
    ///
    /// - Throws: What `Attachment.fetch()` and `Attachment.read(_:)` throw; `cancelled` if the task
    ///   is cancelled while a long content is fetched or checked.
    public mutating func next() async throws(CairnError) -> [UInt8]? {
      try await next(isolation: nil)
    }

    /// The same, wherever it is called.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(CairnError) -> [UInt8]? {
      if let reader { return try await AttachmentChunks.piece(of: reader) }
      try await attachment.fetch()
      let reader = try await AttachmentChunks.open(attachment)
      self.reader = reader
      return try await AttachmentChunks.piece(of: reader)
    }
  }

  // MARK: away from the caller's actor

  @concurrent
  private static func open(_ attachment: Attachment) async throws(CairnError) -> BlobReader {
    try attachment.open()
  }

  /// The first piece of a long content takes a look at all of it. Others have their turn in
  /// between: as many loops as there are processors would keep every await waiting.
  @concurrent
  private static func piece(of reader: BlobReader) async throws(CairnError) -> [UInt8]? {
    while try reader.checkNext() {
      if Task.isCancelled {
        throw CairnError(.cancelled, "the task was cancelled while an attachment was checked")
      }
      await Task.yield()
    }
    return try reader.next()
  }
}
