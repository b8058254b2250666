internal import Cairn

/// Where contents of attachments are kept: with the datastore's own attachments.
struct ContentVault: Sendable {
  let datastore: Datastore

  /// Bytes that a content may have.
  var limit: Int64 { Int64(clamping: datastore.manager.options.limits.attachmentBytes) }

  /// Begins a content. It is there when its draft is finished; its attachment's `value` is what a
  /// record has to hold of it.
  func begin() throws(CairnError) -> AttachmentDraft { try AttachmentDraft(datastore) }

  /// All of one; nil if the value is none.
  func read(_ content: Value, limit: Int) throws(CairnError) -> [UInt8]? {
    guard case .attachment(let id) = content else { return nil }
    return try datastore.attachment(id).bytes(limit: limit)
  }
}

extension CouchDBDatabase {
  /// Where contents of attachments are kept.
  var vault: ContentVault { ContentVault(datastore: store.datastore) }
}
