internal import CairnDisk
internal import Synchronization

/// Notices that nothing of a long body moves any more. The network library does not: what it waits
/// for is that more is given to it, as long as it has room, and then an answer.
///
/// All that is seen of a body is that another piece of it is asked for, and the system takes some
/// MiB at once, of which a third has to go before it takes more: on a slow line minutes pass
/// without a sign. A stall is noticed all the same, and the later the more there was to send.
final class UploadWatch: Sendable {
  private let longest: Duration
  /// When something moved last; nil: nothing was asked for yet, as there is no connection.
  private let last = Lock<ContinuousClock.Instant?>(nil)
  /// What a system keeps of a connection at most, if nobody has told it otherwise.
  private static let hiddenBytes: UInt64 = 4 << 20
  /// What a server looks through in a second when it has got all: some make a hash of it first.
  private static let checkedBytes: UInt64 = 4 << 20

  init(of bytes: UInt64, stallSeconds: Double) {
    let hidden = Double(min(bytes, UploadWatch.hiddenBytes)) / Double(UploadWatch.hiddenBytes)
    let checking = Double(bytes / UploadWatch.checkedBytes)
    let seconds = (4 + 8 * hidden) * stallSeconds + checking
    longest = .seconds(min(seconds, 1e9))
  }

  func noteMoved() { last.withLock { $0 = .now } }

  /// Returns when nothing has moved for too long; throws if its task is cancelled before.
  func waitForStall() async throws {
    while true {
      let moved = last.withLock { $0 }
      let rest = moved.map { longest - $0.duration(to: .now) } ?? longest
      guard rest > .zero else { return }
      try await Task.sleep(for: rest)
    }
  }
}
