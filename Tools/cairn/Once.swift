import Synchronization

/// Tells the first of several calls, whatever threads they come from.
final class Once: Sendable {
  private let isOver = Mutex(false)

  /// True the first time.
  func begin() -> Bool {
    isOver.withLock { isOver in
      defer { isOver = true }
      return !isOver
    }
  }
}
