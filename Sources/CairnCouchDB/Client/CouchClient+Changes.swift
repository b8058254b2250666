internal import Cairn
internal import CairnHTTP

/// What a server says about a database.
struct DatabaseInfo {
  /// When it was created, as far as the server knows: another text is another database.
  var instance: String
}

/// Documents that have changed, and where to go on.
struct ChangesPage {
  struct Row: Hashable {
    var id: String
    /// All leaves of the document's tree, sorted.
    var leaves: [String]
    var isDeleted: Bool

    var key: String { DocumentID.record(id) }
    var isDesign: Bool { id.utf8.starts(with: "_design/".utf8) }
  }

  var rows: [Row]
  /// Opaque: it is given back as it came and never looked into.
  var next: String
  /// Rows behind this page, if the server says so.
  var pending: Int
}

extension CouchClient {
  private static let infoBytesMax = 1 << 20
  private static let changesBytesMax = 64 << 20
  /// More are not counted: what a server says may be anything, and sums of it must be possible.
  private static let pendingMax: Int64 = 1 << 30

  func info() async throws(HTTPFailure) -> DatabaseInfo {
    let request = request("GET", address.path())
    let (value, _) = try await json(request, limit: Self.infoBytesMax)
    return try parsed(request) { () throws(CairnError) in
      guard value.isObject, try value.member("db_name") != nil else { return nil }
      // A number in old versions.
      let instance = try value.member("instance_start_time")
      return DatabaseInfo(instance: instance?.string ?? instance?.text ?? "")
    }
  }

  /// The next changes.
  ///
  /// - Parameters:
  ///   - since: Where an earlier page ended; nil: the beginning.
  ///   - waiting: Wait for so many seconds if there are none.
  func changes(
    since: String?, limit: Int, waiting: Double? = nil
  ) async throws(HTTPFailure) -> ChangesPage {
    var request = request("GET", address.path("_changes"))
    request.query = [("style", "all_docs"), ("limit", String(max(1, limit)))]
    if let since { request.query.append(("since", since)) }
    if let waiting {
      let milliseconds = Int64(min(waiting, 86_400) * 1000)
      request.query += [("feed", "longpoll"), ("timeout", String(milliseconds))]
    }
    let (value, _) = try await json(request, limit: Self.changesBytesMax)
    return try parsed(request) { () throws(CairnError) in
      guard let results = try value.member("results"), results.isArray,
        let next = try value.member("last_seq"), next.isString || next.isNumber
      else { return nil }
      var rows: [ChangesPage.Row] = []
      for item in try results.items() {
        guard let id = try item.member("id")?.string, let changes = try item.member("changes")
        else { return nil }
        var leaves: [String] = []
        for change in try changes.items() {
          if let revision = try change.member("rev")?.string { leaves.append(revision) }
        }
        rows.append(
          ChangesPage.Row(
            id: id, leaves: leaves.sorted(),
            isDeleted: try item.member("deleted")?.bool ?? false))
      }
      let pending = try value.member("pending")?.int ?? 0
      return ChangesPage(
        rows: rows, next: next.string ?? next.text,
        pending: Int(clamping: min(Self.pendingMax, max(0, pending))))
    }
  }

  /// What a parser makes of an answer; a failure if it is none of CouchDB's.
  func parsed<R>(
    _ request: HTTPRequest, _ body: () throws(CairnError) -> R?
  ) throws(HTTPFailure) -> R {
    do {
      if let result = try body() { return result }
    } catch { throw HTTPFailure.unexpected(request, error.message) }
    throw HTTPFailure.unexpected(request, "something is missing in it")
  }
}
