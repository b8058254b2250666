internal import CairnDisk
internal import Synchronization

extension DatastoreManager {
  /// Exchanges the list of datastores with the account's folder once: says what this device has
  /// and deleted, and hears what the others have and deleted. Copies of datastores that were
  /// deleted elsewhere go; what was created elsewhere is in `listDatastores()` then. Contents are
  /// the business of each open datastore's `exchange()`.
  ///
  /// If nothing has changed it takes one request of the folder, now and then two. Datastores of
  /// devices that never took part in the list, because their version knew none, are not found.
  ///
  /// If more datastores were deleted elsewhere at once than `Options.massDeleteLimit` says, they
  /// stay, and `heldDeletes` names them.
  ///
  /// - Parameter allowingMassDelete: Believe it however many they are.
  /// - Throws: `invalidOperation` for a local manager, `notFound` or `disallowed` if the folder is
  ///   empty or another one than before: nothing is deleted then; `sizeLimit` if the list would be
  ///   longer than others read (16 MiB): it is not written then; other errors of the folder.
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
  /// intervals that grow while nothing happens. That it has changed is seen where a datastore's
  /// `startExchanging` sees it. Ends with `stopExchanging()` or `shutDown()`.
  ///
  /// - Parameter onReport: Called after each round, on no particular thread. If the list is
  ///   exchanged in the background already, this one takes the place of the one before; without one
  ///   that goes on being called.
  /// - Throws: `invalidOperation` for a local manager.
  public func startExchanging(
    onReport: (@Sendable (Result<CatalogueReport, CairnError>) -> Void)? = nil
  ) throws(CairnError) {
    try checkNotFollowing()
    guard let catalogue else { throw DatastoreManager.noFolderError }
    try checkUsable()
    let earlier = try locked { state -> ReportHandler<CatalogueReport>? in
      if state.background != nil { return state.reports }
      let reports = ReportHandler(onReport)
      state.reports = reports
      state.background = backgroundRounds(catalogue, reports)
      return nil
    }
    earlier?.replace(with: onReport)
  }

  private func backgroundRounds(
    _ catalogue: CatalogueExchange, _ reports: ReportHandler<CatalogueReport>
  ) -> BackgroundRounds {
    BackgroundRounds(
      watching: catalogue.watchedDirectory, pollSeconds: options.pollSeconds
    ) { [weak self] in
      guard let self else { return .stop }
      do throws(CairnError) {
        let report = try await refresh()
        reports.tell(.success(report))
        return report.isIdle ? .idle : .moved
      } catch {
        // A server's credentials may say that something else was shut down.
        if error.code == .shutdown, isShutDown { return .stop }
        if error.code == .cancelled, Task.isCancelled { return .stop }
        reports.tell(.failure(error))
        return .idle
      }
    }
  }

  /// Ends what `startExchanging` began. A round that is under way ends by itself; requests of it to
  /// a server are cancelled.
  public func stopExchanging() {
    // What the handler holds goes after this, not under the lock.
    let (background, _) = state.withLock { state in
      defer { (state.background, state.reports) = (nil, nil) }
      return (state.background, state.reports)
    }
    background?.stop()
  }

  private static let noFolderError = CairnError(
    .invalidOperation, "the manager has local datastores; there is no folder to exchange with")
}
