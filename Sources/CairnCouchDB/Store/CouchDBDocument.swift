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
  /// lost, behind `_id` and `_rev`. Attachments are not in it.
  ///
  /// - Throws: `corrupt` if somebody else has written to its records.
  public var json: String {
    get throws(CairnError) {
      var out = Array("{\"_id\":".utf8)
      JSONString.append(try id, to: &out)
      out += Array(",\"_rev\":".utf8)
      JSONString.append(try revision ?? "", to: &out)
      let members = try DocumentMapping.members(fields: record.fields, rest: database.rest(record))
      if !members.isEmpty { out.append(UInt8(ascii: ",")) }
      out += members
      out.append(UInt8(ascii: "}"))
      return String(decoding: out, as: UTF8.self)
    }
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
