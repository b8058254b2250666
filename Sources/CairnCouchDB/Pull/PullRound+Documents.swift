internal import Cairn
internal import CairnHTTP

extension PullRound {
  /// A document that is to be fetched.
  private struct Wanted {
    var row: ChangesPage.Row
    var priority: CouchDBPriority
  }

  /// Brings here what rows of changes speak of; returns when all of it was seen to be here.
  mutating func pull(_ rows: [ChangesPage.Row]) async throws(CairnError) {
    var wanted: [Wanted] = []
    // By key, the revision; nothing for what is gone.
    var pulled: [String: String] = [:]
    for row in rows {
      if row.isDesign {
        report.designDocuments += 1
        noteDone()
      } else if row.isDeleted {
        if try database.remove(document: row.id) {
          report.deletions += 1
        } else {
          report.unchanged += 1
        }
        noteDone()
      } else if !database.fits(row) {
        report.note(
          "the document \(row.id.prefix(64))… is left out: its id and revisions have more than "
            + "\(database.textMax) bytes; Limits.recordBytes allows more")
        noteDone()
      } else if try database.isLevel(row.id, leaves: row.leaves) {
        try database.delete(database.waitingTable, row.key)
        report.unchanged += 1
        noteDone()
      } else {
        switch options.policy.decision(CouchDBChange(id: row.id, revisions: row.leaves)) {
        case .fetch(let priority): wanted.append(Wanted(row: row, priority: priority))
        default:
          report.left += 1
          try wait(row, nil)
          noteDone()
        }
      }
    }
    try await fetch(wanted, &pulled)
    for row in rows { try check(row, pulled) }
  }

  /// In groups, some at once; what comes is kept in the order in which it comes, and committed.
  private mutating func fetch(
    _ wanted: [Wanted], _ pulled: inout [String: String]
  ) async throws(CairnError) {
    if wanted.isEmpty { return }
    // The first of equals stays the first.
    let sorted = wanted.enumerated().sorted {
      $0.element.priority == $1.element.priority
        ? $0.offset < $1.offset : $0.element.priority > $1.element.priority
    }.map(\.element.row)
    let size = options.docsPerRequest > 0 ? options.docsPerRequest : sorted.count
    let groups = stride(from: 0, to: sorted.count, by: size).map {
      Array(sorted[$0..<min($0 + size, sorted.count)])
    }
    typealias Fetched = Result<[FetchedDocument], CairnError>
    let leaves = Dictionary(sorted.map { ($0.key, $0.leaves) }) { $1 }
    let (client, board, limit) = (client, board, options.answerBytes)
    let most = max(1, options.maxConcurrentFetches)
    var this = self
    var kept: [String: String] = [:]
    let failure = await withTaskGroup(of: Fetched.self) { tasks -> CairnError? in
      func add(_ group: [ChangesPage.Row]) {
        tasks.addTask {
          do throws(HTTPFailure) {
            return .success(
              try await client.documents(group.map(\.id), limit: limit) { bytes in
                board.set { $0.documents.bytes &+= UInt64(bytes) }
              })
          } catch { return .failure(CairnError(error)) }
        }
      }
      var (next, received) = (0, 0)
      while next < min(most, groups.count) {
        add(groups[next])
        next += 1
      }
      do throws(CairnError) {
        while let result = await tasks.next() {
          let documents = try result.get()
          try this.checkAbort()
          if next < groups.count {
            add(groups[next])
            next += 1
          }
          try await this.keep(documents, leaves, &kept)
          received += 1
          // The last ones are committed with the place of the page.
          if received < groups.count { try this.datastore.sync() }
        }
        return nil
      } catch {
        tasks.cancelAll()
        return error
      }
    }
    self = this
    pulled = kept
    if let failure {
      // What has come whole is kept.
      if failure.code != .syncFailed, datastore.isOpen { try datastore.sync() }
      throw Task.isCancelled ? CouchDBFollower.aborted : failure
    }
  }

  private mutating func keep(
    _ documents: [FetchedDocument], _ leaves: [String: [String]], _ kept: inout [String: String]
  ) async throws(CairnError) {
    for document in documents {
      let (id, key) = (document.id, document.key)
      switch document.content {
      case .document(let json):
        let revision = try database.write(json, leaves: leaves[key] ?? []) { report.note($0) }
        kept[key] = revision
        if leaves[key]?.contains(revision) == false { try doubt(id, leaves[key]) }
        report.documents += 1
        if try json.member("_conflicts")?.items().isEmpty == false { report.conflicted += 1 }
      case .missing:
        // Gone for good, or is all of the database another one?
        let info = try await asked { [client] () async throws(HTTPFailure) in
          try await client.info()
        }
        guard info.instance == state.instance else {
          throw CairnError(
            .retryLater, "the database was made anew on the server during the pull; pull again")
        }
        fallthrough
      case .deleted:
        if try database.remove(document: id) { report.deletions += 1 }
        kept[key] = ""
        try doubt(id, leaves[key])
      case .tooLarge:
        let reason =
          "the document \(id) has more than \(options.answerBytes) bytes; "
          + "CouchDBOptions.answerBytes allows more"
        report.note(reason)
        let row = ChangesPage.Row(id: id, leaves: leaves[key] ?? [], isDeleted: false)
        try wait(row, reason, refused: options.answerBytes)
      }
      noteDone()
    }
  }

  /// What came of a document is not what its row speaks of. It may be newer, or from a copy of a
  /// cluster that lags behind, and the row does not come again: the next pull asks once more. Only
  /// once, as what was purged, or has more leaves than are kept, would be in doubt for ever.
  private mutating func doubt(_ id: String, _ leaves: [String]?) throws(CairnError) {
    guard let leaves, !isAskingAgain else { return }
    try wait(ChangesPage.Row(id: id, leaves: leaves, isDeleted: false), nil)
  }

  /// Remembers a document that is not here, so that the policy is asked again.
  ///
  /// - Parameter refused: So many bytes were not enough for it.
  mutating func wait(
    _ row: ChangesPage.Row, _ reason: String?, refused: Int? = nil
  ) throws(CairnError) {
    left.insert(row.key)
    var fields: [String: Value] = [
      "id": .string(row.id),
      "leaves": .list(row.leaves.prefix(CouchDBDatabase.leavesMax).map(Value.string)),
      "mark": .string(CouchDBDatabase.mark(of: row.leaves)),
    ]
    if let reason { fields["reason"] = .string(reason) }
    if let refused { fields["refused"] = .int(Int64(refused)) }
    try database.makeRoom(database.recordMax)
    try database.put(database.waitingTable, row.key, fields)
  }

  /// That a page is here is looked at and not concluded: somebody may have taken changes back.
  private func check(
    _ row: ChangesPage.Row, _ pulled: [String: String]
  ) throws(CairnError) {
    if row.isDesign || !row.isDeleted && !database.fits(row) { return }
    let key = RecordID(row.key)
    let revision = try database.table[key].string(DocumentField.revision)
    let isThere: Bool
    if row.isDeleted || pulled[row.key] == "" {
      isThere = revision == nil
    } else if let pulled = pulled[row.key] {
      isThere = revision == pulled
    } else if try database.isLevel(row.id, leaves: row.leaves) {
      isThere = true
    } else {
      isThere =
        try database.waitingTable[key].string("mark")
        == CouchDBDatabase.mark(of: row.leaves)
    }
    guard isThere else {
      throw CairnError(
        .retryLater,
        "the document \(row.id) was changed or taken back here while it was "
          + "pulled; pull again", id: row.id)
    }
  }

  private func noteDone() { board.set { $0.documents.done += 1 } }
}
