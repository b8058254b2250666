internal import CairnDisk

/// Does something later, once, unless it is cancelled. Tests have one that they wind by hand.
package struct CDBDelay: Sendable {
  package typealias Action = @Sendable () -> Void

  /// Starts the wait; what it returns ends it early, without the action.
  package var start: @Sendable (Duration, @escaping Action) -> Action

  package init(start: @escaping @Sendable (Duration, @escaping Action) -> Action) {
    self.start = start
  }

  /// By the clock. The action, which may block, has a thread of its own.
  package static let real = CDBDelay { duration, action in
    let wait = Task {
      do { try await Task.sleep(for: duration) } catch { return }
      // Without a thread to be had it is done here, which is better than never.
      if BackgroundThread(action) == nil { action() }
    }
    return { wait.cancel() }
  }
}
