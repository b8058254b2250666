internal import Cairn
internal import CairnHTTP

extension PullRound {
  /// A content that is to be fetched.
  private struct Wanted: Sendable {
    var attachment: CouchDBAttachment
    var stub: AttachmentStub
    var document: String
    var revision: String
    var priority: CouchDBPriority
  }

  /// Fetches the contents that are stale, as the policy says: those of earlier pulls among them.
  mutating func pullAttachments() async throws(CairnError) {
    var wanted: [Wanted] = []
    for attachment in try database.staleAttachments() {
      guard let document = try attachment.document, let revision = try document.revision,
        case .fetch(let priority) = try options.policy.decision(attachment)
      else { continue }
      let stub = AttachmentStub(
        name: try attachment.name, type: try attachment.contentType,
        length: try attachment.length, position: try attachment.revisionPosition,
        digest: try attachment.digest,
        encoding: try attachment.record.string(CouchDBDatabase.AttachmentField.encoding),
        encodedLength: try attachment.record.int(CouchDBDatabase.AttachmentField.encodedLength))
      if stub.length > database.vault.limit {
        report.failedAttachments += 1
        report.note(
          "attachment \(stub.name) of \(try document.id) has \(stub.length) bytes; "
            + "Limits.attachmentBytes allows \(database.vault.limit)")
        continue
      }
      wanted.append(
        Wanted(
          attachment: attachment, stub: stub, document: try document.id, revision: revision,
          priority: priority))
    }
    if wanted.isEmpty { return }
    wanted.sort { a, b in
      if a.priority != b.priority { return a.priority > b.priority }
      // Small ones first, and the same order always.
      return (a.stub.length, a.document, a.stub.name) < (b.stub.length, b.document, b.stub.name)
    }
    let count = wanted.count
    board.set { $0.attachments.total = count }
    try await fetch(wanted)
    try datastore.sync()
  }

  private enum Fetched: Sendable {
    case content(Value)
    /// The error, where it says more about the server than about this one.
    case failed(String, CairnError? = nil)
    /// Nothing more can be had: the whole pull ends.
    case ended(CairnError)
  }

  private mutating func fetch(_ wanted: [Wanted]) async throws(CairnError) {
    let (client, board, vault) = (client, board, database.vault)
    let most = max(1, options.maxConcurrentFetches)
    var this = self
    let failure = await withTaskGroup(of: (Int, Fetched).self) { tasks -> CairnError? in
      func add(_ index: Int) {
        let item = wanted[index]
        tasks.addTask { (index, await PullRound.fetch(item, client, vault, board)) }
      }
      var next = 0
      while next < min(most, wanted.count) {
        add(next)
        next += 1
      }
      do throws(CairnError) {
        while let (index, fetched) = await tasks.next() {
          try this.checkAbort()
          if next < wanted.count {
            add(next)
            next += 1
          }
          try this.keep(fetched, wanted[index])
        }
        return nil
      } catch {
        tasks.cancelAll()
        return error
      }
    }
    self = this
    if let failure {
      if failure.code != .syncFailed, datastore.isOpen { try datastore.sync() }
      throw Task.isCancelled ? CouchDBFollower.aborted : failure
    }
  }

  private mutating func keep(_ fetched: Fetched, _ wanted: Wanted) throws(CairnError) {
    typealias Field = CouchDBDatabase.AttachmentField
    board.set { $0.attachments.done += 1 }
    switch fetched {
    case .ended(let error): throw error
    case .failed(let reason, let trouble):
      report.failedAttachments += 1
      troubles = trouble == nil ? 0 : troubles + 1
      // The next ones would only add to it.
      if let trouble, troubles >= PullRound.troublesMax { throw trouble }
      report.note("attachment \(wanted.stub.name) of \(wanted.document): \(reason)")
    case .content(let value):
      try database.makeRoom(4096)
      try wanted.attachment.record.update([
        Field.content: value, Field.held: .string(wanted.stub.version), Field.stale: nil,
      ])
      report.attachments += 1
      troubles = 0
      try datastore.sync()
    }
  }

  private static func fetch(
    _ wanted: Wanted, _ client: CouchClient, _ vault: ContentVault, _ board: ProgressBoard
  ) async -> Fetched {
    var request = client.request(
      "GET", client.address.path(wanted.document, wanted.stub.name))
    request.query = [("rev", wanted.revision)]
    request.expected = UInt64(clamping: wanted.stub.length)
    // Length and digest tell a page that is the content from one that wants a log-in.
    request.mayBePage = true
    // What the server keeps packed comes as it is kept: only so can its digest be told.
    request.headers = [("Accept", "*/*"), ("Accept-Encoding", "gzip")]
    do throws(HTTPFailure) {
      let answer = try await client.send(request) {
        AttachmentSink(wanted.stub, vault) { bytes in
          board.set { $0.attachments.bytes &+= UInt64(bytes) }
        }
      }
      do throws(CairnError) { return .content(try answer.sink.finish()) } catch {
        return .failed(error.message)
      }
    } catch {
      let reason = CairnError(error)
      switch error.kind {
      case .cancelled, .budget, .later, .tls, .connection, .status(401), .status(403):
        return .ended(reason)
      // It asks to be left alone.
      case .status(429), .status(503): return .ended(reason)
      case .settings where reason.code != .corrupt && reason.code != .sizeLimit:
        return .ended(reason)
      default: return .failed(reason.message, error.isPassing ? reason : nil)
      }
    }
  }
}
