public import Cairn

/// An attachment of a document: what is known of it, and its content if that is here. Thread-safe.
public struct CouchDBAttachment: Hashable, Sendable {
  /// The database that it is of.
  public let database: CouchDBDatabase
  /// Its record in the table of attachments.
  public let record: Record

  private typealias Field = CouchDBDatabase.AttachmentField

  /// Its name in the document.
  public var name: String { get throws(CairnError) { try record.string(Field.name) ?? "" } }

  /// Its type: `image/png`.
  public var contentType: String {
    get throws(CairnError) { try record.string(Field.type) ?? "application/octet-stream" }
  }

  /// Bytes of its content as the server counts them: packed, if it was packed before it was given
  /// to the server.
  public var length: Int64 { get throws(CairnError) { try record.int(Field.length) ?? 0 } }

  /// The generation of the document in which it came or was changed.
  public var revisionPosition: Int64 {
    get throws(CairnError) { try record.int(Field.position) ?? 0 }
  }

  /// What the server says of its bytes: `md5-…`, of the packed ones if it keeps it packed.
  public var digest: String { get throws(CairnError) { try record.string(Field.digest) ?? "" } }

  /// The document that it belongs to; nil if that is gone.
  public var document: CouchDBDocument? {
    get throws(CairnError) {
      guard let key = try record.string(Field.document) else { return nil }
      return try database.table.record(RecordID(key)).map {
        CouchDBDocument(database: database, record: $0)
      }
    }
  }

  /// Whether the content that the document has now is not here. An older one may be.
  public var isStale: Bool { get throws(CairnError) { try record.bool(Field.stale) ?? false } }

  /// The content that is here: the one of the document, or while it `isStale` an older one; nil if
  /// none ever came.
  ///
  /// - Throws: `corrupt` if its bytes are damaged; `sizeLimit` if it has more than `limit` bytes.
  public func content(limit: Int = 64 << 20) throws(CairnError) -> [UInt8]? {
    guard let content = try record.get(Field.content) else { return nil }
    return try database.vault.read(content, limit: limit)
  }
}
