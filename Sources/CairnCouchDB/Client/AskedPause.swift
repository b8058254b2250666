internal import CairnDisk
internal import Synchronization

/// How long a server asked to be left alone when requests to it were given up.
final class AskedPause: Sendable {
  private let seconds = Lock(0.0)
  private static let longest = 86_400.0

  func note(_ asked: Double?) {
    guard let asked else { return }
    seconds.withLock { $0 = max($0, min(asked, AskedPause.longest)) }
  }

  /// What was asked for since the last time; 0 if nothing was.
  func take() -> Double {
    seconds.withLock { seconds in
      defer { seconds = 0 }
      return seconds
    }
  }
}
