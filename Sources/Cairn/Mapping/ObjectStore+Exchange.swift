internal import CairnDisk
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Rounds with the folders.
extension ObjectStore {
  /// One round with the folder of each route: fetches what is new, lets the objects follow, merges
  /// it with what is pending, uploads the queue, and publishes. While the queue is suspended it
  /// fetches, merges and rewrites what is pending, and nothing leaves.
  ///
  /// - Throws: errors of folders and datastores, the first of them after all routes had their
  ///   turn. If it was in uploading, the queue has been suspended because of it, what has arrived
  ///   is out of the queue, and the failure handler was called. `cancelled` if the task is: at once
  ///   while this waits for another round; else as `Datastore.exchange()` does, which leaves the
  ///   queue as it is.
  @discardableResult
  public func exchange() async throws(CairnError) -> ObjectReport {
    try await exchange(remotes.keys.sorted())
  }

  func exchange(_ routes: [String]) async throws(CairnError) -> ObjectReport {
    try checkUsable()
    let result = await turn.run { () async -> Result<Rounds, CairnError> in
      .success(await self.rounds(routes))
    }
    let (report, failures, error) = try result.get()
    // Not in the turn: handlers may exchange.
    if let onFailure { for failure in failures { await onFailure(failure) } }
    if let error { throw error }
    return report
  }

  private typealias Rounds = (ObjectReport, [UploadFailure], CairnError?)

  private func rounds(_ routes: [String]) async -> Rounds {
    var report = ObjectReport()
    report.unreadable = foundWhenOpened
    (report.arrived, arrivedUntold) = (arrivedUntold, [])
    var failures: [UploadFailure] = []
    var first: CairnError?
    for route in routes {
      do throws(CairnError) {
        guard let failure = try await round(route, &report) else { continue }
        failures.append(failure)
        first = first ?? failure.error
      } catch { first = first ?? error }
    }
    if first == nil {
      foundWhenOpened = []
    } else {
      // This report nobody gets.
      let told: Set<RecordID> = onFailure == nil ? [] : Set(failures.flatMap(\.arrived))
      arrivedUntold = report.arrived.filter { !told.contains($0) }
    }
    return (report, failures, first)
  }

  /// Throws if looking and fetching fail; a failed upload is returned.
  private func round(
    _ route: String, _ report: inout ObjectReport
  ) async throws(CairnError) -> UploadFailure? {
    guard let remote = remotes[route], let exchanger = remote.exchanger else { return nil }
    let hasUploads = book.outbox.hasUploads(route)
    if hasUploads || gate.status.isSuspended {
      // What others did comes first: it may have to be merged with what is to be uploaded.
      report.exchanges[route] = try await exchanger.run(publishes: false)
      try checkUsable()
      try follow(route, &report)
    }
    if gate.status.isSuspended { return nil }
    let arrivedBefore = report.arrived.count
    var refused: (batch: RecordID?, error: CairnError)?
    // A merge may split a set, of which a part comes behind those that are known by now.
    var last: UInt64 = 0
    while let batch = book.outbox.uploads(route).first(where: { $0.number > last }) {
      last = batch.number
      // A device that finds out that it is a copy hears first which sets the other one has sent.
      // What comes after a set that has to wait waits, too: it may build on that.
      if gate.status.isSuspended || exchanger.isRejoining { break }
      do throws(CairnError) { try upload(batch, &report) } catch {
        refused = (batch.id, error)
        break
      }
    }
    do throws(CairnError) {
      // Also if a set was refused: those before it are on their way.
      report.exchanges[route] = try await remote.exchange()
    } catch {
      // Who ends a round has nothing against what is uploaded: the next one goes on with it.
      if !hasUploads || error.code == .cancelled { throw error }
      refused = refused ?? (nil, error)
    }
    if refused != nil { _ = gate.suspend(by: 1) }
    do throws(CairnError) {
      try checkUsable()
      try noteArrived(route, &report.arrived)
    } catch {
      // The first error says more. What else has arrived is found out by the next round.
      if refused == nil { throw error }
    }
    if let refused {
      return UploadFailure(
        route: route, changeSet: refused.batch, error: refused.error,
        arrived: Array(report.arrived[arrivedBefore...]))
    }
    try follow(route, &report)
    try forget(route)
    return nil
  }

  // MARK: suspension

  /// Uploading waits until it was resumed as often as it was suspended. Changes are recorded,
  /// fetched and merged all the same. Returns the new count.
  ///
  /// A set that is on its way at this moment goes on, those behind it wait.
  ///
  /// - Parameter count: How often; 0 only asks. The count ends at the largest integer.
  @discardableResult
  public nonisolated func suspend(count: Int = 1) -> Int { gate.suspend(by: max(0, count)) }

  /// Takes one suspension back; at 0 it has no effect. Returns the new count.
  @discardableResult
  public nonisolated func resume() -> Int {
    let count = gate.suspend(by: -1)
    if count == 0 { hint() }
    return count
  }

  // MARK: in the background

  /// Exchanges by itself from now on: at once, after each commit that queues something, when a
  /// folder changes, and at intervals that grow while nothing happens. That it has changed is seen
  /// where a datastore's `startExchanging` sees it.
  ///
  /// - Parameter onReport: Called after each round of a route, on no particular thread. If it
  ///   exchanges by itself already, this one takes the place of the one before; without one that
  ///   goes on being called.
  public func startExchanging(
    onReport: (@Sendable (Result<ObjectReport, CairnError>) -> Void)? = nil
  ) throws(CairnError) {
    try checkUsable()
    let remotes = remotes
    let earlier = background.withLock { running -> ReportHandler<ObjectReport>? in
      if let reports = running.reports { return reports }
      let reports = ReportHandler(onReport)
      running.start(remotes, reports) { [weak self] route in
        guard let self else { return .stop }
        return await self.roundOfItsOwn(route, reports)
      }
      return nil
    }
    earlier?.replace(with: onReport)
  }

  private func roundOfItsOwn(
    _ route: String, _ reports: ReportHandler<ObjectReport>
  ) async -> BackgroundRounds.Outcome {
    do throws(CairnError) {
      let report = try await exchange([route])
      reports.tell(.success(report))
      return report.hasMoved ? .moved : .idle
    } catch {
      // A mapping's function may say of anything that it is closed or deleted.
      let isOver = !local.isOpen || remotes[route]?.store.ending != nil
      return BackgroundRounds.Outcome(of: error, isOver: isOver) { reports.tell(.failure($0)) }
    }
  }

  /// Ends what `startExchanging` began. A round that is under way ends by itself; requests of it to
  /// a server are cancelled.
  public nonisolated func stopExchanging() {
    // What the handler holds goes after this, not under the lock.
    let ended = background.withLock { running in
      defer { running = ObjectRounds() }
      return running
    }
    ended.stop()
  }

  /// There may be something to upload.
  nonisolated func hint() { background.withLock { $0.hint() } }
}

extension ObjectReport {
  /// Whether the next round should come soon.
  var hasMoved: Bool { !changes.isEmpty || exchanges.values.contains { $0.hasMoved } }
}

/// The rounds of all routes, each with its pauses.
struct ObjectRounds: Sendable {
  private var rounds: [BackgroundRounds] = []
  /// Who is told of them; nil while none run.
  private(set) var reports: ReportHandler<ObjectReport>?

  mutating func start(
    _ remotes: [String: Datastore], _ reports: ReportHandler<ObjectReport>,
    _ round: @escaping @Sendable (String) async -> BackgroundRounds.Outcome
  ) {
    self.reports = reports
    rounds = remotes.sorted { $0.key < $1.key }.map { route, remote in
      let folder = remote.exchanger?.folder.base as? DirectoryFolder
      let watched = folder.map { $0.path + "/" + (remote.exchanger?.directory ?? "") }
      return BackgroundRounds(
        watching: watched, pollSeconds: remote.manager.options.pollSeconds
      ) { await round(route) }
    }
  }

  func hint() { for round in rounds { round.hint() } }

  func stop() { for round in rounds { round.stop() } }
}
