public import Cairn
internal import CairnDisk
internal import CairnHTTP
internal import Synchronization

/// Follows a database of CouchDB: brings its documents, and the contents of their attachments, into
/// the tables of a datastore. One way: nothing is ever written to the server.
///
/// A pull may end at any moment, by `abort()`, an error or a crash; the next goes on behind the
/// last document that was committed. While a follower is at work, the app must not take changes of
/// the datastore back (`rollback()`). Thread-safe.
public final class CouchDBFollower: Sendable {
  /// What it pulls into.
  public let database: CouchDBDatabase
  /// How it goes about it.
  public let options: CouchDBOptions
  /// The address as it was noted when this was made.
  let url: String
  let client: CouchClient
  private let board = ProgressBoard()
  private let work = Lock(Work())

  private struct Work {
    /// What ends that which is under way.
    var ends: [Int: Callback] = [:]
    var count = 0
    var aborts = 0
  }

  /// A follower of a database whose address is known (`CouchDBStore.database(_:url:)`). Asks the
  /// server nothing yet.
  ///
  /// - Throws: `illegalArgument` if there is no address, or a bad one.
  public init(
    _ database: CouchDBDatabase, options: CouchDBOptions = CouchDBOptions()
  ) throws(CairnError) {
    guard let url = try database.url else {
      throw CairnError(
        .illegalArgument,
        "the database \(database.name) has no address; give one when you get it "
          + "from the store", id: database.name)
    }
    self.database = database
    self.options = options
    self.url = url
    client = CouchClient(
      try CouchAddress(url), options.server, usesSession: options.usesSession,
      pause: options.pause)
    let datastore = database.store.datastore
    try datastore.addIndex(
      table: database.attachmentsTable.id, field: CouchDBDatabase.AttachmentField.document)
  }

  /// How far it is.
  public var progress: CouchDBProgress { board.current }
  /// The progress as it is now, and whenever it has changed; the newest only.
  public var progressChanges: AsyncStream<CouchDBProgress> { board.changes }
  /// What went over the network so far.
  public var traffic: FolderTraffic { client.traffic }

  /// Brings everything here that the server has and that is not here yet.
  ///
  /// Documents are committed in groups, and a page's place on the server with the last of them.
  /// What can't be had of attachments is no error: they stay stale.
  ///
  /// - Throws: `invalidOperation` if a pull of this database is under way, or if its address was
  ///   changed since this follower was made; `cancelled` after `abort()`; `retryLater` if somebody
  ///   changed here what was just pulled; errors of the network (`auth`, `notFound`,
  ///   `noConnection`, `retryLater` …), of the limits and of the disk. What was pulled until then
  ///   stays.
  @discardableResult
  public func pull() async throws(CairnError) -> CouchDBReport {
    guard let pulled = try await pull(aborts) else {
      throw CairnError(
        .invalidOperation, "a pull of \(database.name) is under way; abort it, or wait for it",
        id: database.name)
    }
    return pulled.report
  }

  /// What a pull did, and the mark of the rows that it was about (`PullRound.listed`).
  private struct Pulled {
    var report: CouchDBReport
    var listed: Int?
  }

  /// Nil if somebody else is at this database.
  private func pull(_ aborts: Int) async throws(CairnError) -> Pulled? {
    guard Followers.shared.begin(database) else { return nil }
    defer { Followers.shared.end(database) }
    return try await interruptible(aborts) { [self] () async throws(CairnError) -> Pulled in
      var round = PullRound(self, board)
      let report = try await round.run()
      return Pulled(report: report, listed: round.listed)
    }
  }

  /// Pulls, then waits for news on the server and pulls again, until it is aborted or its task is
  /// cancelled: then it returns. A network that fails for a while is waited for, and news that turn
  /// out to be none are asked about less and less often.
  ///
  /// While another pull of this database is under way it waits for the end of that.
  ///
  /// - Parameter onPull: Called after each pull, whether it found something, nothing, or failed.
  /// - Throws: what `pull()` throws and waiting can't mend: `auth`, `notFound`, limits, the disk,
  ///   an address that was changed.
  public func follow(
    onPull: @escaping @Sendable (Result<CouchDBReport, CairnError>) -> Void = { _ in }
  ) async throws(CairnError) {
    var pause = 1.0
    // What the last pull was about, if the server said after it that there is something new.
    var heard: Int?
    var wasAnew = false
    let aborts = aborts
    while !Task.isCancelled, aborts == self.aborts {
      var seconds = pause
      _ = client.asked.take()
      do throws(CairnError) {
        // While somebody else pulls, for the same news perhaps, it is waited for the end of that.
        if let pulled = try await pull(aborts) {
          onPull(.success(pulled.report))
          // It was about nothing new: something between drops "since", or two servers take turns. A
          // database that is made anew once may well say the same.
          let isAnew = pulled.report.wasRecreated
          let isVain = pulled.listed != nil && pulled.listed == heard && (!isAnew || wasAnew)
          wasAnew = isAnew
          if isVain, await !rest(pause, aborts) { return }
          // A server that knows no place which it gave has all of it pulled each time.
          if isVain { pause = min(60, pause * 2) } else if !isAnew { pause = 1 }
          heard = nil
          try await interruptible(aborts) { [self] () async throws(CairnError) in
            try await waitForNews()
          }
          heard = pulled.listed
          continue
        }
      } catch {
        // Credentials that somebody does not give may say so, too.
        if error.code == .cancelled, Task.isCancelled || aborts != self.aborts { return }
        onPull(.failure(error))
        guard CouchDBFollower.passes(error) else { throw error }
        pause = min(60, pause * 2)
        seconds = max(seconds, client.asked.take())
      }
      guard await rest(seconds, aborts) else { return }
    }
  }

  /// Waits for so many seconds; false if that was ended before.
  private func rest(_ seconds: Double, _ aborts: Int) async -> Bool {
    do throws(CairnError) {
      try await interruptible(aborts) { [options] () async throws(CairnError) in
        do { try await options.pause(seconds) } catch { throw CouchDBFollower.aborted }
      }
      return true
    } catch { return false }
  }

  /// Ends what is under way: `pull()` throws `cancelled` and `follow(onPull:)` returns, soon. Does
  /// nothing if nothing is.
  public func abort() {
    let ends = work.withLock { work in
      work.aborts += 1
      return Array(work.ends.values)
    }
    for end in ends { end.call?() }
  }

  static let aborted = CairnError(
    .cancelled, "it was aborted; the next pull goes on behind the last document that came")

  private static func passes(_ error: CairnError) -> Bool {
    switch error.code {
    case .network, .timeout, .noConnection, .retryLater, .server, .quota, .response: true
    default: false
    }
  }

  /// How often it was aborted.
  var aborts: Int { work.withLock { $0.aborts } }

  /// Runs something that `abort()` ends, and the end of this task.
  ///
  /// - Parameter aborts: How often it had been aborted when all of this began: an `abort()` since
  ///   then ends it, too.
  func interruptible<R: Sendable>(
    _ aborts: Int, _ body: @escaping @Sendable () async throws(CairnError) -> R
  ) async throws(CairnError) -> R {
    let task = Task { () async -> Result<R, CairnError> in
      do throws(CairnError) { return .success(try await body()) } catch { return .failure(error) }
    }
    let (number, isLate) = work.withLock { work in
      work.count += 1
      work.ends[work.count] = Callback { task.cancel() }
      return (work.count, work.aborts != aborts)
    }
    if isLate { task.cancel() }
    defer { _ = work.withLock { $0.ends.removeValue(forKey: number) } }
    let result = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    return try result.get()
  }

  /// Returns when the server has something new.
  private func waitForNews() async throws(CairnError) {
    let seconds = max(0.1, min(options.newsSeconds, options.server.stallSeconds * 0.8))
    let clock = ContinuousClock()
    var pause = 1.0
    while !Task.isCancelled {
      let start = clock.now
      let state = try database.state
      if let state { try database.check(state, isAt: url) }
      do throws(HTTPFailure) {
        let page = try await client.changes(since: state?.since, limit: 1, waiting: seconds)
        if !page.rows.isEmpty { return }
        // A database that was made anew may be silent for ever.
        if try await client.info().instance != state?.instance { return }
      } catch { throw await reason(error, at: state?.since) }
      // Somebody on the way does not know such requests: not one after the other without an end.
      if clock.now - start < .seconds(seconds / 2) {
        do { try await options.pause(pause) } catch { throw CouchDBFollower.aborted }
        pause = min(60, pause * 2)
      } else {
        pause = 1
      }
    }
    throw CouchDBFollower.aborted
  }

  /// Why it can't be waited for news. A pull mends a place that the server does not know; whether
  /// it is that, or such requests that it does not understand, one that need not wait tells.
  private func reason(_ failure: HTTPFailure, at since: String?) async -> CairnError {
    guard failure.kind == .status(400), since != nil else { return CairnError(failure) }
    do throws(HTTPFailure) { _ = try await client.changes(since: since, limit: 1) } catch {
      guard error.kind == .status(400) else { return CairnError(error) }
      return CairnError(
        .retryLater,
        "the server does not know the place of the database \(database.name) any more; the next "
          + "pull lists all of it", id: database.name)
    }
    return CairnError(failure)
  }
}
