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
    guard machine.disk is PosixDisk else { return }
    let (watcher, isFirst) = state.withLock { state -> (LateWatcher, Bool) in
      if let watcher = state.watcher { return (watcher, false) }
      let watcher = LateWatcher(directory) { [weak self] in self?.lookAfterHint() }
      state.watcher = watcher
      return (watcher, true)
    }
    do throws(DiskError) {
      // Before anything is linked there is nothing to watch yet.
      if try machine.disk.info(directory)?.kind != .directory {
        try machine.disk.createDirectory(directory)
      }
    } catch { return }
    // What has changed while it could not be watched was not seen.
    if watcher.start(), !isFirst { look() }
  }

  /// The last hint is that the directory has gone: there may be another one by now.
  private func lookAfterHint() {
    look()
    let watcher = state.withLock { $0.watcher }
    if watcher?.start() == true { look() }
  }

  func look() {
    // Whoever asks next gets the error.
    do throws(CairnError) { try refresh() } catch {}
  }
}
