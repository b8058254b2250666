internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

extension DatastoreFollower {
  /// Brings everything here that the folder has and that is not here yet: first what changed in the
  /// tables, then contents of attachments, by the policy. One pull at a time; others wait for it.
  ///
  /// Updates are visible as soon as they are here whole and verified. A file that is damaged or not
  /// wholly there is in the report, and what builds on it waits; so does one that only a newer
  /// version can read. If files were merged away since the last pull, or are lost, the copy is
  /// joined with a snapshot, if devices have published one; a loss that no device has noted is
  /// looked at three times before.
  ///
  /// After another choice of tables than before the copy is put together anew, beside the one that
  /// is there, which stays as it is, and gets nothing new, until the new one is whole.
  ///
  /// - Returns: What was fetched, all rounds together; files that are waited for and problems as
  ///   the last look at them found them.
  /// - Throws: `cancelled` after `abort()`; `deleted` if the datastore was deleted in the folder,
  ///   `notFound` if the folder is not there, or empty, `disallowed` if it is another one: what was
  ///   pulled stays as it is then, and readable; `closed`; errors of the folder and of the disk.
  @discardableResult
  public func pull() async throws(CairnError) -> ExchangeReport {
    let result = await turn.run { [self] () async -> Result<ExchangeReport, CairnError> in
      do throws(CairnError) { return .success(try await rounds()) } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func rounds() async throws(CairnError) -> ExchangeReport {
    var total = ExchangeReport()
    // Rounds in a row that fetched something, of which nothing came to be here; and all those that
    // only made sure of a loss.
    var (vain, looks) = (0, 0)
    while true {
      if Task.isCancelled { throw DatastoreFollower.aborted }
      let before = vectors
      let report: ExchangeReport
      do throws(CairnError) { report = try await datastore.exchange() } catch {
        // What has come before that is whole, and shows; the first error says more.
        do throws(CairnError) { try datastore.sync() } catch {}
        throw error
      }
      let result = try datastore.sync()
      total.add(report)
      let hasMoved =
        result.incorporated > 0 || report.fetchedAttachments > 0
        || vectors != before
      vain = hasMoved || report.fetchedFiles == 0 ? 0 : vain + 1
      if vain == DatastoreFollower.vainRounds {
        total.problems.append(vainProblem)
        return total
      }
      if hasMoved || vain > 0 { continue }
      looks += 1
      guard looks < Exchange.patience, datastore.exchanger?.isAboutToJoin == true else {
        return total
      }
    }
  }

  /// How far the copy is, and what is put together in its place.
  private var vectors: [VersionVector] {
    [datastore.store.vector, datastore.exchanger?.staged?.store.vector ?? VersionVector()]
  }

  /// One more than it may take: what waits for something else stays here, and is not fetched again.
  static let vainRounds = 3

  /// What is fetched, and fetched again, has been damaged or refused on this device.
  private var vainProblem: ExchangeReport.Problem {
    ExchangeReport.Problem(
      name: FileName.inbox,
      reason: "what is fetched can't be read again here, or not be applied, and is fetched anew by "
        + "each pull; look at the disk of \(root)")
  }

  static let aborted = CairnError(
    .cancelled, "it was aborted; the next pull goes on behind what has come")

  /// Pulls at once, when the folder changes, and at intervals that grow while nothing happens
  /// (`Options.pollSeconds`), until it is aborted or its task is cancelled: then it returns. A
  /// folder that is out of reach for a while is waited for.
  ///
  /// - Parameter onPull: Called after each pull, whether it found something, nothing, or failed.
  /// - Throws: what `pull()` throws and waiting can't mend: `deleted`, `disallowed`, `auth`,
  ///   `closed` and other ends of the copy, a full disk, and what is wrong with files in `root`.
  public func follow(
    onPull: @escaping @Sendable (Result<ExchangeReport, CairnError>) -> Void = { _ in }
  ) async throws(CairnError) {
    let (ends, end) = AsyncStream.makeStream(of: CairnError.self)
    let number = work.withLock { work in
      work.count += 1
      work.ends[work.count] = Callback { end.finish() }
      return work.count
    }
    defer { work.withLock { _ = $0.ends.removeValue(forKey: number) } }
    let rounds = BackgroundRounds(
      watching: watchedDirectory, pollSeconds: datastore.manager.options.pollSeconds
    ) { [weak self] in
      guard let self else { return .stop }
      do throws(CairnError) {
        let report = try await pull()
        guard isFollowing(number) else { return .stop }
        onPull(.success(report))
        return report.fetchedFiles + report.fetchedAttachments > 0 ? .moved : .idle
      } catch {
        // Of what was asked to end nobody wants to hear.
        if !isFollowing(number) {
          end.finish()
          return .stop
        }
        onPull(.failure(error))
        if passes(error) { return .idle }
        end.yield(error)
        end.finish()
        return .stop
      }
    }
    defer { rounds.stop() }
    var failure: CairnError?
    await withTaskCancellationHandler {
      for await error in ends { failure = error }
    } onCancel: {
      work.withLock { _ = $0.ends.removeValue(forKey: number) }
      end.finish()
    }
    if let failure { throw failure }
  }

  /// Whether one that follows has not been asked to end.
  private func isFollowing(_ number: Int) -> Bool { work.withLock { $0.ends[number] != nil } }

  private var watchedDirectory: String? {
    guard let exchange = datastore.exchanger else { return nil }
    return exchange.folder.base.directoryPath.map { $0 + "/" + exchange.directory }
  }

  /// Whether it may be otherwise the next time: a file of the folder is mended by its devices, one
  /// of the copy here by nobody.
  func passes(_ error: CairnError) -> Bool {
    switch error.code {
    case .network, .timeout, .noConnection, .retryLater, .server, .quota, .response, .request:
      true
    case .notFound, .fileIO, .corrupt, .readOnly:
      !(error.file.map { $0 == root || $0.hasPrefix(root + "/") } ?? false)
    default: false
    }
  }
}

extension ExchangeReport {
  /// What the next round did, too. What is not there, and what can't be used, is as it found it;
  /// about contents of attachments as the last one that had a reason to look at them.
  mutating func add(_ next: ExchangeReport) {
    fetchedDeltas &+= next.fetchedDeltas
    fetchedFiles += next.fetchedFiles
    fetchedBytes &+= next.fetchedBytes
    requests += next.requests
    fetchedSnapshot = fetchedSnapshot || next.fetchedSnapshot
    fetchedAttachments += next.fetchedAttachments
    fetchedAttachmentBytes &+= next.fetchedAttachmentBytes
    if let more = next.traffic { traffic = traffic?.adding(more) ?? more }
    problems = next.problems + (next.contentProblems == nil ? contentProblems ?? [] : [])
    waiting = next.waiting
    held = next.held
    ignoredFiles = next.ignoredFiles
    isRejoining = next.isRejoining
    devices = next.devices
    guard next.contentProblems != nil else { return }
    contentProblems = next.contentProblems
    missingAttachments = next.missingAttachments
    skippedAttachments = next.skippedAttachments
  }
}

extension FolderTraffic {
  fileprivate func adding(_ more: FolderTraffic) -> FolderTraffic {
    var sum = self
    sum.requests &+= more.requests
    sum.retries &+= more.retries
    sum.sentBytes &+= more.sentBytes
    sum.receivedBytes &+= more.receivedBytes
    return sum
  }
}
