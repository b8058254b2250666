internal import Cairn
internal import CairnHTTP

extension PullRound {
  /// Asks the policy again about documents that are known and not here.
  mutating func pullWaiting() async throws(CairnError) {
    var rows: [ChangesPage.Row] = []
    for record in try database.waitingTable.query(Query().sorted(by: "id")) {
      guard let id = try record.string("id"), !left.contains(record.id.description)
      else { continue }
      // Nothing but more room, or another revision, makes it fit.
      if let refused = try record.int("refused"), refused >= options.answerBytes {
        if let reason = try record.string("reason") { report.note(reason) }
        continue
      }
      var leaves: [String] = []
      for value in try record.listValues("leaves") ?? [] {
        if case .string(let leaf) = value { leaves.append(leaf) }
      }
      if case .fetch = options.policy.decision(CouchDBChange(id: id, revisions: leaves)) {
        rows.append(ChangesPage.Row(id: id, leaves: leaves, isDeleted: false))
      }
    }
    if rows.isEmpty { return }
    isAskingAgain = true
    let count = rows.count
    board.set { $0.documents.total += count }
    let size = max(1, options.changesPerRequest)
    for start in stride(from: 0, to: rows.count, by: size) {
      try await pull(Array(rows[start..<min(start + size, rows.count)]))
      try datastore.sync()
    }
  }

  /// After the whole of a database that has taken another's place was pulled: what is here and not
  /// there goes.
  mutating func removeStrangers() async throws(CairnError) {
    var there: Set<String> = []
    var last: String?
    let size = max(2, options.changesPerRequest)
    while true {
      let after = last
      let ids = try await asked { [client] () async throws(HTTPFailure) in
        try await client.ids(after: after, limit: size)
      }
      let known = there.count
      for id in ids { there.insert(DocumentID.record(id)) }
      guard let end = ids.last, ids.count >= size else { break }
      // It would never end, and what is not in it may be there.
      guard there.count > known else {
        throw CairnError(
          .response, "the server begins its list of documents anew each time; nothing was removed. "
            + "Is there something between that drops startkey?")
      }
      last = end
    }
    for record in try database.table.query() {
      let key = record.id.description
      if there.contains(key) { continue }
      let id = try record.string(DocumentField.id) ?? key
      if try database.remove(key: key, id: id) { report.deletions += 1 }
    }
    for record in try database.waitingTable.query() where !there.contains(record.id.description) {
      try database.delete(record)
    }
    // Also those of a document that never came: a pull may have ended before its record.
    for record in try database.attachmentsTable.query() {
      let key = try record.string(CouchDBDatabase.AttachmentField.document) ?? ""
      if !there.contains(key) { try database.delete(record) }
    }
    var state = try current()
    state.isRecreated = false
    try commit(state)
  }
}
