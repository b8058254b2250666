internal import CairnDisk
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// The contents of a datastore that is only followed.
extension BlobExchange {
  /// Fetches what the policy wants, and once a day removes what nothing has referred to for the
  /// grace; after another choice of tables, at once. Nothing is given to the folder. Costs a
  /// listing if there is a reason, else nothing.
  func follow(_ report: inout ExchangeReport) async throws(CairnError) {
    guard home.isInUse || memory.withLock({ $0.mustLook }) else { return }
    // Taken, so that a switch that comes meanwhile is not forgotten.
    let isRebuilt = memory.withLock { memory in
      let isRebuilt = memory.isRebuilt
      memory.isRebuilt = false
      return isRebuilt
    }
    var failure: CairnError?
    do throws(CairnError) { try collect(all: isRebuilt) } catch {
      if isRebuilt { noteRebuilt() }
      if ExchangeCondition.saysNothing(error) { throw error }
      failure = error
    }
    // What can't be removed keeps nothing from coming.
    try await fetchIfDue(owesLook: false, &report)
    if let failure { throw failure }
  }

  /// Removes what nothing refers to: all of it, or, if it is time, what the grace is over for.
  private func collect(all: Bool) throws(CairnError) {
    guard all || isCollectionDue(), try !home.list().isEmpty else { return }
    let grace = all ? 0 : options.graceMilliseconds
    // First: what fails is tried again in a day, and not in each round. And what goes is not to be
    // fetched again.
    memory.withLock { ($0.collected, $0.isScanned) = (home.machine.clock.now(), false) }
    _ = try BlobCollector(store: store, home: home, grace: grace).collectHere()
  }

  /// The copy has other tables now: what only the old ones needed may go.
  func noteRebuilt() { memory.withLock { $0.isRebuilt = true } }
}
