internal import Cairn

extension CouchDBDatabase {
  /// Fields of an attachment's record.
  enum AttachmentField {
    /// The id of the document's record.
    static let document = "document"
    static let name = "name"
    static let type = "type"
    static let length = "length"
    static let position = "revpos"
    static let digest = "digest"
    static let encoding = "encoding"
    static let encodedLength = "encoded_length"
    static let stale = "stale"
    /// Where the content is, and what its digest was.
    static let content = "content"
    static let held = "held"
  }

  func attachments(key: String) throws(CairnError) -> [Record] {
    try attachmentsTable.query(
      Query().where(AttachmentField.document, .equals(.string(key))).sorted(
        by: AttachmentField.name))
  }

  func attachments(of record: Record) throws(CairnError) -> [Record] {
    guard try record.get(DocumentField.attachments) != nil else { return [] }
    return try attachments(key: record.id.description)
  }

  /// Makes the records of a document's attachments what the document says. What is new or has
  /// changed is stale until its content has come; an older content stays until then.
  func write(_ stubs: [AttachmentStub], _ id: String, _ key: String) throws(CairnError) {
    let kept = Set(stubs.map { DocumentID.attachment(id, $0.name) })
    for record in try attachments(key: key) where !kept.contains(record.id.description) {
      try delete(record)
    }
    for stub in stubs {
      let attachment = DocumentID.attachment(id, stub.name)
      let old = try attachmentsTable[RecordID(attachment)].fields
      var fields: [String: Value] = [
        AttachmentField.document: .string(key), AttachmentField.name: .string(stub.name),
        AttachmentField.type: .string(stub.type), AttachmentField.length: .int(stub.length),
        AttachmentField.position: .int(stub.position), AttachmentField.digest: .string(stub.digest),
      ]
      if let encoding = stub.encoding { fields[AttachmentField.encoding] = .string(encoding) }
      if let length = stub.encodedLength { fields[AttachmentField.encodedLength] = .int(length) }
      fields[AttachmentField.content] = old[AttachmentField.content]
      fields[AttachmentField.held] = old[AttachmentField.held]
      if old[AttachmentField.held] != .string(stub.version) {
        fields[AttachmentField.stale] = true
      }
      try makeRoom(4096 + stub.textBytes)
      try put(attachmentsTable, attachment, fields)
    }
  }
}

extension AttachmentStub {
  /// What changes whenever the content does.
  var version: String { digest.isEmpty ? "revpos-\(position)" : digest }
}
