public import Cairn

/// A document as it was pulled: its winning revision. Thread-safe.
public struct CouchDBDocument: Hashable, Sendable {
  /// The database that it is of.
  public let database: CouchDBDatabase
  /// Its record, with the members that fields can hold.
  public let record: Record

  /// Its id: that of the record if it can be one.
  public var id: String {
    get throws(CairnError) { try record.string(DocumentField.id) ?? record.id.description }
  }

  /// The revision that is here.
  public var revision: String? {
    get throws(CairnError) { try record.string(DocumentField.revision) }
  }

  /// Its type, by the store's `typeField`.
  public var type: String? {
    get throws(CairnError) { try record.string(database.store.typeField) }
  }

  /// The id of its parent, by the store's `parentField`.
  public var parent: String? {
    get throws(CairnError) { try record.string(database.store.parentField) }
  }

  /// How many revisions of it the server has that lost to this one.
  public var conflicts: Int {
    get throws(CairnError) { Int(clamping: try record.int(DocumentField.conflicts) ?? 0) }
  }

  /// The document as the server gave it: its own members with their values, in their order, nothing
  /// lost, behind `_id` and `_rev`. Attachments are not in it. While a pull replaces the document,
  /// all of it is of one revision.
  ///
  /// - Throws: `notFound` if the document is gone; `corrupt` if somebody else has written to its
  ///   records.
  public var json: String {
    get throws(CairnError) {
      var fields = try record.fields
      while true {
        guard !fields.isEmpty else {
          let key = record.id.description
          throw CairnError(.notFound, "the document \(key) is not here any more", id: key)
        }
        do throws(CairnError) { return try json(of: fields) } catch {
          // A pull removes the parts of a revision once it has replaced that.
          let now = try record.fields
          guard error.code == .corrupt,
            now[DocumentField.revision] != fields[DocumentField.revision]
          else { throw error }
          fields = now
        }
      }
    }
  }

  /// - Parameter fields: All of its record's, of one moment.
  private func json(of fields: [String: Value]) throws(CairnError) -> String {
    func text(_ name: String) -> String? {
      if case .string(let text) = fields[name] { text } else { nil }
    }
    let id = text(DocumentField.id) ?? record.id.description
    let revision = text(DocumentField.revision) ?? ""
    var out = Array("{\"_id\":".utf8)
    JSONString.append(id, to: &out)
    out += Array(",\"_rev\":".utf8)
    JSONString.append(revision, to: &out)
    let rest = try database.rest(fields, id, revision)
    let members = try DocumentMapping.members(fields: fields, rest: rest)
    if !members.isEmpty { out.append(UInt8(ascii: ",")) }
    out += members
    out.append(UInt8(ascii: "}"))
    return String(decoding: out, as: UTF8.self)
  }

  /// Its attachments, by name.
  public func attachments() throws(CairnError) -> [CouchDBAttachment] {
    try database.attachments(of: record).map {
      CouchDBAttachment(database: database, record: $0)
    }
  }

  /// One of them by its name; nil if it has none of that name.
  public func attachment(named name: String) throws(CairnError) -> CouchDBAttachment? {
    let id = DocumentID.attachment(try id, name)
    return try database.attachmentsTable.record(RecordID(id)).map {
      CouchDBAttachment(database: database, record: $0)
    }
  }
}
