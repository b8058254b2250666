internal import CairnDisk
internal import Synchronization

/// Watches a directory that need not be there yet, and may go and come back: whoever looks for what
/// is in it asks again after each look.
final class LateWatcher: Sendable {
  private let directory: String?
  private let onChange: @Sendable () -> Void
  private let state = Lock(State())

  private struct State {
    var watcher: DirectoryWatcher?
    var isOver = false
  }

  /// Watches nothing yet, and never anything if there is no directory.
  init(_ directory: String?, onChange: @escaping @Sendable () -> Void) {
    self.directory = directory
    self.onChange = onChange
  }

  /// Watches from now on, if it does not, or not any more, and can. Returns whether that is new:
  /// what has changed before was not seen.
  @discardableResult
  func start() -> Bool {
    guard let directory else { return false }
    return state.withLock { state in
      if state.isOver { return false }
      if let watcher = state.watcher {
        guard watcher.isEnded else { return false }
        watcher.stop()
        state.watcher = nil
      }
      state.watcher = DirectoryWatcher(directory: directory, onChange: onChange)
      return state.watcher != nil
    }
  }

  /// Ends it, for good.
  func stop() {
    let watcher = state.withLock { state in
      state.isOver = true
      return state.watcher.take()
    }
    watcher?.stop()
  }
}
