internal import CairnDisk
internal import Synchronization

extension DatastoreManager {
  /// Exchanges the list of datastores with the account's folder once: says what this device has
  /// and deleted, and hears what the others have and deleted. Copies of datastores that were
  /// deleted elsewhere go; what was created elsewhere is in `listDatastores()` then. Contents are
  /// the business of each open datastore's `exchange()`.
  ///
  /// If nothing has changed it takes one request of the folder. Datastores of devices that never
  /// took part in the list, because their version knew none, are not found.
  ///
  /// If more datastores were deleted elsewhere at once than `Options.massDeleteLimit` says, they
  /// stay, and `heldDeletes` names them.
  ///
  /// - Parameter allowingMassDelete: Believe it however many they are.
  /// - Throws: `invalidOperation` for a local manager, `notFound` or `disallowed` if the folder is
  ///   empty or another one than before: nothing is deleted then; other errors of the folder.
  @discardableResult
  public func refresh(
    allowingMassDelete: Bool = false
  ) async throws(CairnError) -> CatalogueReport {
    try checkNotFollowing()
    guard let catalogue else { throw DatastoreManager.noFolderError }
    try checkUsable()
    do throws(CairnError) {
      return try await catalogue.run(self, allowingMassDelete: allowingMassDelete)
    } catch {
      // Shutting down cancels, and says more than that it was cancelled.
      if error.code == .cancelled { try checkUsable() }
      throw error
    }
  }

  /// Exchanges the list in the background from now on: at once, when the folder changes, and at
  /// intervals that grow while nothing happens. `onReport` is called after each round, on no
  /// particular thread. Ends with `stopExchanging()` or `shutDown()`.
  ///
  /// - Throws: `invalidOperation` for a local manager.
  public func startExchanging(
    onReport: @escaping @Sendable (Result<CatalogueReport, CairnError>) -> Void = { _ in }
  ) throws(CairnError) {
    try checkNotFollowing()
    guard let catalogue else { throw DatastoreManager.noFolderError }
    try checkUsable()
    try locked { state in
      if state.background != nil { return }
      state.background = BackgroundRounds(
        watching: catalogue.watchedDirectory, pollSeconds: options.pollSeconds
      ) { [weak self] in
        guard let self else { return .stop }
        do throws(CairnError) {
          let report = try await refresh()
          onReport(.success(report))
          return report.isIdle ? .idle : .moved
        } catch {
          if error.code == .shutdown { return .stop }
          if error.code == .cancelled, Task.isCancelled { return .stop }
          onReport(.failure(error))
          return .idle
        }
      }
    }
  }

  /// Ends what `startExchanging` began. A round that is under way ends by itself; requests of it to
  /// a server are cancelled.
  public func stopExchanging() {
    let background = state.withLock { state in
      defer { state.background = nil }
      return state.background
    }
    background?.stop()
  }

  private static let noFolderError = CairnError(
    .invalidOperation, "the manager has local datastores; there is no folder to exchange with")
}
