internal import Cairn
internal import CairnHTTP

/// What a server gives for one id.
struct FetchedDocument {
  enum Content {
    /// The winning revision.
    case document(JSONText)
    case deleted
    /// There is no such document: it was purged, or the database is another one.
    case missing
    /// It has more bytes than may be.
    case tooLarge
  }

  var id: String
  var content: Content

  /// Ids that Unicode takes for the same are equal as texts here, and two documents there: nothing
  /// but keys stands for documents.
  var key: String { DocumentID.record(id) }
}

extension CouchClient {
  /// Documents by id, in one request; in smaller ones if that is too much for one answer.
  ///
  /// - Parameter limit: Bytes of an answer, and so of a document.
  func documents(
    _ ids: [String], limit: Int, _ received: @Sendable (Int) -> Void
  ) async throws(HTTPFailure) -> [FetchedDocument] {
    if ids.isEmpty { return [] }
    do throws(HTTPFailure) {
      return try await batch(ids, limit: limit, received)
    } catch {
      guard error.kind == .tooLarge else { throw error }
      if ids.count == 1 { return [FetchedDocument(id: ids[0], content: .tooLarge)] }
      let half = ids.count / 2
      let first = try await documents(Array(ids[..<half]), limit: limit, received)
      return first + (try await documents(Array(ids[half...]), limit: limit, received))
    }
  }

  private func batch(
    _ ids: [String], limit: Int, _ received: @Sendable (Int) -> Void
  ) async throws(HTTPFailure) -> [FetchedDocument] {
    var request = request("POST", address.path("_all_docs"))
    request.query = [
      ("include_docs", "true"), ("conflicts", "true"), ("att_encoding_info", "true"),
    ]
    request.headers.append(("Content-Type", "application/json"))
    let keys = "{\"keys\":[" + ids.map(JSONString.quoted).joined(separator: ",") + "]}"
    request.body = .bytes(Array(keys.utf8))
    let (value, bytes) = try await json(request, limit: limit)
    received(bytes)
    let found =
      try parsed(request) { () throws(CairnError) in
        guard let rows = try value.member("rows"), rows.isArray else { return nil }
        var found: [FetchedDocument] = []
        for row in try rows.items() {
          if let document = try CouchClient.document(row) { found.append(document) }
        }
        return found
      } as [FetchedDocument]
    // What a server leaves out is not taken for a document that is gone.
    guard Set(found.map(\.key)).isSuperset(of: ids.map(DocumentID.record)) else {
      throw HTTPFailure.unexpected(request, "not every document that was asked for is in it")
    }
    return found
  }

  private static func document(_ row: JSONText) throws(CairnError) -> FetchedDocument? {
    guard let key = try row.member("key")?.string else { return nil }
    if let document = try row.member("doc"), document.isObject {
      // The key is what was asked for; a document has to be that one.
      guard try document.member("_id")?.string?.isExactly(key) == true else { return nil }
      let isDeleted = try document.member("_deleted")?.bool == true
      return FetchedDocument(id: key, content: isDeleted ? .deleted : .document(document))
    }
    if try row.member("value")?.member("deleted")?.bool == true {
      return FetchedDocument(id: key, content: .deleted)
    }
    guard try row.member("error")?.string == "not_found" else { return nil }
    return FetchedDocument(id: key, content: .missing)
  }

  /// The ids of all documents, a page at a time, in the server's order; from behind `last` on.
  func ids(
    after last: String?, limit: Int
  ) async throws(HTTPFailure) -> [String] {
    var request = request("GET", address.path("_all_docs"))
    request.query = [("limit", String(limit + (last == nil ? 0 : 1)))]
    if let last { request.query.append(("startkey", JSONString.quoted(last))) }
    let (value, _) = try await json(request, limit: 64 << 20)
    let ids =
      try parsed(request) { () throws(CairnError) in
        guard let rows = try value.member("rows"), rows.isArray else { return nil }
        var ids: [String] = []
        for row in try rows.items() {
          guard let id = try row.member("id")?.string else { return nil }
          ids.append(id)
        }
        return ids
      } as [String]
    guard let last else { return ids }
    return ids.filter { !$0.isExactly(last) }
  }
}
