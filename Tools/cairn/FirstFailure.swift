import Synchronization

/// Remembers the first thing that went wrong where nothing can be thrown.
final class FirstFailure: Sendable {
  private let error = Mutex<(any Error)?>(nil)

  func note(_ error: any Error) {
    self.error.withLock { $0 = $0 ?? error }
  }

  /// Throws it, if there is one.
  func rethrow() throws {
    if let error = error.withLock({ $0 }) { throw error }
  }
}
