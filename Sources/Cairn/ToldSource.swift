internal import CairnDisk
internal import Synchronization

/// A file on its way into a folder, of which a job is told how much was asked for. What is sent
/// again counts once.
final class ToldSource: FolderSource {
  private let base: any FolderSource
  private let job: TransferJob
  private let furthest = Lock(UInt64(0))

  init(_ base: any FolderSource, _ job: TransferJob) {
    (self.base, self.job) = (base, job)
  }

  var size: UInt64 { base.size }
  /// How many bytes from its beginning on were told.
  var reach: UInt64 { furthest.withLock { $0 } }

  func read(_ range: Range<UInt64>) throws(CairnError) -> [UInt8] {
    let bytes = try base.read(range)
    // All before it has been sent by then: it is read to be sent, a piece at a time.
    let more = furthest.withLock { furthest in
      defer { furthest = max(furthest, min(range.lowerBound, size)) }
      return range.lowerBound > furthest ? min(range.lowerBound, size) - furthest : 0
    }
    if more > 0 { job.notePublished(files: 0, bytes: more) }
    return bytes
  }
}
