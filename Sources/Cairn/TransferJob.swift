internal import CairnDisk
internal import Synchronization

/// Transfers that are planned together and come to an end together, those of a round for example.
/// Several jobs may be under way at once: what is still to come of one says nothing of another.
final class TransferJob: Sendable {
  let gauge: TransferGauge
  private let rests = Lock(Rests())

  private struct Rests {
    var fetched = TransferProgress.Rest()
    var published = TransferProgress.Rest()
    /// What is going to be published after that for which is planned next.
    var later = TransferProgress.Rest()
  }

  init(_ gauge: TransferGauge) { self.gauge = gauge }

  /// It may begin again once it has ended.
  func begin() { gauge.beginJob() }

  /// It has come to its end, whichever.
  func end() {
    gauge.change(endsJob: true) { progress in
      rests.withLock { rests in
        progress.fetched.close(&rests.fetched)
        progress.published.close(&rests.published)
        rests.later = TransferProgress.Rest()
      }
    }
  }

  func planFetch(files: Int, bytes: UInt64) {
    change { $0.fetched.plan(files: files, bytes: bytes, &$1.fetched) }
  }

  func noteFetched(files: Int = 0, bytes: UInt64 = 0) {
    change { $0.fetched.note(files: files, bytes: bytes, &$1.fetched) }
  }

  func planPublish(files: Int, bytes: UInt64) {
    change { progress, rests in
      let later = rests.later
      progress.published.plan(
        files: files + later.files, bytes: bytes &+ later.bytes, &rests.published)
    }
  }

  /// What comes after the next file that is planned, and so belongs to its total, too.
  func expectLater(files: Int, bytes: UInt64) {
    rests.withLock { $0.later = TransferProgress.Rest(files: files, bytes: bytes) }
  }

  func notePublished(files: Int, bytes: UInt64) {
    change { $0.published.note(files: files, bytes: bytes, &$1.published) }
  }

  private func change(_ change: (inout TransferProgress, inout Rests) -> Void) {
    gauge.change { progress in rests.withLock { rests in change(&progress, &rests) } }
  }
}
