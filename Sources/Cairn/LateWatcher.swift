internal import CairnDisk
internal import Synchronization

/// Watches a directory that need not be there yet: whoever looks for what is in it asks again after
/// each look.
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

  /// Watches from now on, if it does not yet and can. Returns whether that is new: what has changed
  /// before was not seen.
  @discardableResult
  func start() -> Bool {
    guard let directory else { return false }
    return state.withLock { state in
      if state.isOver || state.watcher != nil { return false }
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
