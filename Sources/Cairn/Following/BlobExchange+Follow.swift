internal import CairnDisk
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// The contents of a datastore that is only followed.
extension BlobExchange {
  /// Fetches what the policy wants, and once a day removes what nothing has referred to for the
  /// grace. Nothing is given to the folder. Costs a listing if there is a reason, else nothing.
  func follow(_ report: inout ExchangeReport) async throws(CairnError) {
    guard home.isInUse || memory.withLock({ $0.mustLook }) else { return }
    if isCollectionDue(), try !home.list().isEmpty {
      let collector = BlobCollector(store: store, home: home, grace: options.graceMilliseconds)
      _ = try collector.collectHere()
      memory.withLock { $0.collected = home.machine.clock.now() }
    }
    let mustLook = memory.withLock { memory in
      memory.quiet += 1
      let isMissed = memory.absences > 0 && memory.absent.isDue()
      return memory.mustLook || isMissed || memory.quiet > tuning.blobQuietRounds
    }
    guard mustLook else { return }
    memory.withLock { $0.mustLook = false }
    if !memory.withLock({ $0.isScanned }) { try scan() }
    if memory.withLock({ $0.known.isEmpty }) { return }
    let listing = try await listing(&report)
    try await fetchWanted(listing, here: try whatIsHere(&report), &report)
  }
}
