/// Exchanges an open datastore in the background, until it is closed.
final class BackgroundExchange: Sendable {
  private let rounds: BackgroundRounds
  /// Who is told of each round.
  let reports: ReportHandler<ExchangeReport>

  /// `isOver`: the datastore can't be used any more, or nobody has it.
  init(
    _ exchange: Exchange, pollSeconds: ClosedRange<Double>,
    isOver: @escaping @Sendable () -> Bool,
    round: @escaping @Sendable () async throws(CairnError) -> ExchangeReport,
    onReport: ReportHandler<ExchangeReport>.Handler?
  ) {
    let reports = ReportHandler(onReport)
    self.reports = reports
    let watched = exchange.folder.base.directoryPath.map { $0 + "/" + exchange.directory }
    rounds = BackgroundRounds(watching: watched, pollSeconds: pollSeconds) {
      do throws(CairnError) {
        let report = try await round()
        reports.tell(.success(report))
        return report.hasMoved ? .moved : .idle
      } catch {
        // The folder may say of anything that it is closed or deleted.
        return BackgroundRounds.Outcome(of: error, isOver: isOver()) {
          reports.tell(.failure($0))
        }
      }
    }
  }

  /// Something may have changed: look soon.
  func hint() { rounds.hint() }

  func stop() { rounds.stop() }
}

extension ExchangeReport {
  /// Whether the next round should come soon. What is only waited for is looked at less and less
  /// often.
  var hasMoved: Bool {
    publishedFiles + fetchedFiles + mergedFiles + publishedAttachments + fetchedAttachments > 0
  }
}
