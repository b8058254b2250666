internal import CairnDisk
internal import Synchronization

extension AccountManager {
  /// What happens to the accounts from now on, here and elsewhere; of what was not read yet, the
  /// newest change of each account. What another process does is seen where the system can watch
  /// directories, otherwise when somebody asks this manager. Ends when nobody holds the manager any
  /// more.
  public var accountChanges: Updates<[AccountChange]> {
    startWatching()
    return Updates(of: broadcast)
  }

  /// Calls a handler with what happens to the accounts, as long as the result and the manager are
  /// held. `scheduler` decides where; a task of its own if there is none.
  public func onAccountChange(
    on scheduler: Scheduler? = nil, _ handler: @escaping @Sendable ([AccountChange]) -> Void
  ) -> Observation {
    startWatching()
    return Observation(broadcast.subscribe(on: scheduler ?? AccountManager.anyThread, handler))
  }

  static let anyThread: Scheduler = { body in Task { body() } }

  /// Looks at the list soon after another process has changed it, if the system can say so.
  func startWatching() {
    let isFirst = state.withLock { state in
      defer { state.isWatching = true }
      return !state.isWatching
    }
    guard isFirst, machine.disk is PosixDisk else { return }
    do throws(DiskError) {
      // Before anything is linked there is nothing to watch yet.
      try machine.disk.createDirectory(directory)
    } catch { return }
    state.withLock { state in
      state.watcher = DirectoryWatcher(directory: directory) { [weak self] in
        // A hint: whoever asks next gets the error.
        do throws(CairnError) { _ = try self?.refresh() } catch {}
      }
    }
  }
}
