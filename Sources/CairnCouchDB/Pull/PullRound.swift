internal import Cairn
internal import CairnDisk
internal import CairnHTTP

/// One pull, from where the last one ended to where the server has nothing new.
///
/// Only the end of a page of changes is a place to go on from (rows come in another order each time
/// they are asked for, and some without a place of their own). It is committed when everything of
/// the page was seen to be here; until then each document's own revision says whether it is, so
/// that a page that was interrupted is listed again and only what is missing of it fetched.
struct PullRound {
  let database: CouchDBDatabase
  let options: CouchDBOptions
  let url: String
  let client: CouchClient
  let board: ProgressBoard
  var report = CouchDBReport()
  /// Documents that this pull has asked about and left, by key.
  var left: Set<String> = []
  /// It is at documents that an earlier pull has left.
  var isAskingAgain = false
  /// Attachments in a row that a server in trouble did not give.
  var troubles = 0
  static let troublesMax = 3
  /// Stands for the rows of changes that this pull was about, in whichever order they came: the
  /// same in this process for the same ones. Nil if there were none.
  private(set) var listed: Int?
  /// As it was committed last.
  var state = DatabaseState()

  init(_ follower: CouchDBFollower, _ board: ProgressBoard) {
    database = follower.database
    options = follower.options
    url = follower.url
    client = follower.client
    self.board = board
  }

  var datastore: Datastore { database.store.datastore }

  mutating func run() async throws(CairnError) -> CouchDBReport {
    let before = client.traffic
    let now = PullRound.now
    board.set { progress in
      progress = CouchDBProgress()
      (progress.startedAt, progress.isRunning) = (now, true)
    }
    defer { board.set { $0.isRunning = false } }
    try database.clearUnfinished()
    try await begin()
    try await pullChanges()
    if state.isRecreated { try await removeStrangers() }
    try await pullWaiting()
    try await pullAttachments()
    var level = try current()
    level.level = PullRound.now
    try commit(level)
    report.traffic = client.traffic.since(before)
    return report
  }

  private static var now: Timestamp {
    Timestamp(millisecondsSince1970: Machine.real.clock.now())
  }

  /// Looks which database it is.
  private mutating func begin() async throws(CairnError) {
    // Before anything is asked: a server that has moved may not answer any more.
    guard let kept = try database.state else { throw gone }
    try database.check(kept, isAt: url)
    let info = try await asked { [client] () async throws(HTTPFailure) in try await client.info() }
    guard let state = try database.state else { throw gone }
    try database.check(state, isAt: url)
    self.state = state
    if let known = state.instance, known != info.instance { try startAnew() }
    if state.isRecreated { report.wasRecreated = true }
    self.state.instance = info.instance
    if self.state != state { try commit(self.state) }
  }

  /// What was pulled is another database's, or the server does not know the place any more: all is
  /// listed again. Documents that are the same are not fetched again, and those that are not there
  /// any more go at the end.
  private mutating func startAnew() throws(CairnError) {
    state = try current()
    report.wasRecreated = true
    state.since = nil
    state.isRecreated = true
    try commit(state)
  }

  private mutating func pullChanges() async throws(CairnError) {
    var hasStartedAnew = false
    // Where pages of this pull have begun and ended: none that has one behind it ends there again.
    var places: Set<String> = []
    var last: [ChangesPage.Row] = []
    while true {
      let page: ChangesPage
      do throws(HTTPFailure) {
        page = try await client.changes(since: state.since, limit: options.changesPerRequest)
      } catch {
        // A place that this server never gave.
        guard error.kind == .status(400), state.since != nil, !hasStartedAnew else {
          throw CairnError(error)
        }
        hasStartedAnew = true
        try startAnew()
        (places, last, listed) = ([], [], nil)
        continue
      }
      // The place behind nothing is none: it says no more than the one before.
      if page.rows.isEmpty { return }
      listed = page.rows.reduce(listed ?? 0) { $0 &+ $1.hashValue }
      board.set { $0.documents.total = $0.documents.done + page.rows.count + page.pending }
      try await pull(page.rows)
      if let since = state.since { places.insert(since) }
      var next = try current()
      next.since = page.next
      try commit(next)
      if page.rows.count < max(1, options.changesPerRequest), page.pending == 0 { return }
      // Where each answer names the same place otherwise, the rows tell.
      guard places.insert(page.next).inserted, page.rows != last else {
        throw CairnError(
          .response,
          "the server's changes begin anew with each page: is there a cache or a proxy before it "
            + "that drops \"since\" from requests?")
      }
      last = page.rows
    }
  }

  /// The state as it is kept: nobody may have emptied the database meanwhile, or given it another
  /// address.
  func current() throws(CairnError) -> DatabaseState {
    guard var kept = try database.state else { throw gone }
    try database.check(kept, isAt: url)
    guard kept.since == state.since else {
      throw CairnError(
        .retryLater,
        "the place of the database \(database.name) was changed while it was pulled; pull again",
        id: database.name)
    }
    // What was begun is whole.
    kept.writing = nil
    return kept
  }

  private var gone: CairnError {
    CairnError(
      .invalidOperation,
      "the database \(database.name) was removed while it was pulled; get it from the store again",
      id: database.name)
  }

  mutating func commit(_ state: DatabaseState) throws(CairnError) {
    try database.keep(state)
    try datastore.sync()
    self.state = state
  }

  /// Whether it is to end.
  func checkAbort() throws(CairnError) {
    if Task.isCancelled { throw CouchDBFollower.aborted }
  }

  func asked<R>(_ body: () async throws(HTTPFailure) -> R) async throws(CairnError) -> R {
    do { return try await body() } catch { throw CairnError(error) }
  }
}
