/// A content that is being attached by somebody who gets it piece by piece from elsewhere, and may
/// not wait for it in one call.
package struct AttachmentDraft: Sendable {
  private let datastore: Datastore
  private let blob: BlobWriter

  /// Begins one. If it is dropped before its end nothing is left of it.
  package init(_ datastore: Datastore) throws(CairnError) {
    try datastore.checkOpen()
    try datastore.checkNotFollowed("attach a content to")
    self.datastore = datastore
    blob = try BlobWriter(datastore.blobs)
  }

  /// Writes the next piece. Throws as `AttachmentWriter.write(_:)`.
  package func write(_ bytes: [UInt8]) throws(CairnError) { try blob.write(bytes) }

  /// It is whole: durable, as `Datastore.attach(_:)` leaves it.
  package func finish() throws(CairnError) -> Attachment {
    try datastore.checkOpen()
    return try datastore.attachment(blob)
  }

  /// Nothing is left of it. Does nothing after the end.
  package func cancel() { blob.cancel() }
}
