internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// The exchange of one datastore with its folder. One round at a time; what a round fetched waits
/// in the inbox until `sync` takes it.
final class Exchange: Sendable {
  let store: Store
  let datastoreID: String
  /// The datastore's directory in the folder.
  let directory: String
  let user: String
  let folder: ObservedFolder
  let condition = ExchangeCondition()
  let graceMilliseconds: Int64
  let tuning: Tuning
  /// What other devices may delete at once; nil: anything.
  let massDeleteLimit: MassDeleteLimit?
  let machine: Machine
  let quarantine: Quarantine
  let inbox: Lock<Inbox>
  /// The contents of attachments; nil for a store that is only put together.
  let blobs: BlobExchange?
  /// What is followed here; nil for a datastore that this device takes part in.
  let following: FollowedSource?
  /// Whoever aborts it waits for no more than the request that is under way.
  let endsEarly: Bool
  private let turn = ExchangeTurn()
  /// One sync at a time, but for those that only commit: what one has read, another could else make
  /// part of a history that has lost.
  let syncing = NestedLock()
  /// What rounds fetch and publish.
  let transfers: TransferJob
  /// A snapshot of which a part was fetched.
  let download = Lock<SnapshotDownload?>(nil)
  let memory: Lock<Memory>
  /// Whether the store is being put together anew.
  let rejoining = Lock(RejoinPhase.none)

  /// What rounds remember of one another; nothing here is needed for correctness.
  struct Memory {
    /// Heads by device, as they were last read.
    var heads: [DeviceID: Head] = [:] { didSet { headChanges += 1 } }
    /// In a fixed order, so that the same folder leads to the same decisions.
    var sortedHeads: [Head] { heads.values.sorted { $0.device < $1.device } }
    /// Versions of the files that were read, by name: what has not changed is not read again.
    var versions: [String: String] = [:]
    /// When heads are read again whose file is another one and says nothing that is newer, by name:
    /// a server may list a new file and still give the old one.
    var doubts: [String: Retry] = [:]
    /// Verdicts on files that are none of ours, by name and version.
    var foreign: [String: (version: String, problem: String?)] = [:]
    /// Files that are listed and that the folder does not give, by name.
    var withheld: [String: Withheld] = [:]
    /// Heads that are listed and that were not to be had, or could not be read, when they were last
    /// asked for, by name, and why.
    var unreadHeads: [String: String] = [:]
    /// Files that only a newer version can read, by name: in which version of them.
    var newer: [String: (version: String, problem: String)] = [:]
    /// Reads of this round that ended like that, one after the other.
    var refusals = 0
    /// When those that are bad, withheld or newer are read again, by name.
    var retries: [String: Retry] = [:]
    /// Whether it is time for that in this round, by name, as far as that was asked.
    var due: [String: Bool] = [:]
    /// Heads that are not wholly there, by name: in which version, and for how many rounds.
    var halves: [String: (version: String, rounds: Int)] = [:]
    /// What is known of what each device has published, and as it was last saved.
    var histories = Histories()
    var savedHistories = Histories()
    /// Devices of which the folder has another history than the store.
    var forked: Set<DeviceID> = []
    /// Contents of snapshots that were what their heads say, and could not be used all the same.
    var refusedSnapshots: [UInt128: String] = [:]
    /// Contents of snapshots against which something stood that may pass, and what was here then.
    var heldSnapshots: [UInt128: VersionVector] = [:]
    /// When it is worth a try to fetch a snapshot, and what stood against taking in the last one:
    /// there may be no room here for what comes of it.
    var takeIns = Retry(version: "")
    var takeInProblem: String?
    /// The same of deltas, for which there was no room here as they came.
    var arrivals = Retry(version: "")
    var arrivalProblem: String?
    /// Files that heads name and that no listing has had since, by name: how many listings.
    var unseen: [String: Int] = [:]
    /// No listing of this process was looked at for that yet.
    var isFirstLook = true
    /// Snapshots of which something is needed that can't be had otherwise, by name: for how many
    /// rounds.
    var needed: [String: Int] = [:]
    /// For how many rounds no snapshot was fetched, as it may be of another history.
    var unproven = 0
    /// When it is worth a try to remove something: a folder may refuse that.
    var removals = Retry(version: "")
    /// The file of which it was refused last.
    var refusedRemoval: String?
    /// When it is worth a try to merge small files: there may be no room for that.
    var merges = Retry(version: "")
    /// When own files that were not to be had for that are read again, by name.
    var unmerged: [String: Retry] = [:]
    /// Own small files that have as much, unpacked, as a merged one gets, by name.
    var full: Set<String> = []
    /// How large a merged one may become.
    var mergeBound = MergeBound()
    /// When it is worth a try to give the folder back what it has lost.
    var mends = Retry(version: "")
    /// What is known of own files that are there, and of which the head says that they are lost.
    var strays = Strays()
    /// When a store is put together once more because a snapshot is there to begin with.
    var foundings = Retry(version: "")
    /// Looks at a directory without files, of a device without a head.
    var emptyLooks = Retry(version: "")
    /// Contents of snapshots that this process has written, by name.
    var sent: [String: UInt128] = [:]
    /// Those under whose name the folder has something else, or what no budget lets compare.
    var unlike: Set<UInt128> = []
    /// When one that could not be read for that is compared again.
    var comparisons = Retry(version: "")
    /// The smallest snapshot too large for the folder, in bytes, and what the last one had.
    var unwritable = UInt64.max
    var unwritableVector: VersionVector?
    /// When it is worth a try to publish a snapshot: there may be no room for it.
    var snapshots = Retry(version: "")
    /// The same of one that the folder lacks, and that a server found too large.
    var largeSnapshots = Retry(version: "")
    /// The own snapshot, and what its bytes were when it was last to be published.
    var hashed: HashedFile?
    var folderIdentity: UInt128?
    /// That of the folder which this process has found last, whether it is still sure of that.
    var metIdentity: UInt128?
    /// The last listing of which it was asked whether it is still that folder's.
    var doubted: FolderListing?
    var identityAttempt = IdentityAttempt()
    var publication: PublicationFile?
    var own: Head { didSet { headChanges += 1 } }
    /// How often one of all these heads was set.
    private(set) var headChanges = 0
    /// What the folder had last.
    var listing: FolderListing?
    /// The last round has found nothing amiss in it: see `listFolder`.
    var isQuiet = false
    /// All that heads name was there.
    var complete: Finding?
    /// The own head named all own files that were there.
    var tidy: Finding?
    /// Others go on without what only this device has, from this cut on.
    var cutOff: Cut?
    /// A sync has looked at what waits.
    var hasJudged = false
    /// What syncs have done that failed then.
    var untold: [SyncOutcome] = []
    /// The last sync has failed, and nobody was told since that there is something for one.
    var mustTellAgain = false
    /// So has the first round.
    var hasLooked = false
    /// How far the own sums had come where others do not go on, as far as that was found out.
    var common: CommonBranch?
    /// A store that is put together stands on a snapshot that has this cut.
    var foundation: Cut?
    /// The own head in the folder was found to be what we wrote.
    var isOwnVerified = false
    /// This process has published under it: nobody has put an older copy of this device here since.
    var isNameSure = false
    /// What else there is under our name.
    var past = OwnPast()
    /// It is an older one, or damaged.
    var mustRewriteHead = false
    /// Whether the round that is under way may write into the folder at all, …
    var mayPublish = true
    /// … and whether somebody wants to have mended now what is lost.
    var isThorough = false
  }

  init(
    store: Store, datastoreID: String, directory: String, user: String, folder: any Folder,
    graceMilliseconds: Int64, massDeleteLimit: MassDeleteLimit? = MassDeleteLimit(),
    tuning: Tuning, machine: Machine, quarantine: Quarantine? = nil,
    blobs: (home: BlobStore, options: BlobExchange.Choice)? = nil,
    following: FollowedSource? = nil, endsEarly: Bool = false,
    transfers: TransferJob = TransferJob(TransferGauge())
  ) throws(CairnError) {
    self.store = store
    self.transfers = transfers
    self.following = following
    self.endsEarly = endsEarly || following != nil
    self.datastoreID = datastoreID
    self.directory = directory
    self.user = user
    let observed = ObservedFolder(base: folder, condition: condition)
    self.folder = observed
    self.blobs = blobs.map {
      BlobExchange(
        store: store, home: $0.home, folder: observed,
        directory: FileName.blobDirectory(directory),
        older: FileName.olderGenerations(of: directory).map(FileName.blobDirectory),
        options: $0.options, tuning: tuning, transfers: transfers)
    }
    self.graceMilliseconds = graceMilliseconds
    self.tuning = tuning
    self.massDeleteLimit = massDeleteLimit
    self.machine = machine
    let kept =
      quarantine
      ?? Quarantine(directory: store.directory + "/" + FileName.quarantine, machine: machine)
    self.quarantine = kept.beside(store)
    do throws(LogError) {
      var inbox = try Inbox(directory: store.directory + "/" + FileName.inbox, machine: machine)
      inbox.whileHeld = { [store] make throws(LogError) in try store.whileHeld(make) }
      self.inbox = Lock(inbox)
      var memory = Memory(own: Head(datastore: store.datastore, device: store.device))
      let path = store.directory + "/" + FileName.publication
      if let bytes = try DurableFile.read(path, limit: Head.bytesMax * 2, disk: machine.disk) {
        let publication = try PublicationFile(bytes, path: path)
        let own =
          publication.head.isEmpty
          ? memory.own : try Head(publication.head, name: path, datastore: store.datastore)
        // One of another device, which was here before this one, says nothing of this one.
        if own.device == store.device { (memory.publication, memory.own) = (publication, own) }
      }
      let saved = Exchange.readHistories(store.directory, machine)
      memory.take(saved, as: self.inbox.withLock { $0.histories(saved, of: store) })
      Exchange.disownIfShorter(&memory, store)
      self.memory = Lock(memory)
    } catch { throw CairnError(error) }
    // What was fetched by a process that has ended: no other one goes on with it.
    machine.disk.sweepTemporaries(store.directory + "/" + FileName.snapshots)
    Staging.removeLeftovers(of: store, isWanted: following?.mustRebuild ?? false, machine)
    // Another's has somebody else who uses it.
    if quarantine == nil { self.quarantine.sweep() }
    // What was to be published may not have arrived: only a head that was read back confirms it.
    if let publication = memory.withLock({ $0.publication }) {
      if publication.pendingNonce == publication.confirmedNonce, publication.confirmedNonce != 0 {
        store.confirmPublished(through: memory.withLock { $0.own.last })
      }
      // What an earlier process has seen is not known: nothing goes before the first look.
      store.noteLacking(from: 1)
    }
    if store.hasRejoined { store.dropOutboxes() }
    observed.onStall { [transfers] in transfers.gauge.noteStalled($0) }
    saveHistoriesOfAnother()
    noteInbox()
  }

  /// One round, after those that were asked for before. `publishes`: otherwise it looks and
  /// fetches only.
  func run(publishes: Bool = true) async throws(CairnError) -> ExchangeReport {
    try await run { () async throws(CairnError) in
      var audit: FolderRepair?
      return try await self.round(&audit, publishes: publishes).report
    }
  }

  /// One round that looks into every file which the own head names, and mends what is missing or
  /// damaged. `dryRun`: it looks, and that is all.
  func repair(dryRun: Bool = false) async throws(CairnError) -> FolderRepair {
    try await run { () async throws(CairnError) in
      var audit: FolderRepair? = FolderRepair()
      let report = try await self.round(&audit, publishes: !dryRun).report
      var result = audit ?? FolderRepair()
      result.exchange = report
      return result
    }
  }

  func run<R: Sendable>(
    _ body: @escaping @Sendable () async throws(CairnError) -> R
  ) async throws(CairnError) -> R {
    condition.update { $0.rounds += 1 }
    defer { condition.update { $0.rounds -= 1 } }
    let result = await turn.run { () async -> Result<R, CairnError> in
      do throws(CairnError) { return .success(try await body()) } catch {
        return .failure(error)
      }
    }
    // Closing cancels, and says more than that it was cancelled.
    if case .failure(let error) = result, error.code == .cancelled { try checkOpen() }
    return try result.get()
  }

  /// Ends what goes on with the folder: nobody waits for it any more.
  func cancel() {
    turn.cancel()
    blobs?.cancel()
  }

  /// A store that was closed since answers everything as an empty one would: to be asked after
  /// each wait for the folder, before anything is judged by what the store says, or written.
  func checkOpen() throws(CairnError) {
    guard var ending = store.ending else { return }
    ending.id = datastoreID
    throw CairnError(ending)
  }

  /// `collection` is nil if it did not come to looking for unused contents, whoever asked.
  func round(
    _ audit: inout FolderRepair?, _ request: BlobExchange.Request = BlobExchange.Request(),
    publishes: Bool = true
  ) async throws(CairnError) -> (report: ExchangeReport, collection: AttachmentCollection?) {
    try checkOpen()
    blobs?.beginRound()
    noteBegun(publishes: publishes, isThorough: audit != nil)
    var report = ExchangeReport()
    let before = folder.traffic
    // A sync is about to make the store another one: the next round looks at that.
    guard pauseRejoining() else {
      report.isRejoining = true
      audit?.problems.append("nothing was looked into: a sync is making the datastore another one")
      return (report, nil)
    }
    transfers.begin()
    defer { endRound() }
    let found: Found
    do throws(CairnError) { found = try await fetch(&report) } catch {
      resumeRejoining()
      condition.noteFetchFailed(error)
      if publishes, following == nil { await makeRoom(error, request, nil, &report) }
      throw error
    }
    defer { if report.isRejoining { resumeRejoining() } }
    if let failure = found.failure { await makeRoom(failure, request, nil, &report) }
    try checkOpen()
    noteFetched(found.failure, report)
    noteUnseen(found.listing)
    noteCuts(&report)
    if following != nil {
      condition.notePublished()
      // It writes nothing there, and contents may take long.
      if report.isRejoining { resumeRejoining() }
      try await fetchFollowedBlobs(&report)
      complete(&report, since: before)
      return (report, nil)
    }
    if !publishes {
      try await self.audit(found.listing.byName, &audit, &report)
      complete(&report, since: before)
      return (report, nil)
    }
    do throws(CairnError) {
      try await self.audit(found.listing.byName, &audit, &report)
      switch found.publishing {
      case .all: try await publish(found.listing, &audit, &report)
      case .mends: try await publish(found.listing, onlyMends: true, &audit, &report)
      case .nothing: noteUnmended(&audit, report)
      }
    } catch {
      condition.notePublishFailed(error)
      if found.publishing == .all {
        await makeRoom(error, request, found.listing, &report)
        await fetchBlobs(despite: error, &report)
      }
      throw error
    }
    condition.notePublished()
    if let failure = found.failure { throw failure }
    var collection: AttachmentCollection?
    if found.publishing == .all {
      collection = try await settleBlobs(request, found.listing, &audit, &report)
    }
    complete(&report, since: before)
    return (report, collection)
  }

  private func endRound() {
    transfers.end()
    saveHistories()
    tellAgain()
  }

  private func noteFetched(_ failure: CairnError?, _ report: ExchangeReport) {
    guard let failure else {
      return condition.noteFetched(isWaiting: !report.waiting.isEmpty)
    }
    condition.update { $0.downloadError = failure }
  }

  private func noteBegun(publishes: Bool, isThorough: Bool) {
    memory.withLock { memory in
      // What is remembered of the own head may be of one that the folder has lost since.
      if isThorough { (memory.isOwnVerified, memory.isQuiet) = (false, false) }
      (memory.mayPublish, memory.isThorough) = (publishes, isThorough)
    }
  }

  private func complete(_ report: inout ExchangeReport, since before: FolderTraffic?) {
    noteBlocked(&report)
    noteQuiet(report)
    report.traffic = folder.traffic.map { $0.since(before ?? FolderTraffic()) }
    report.devices = memory.withLock { memory in
      memory.heads.count + (memory.own.generation > 0 ? 1 : 0)
    }
  }

  /// Fetches what there is and publishes nothing: for a store that is only being put together.
  func fetchOnly() async throws(CairnError) -> ExchangeReport {
    try checkOpen()
    transfers.begin()
    defer { transfers.end() }
    var report = ExchangeReport()
    let found = try await fetch(&report)
    if report.isRejoining { resumeRejoining() }
    if let failure = found.failure { throw failure }
    return report
  }

  /// What a round found, and what it may publish after that.
  private struct Found {
    enum Publishing { case all, mends, nothing }
    var listing: FolderListing
    var publishing = Publishing.all
    /// Why not all was fetched, if the round is to end with that.
    var failure: CairnError?
  }

  /// Looks at everything in the datastore's directory, and fetches what is new.
  private func fetch(_ report: inout ExchangeReport) async throws(CairnError) -> Found {
    beginAsking()
    let wasKnown = memory.withLock { $0.folderIdentity != nil }
    try await checkFolder(&report)
    report.requests += 1
    let entries = try await listFolder()
    let sorted = memory.withLock { $0.listing(of: entries) }
    let listing = sorted.byName
    let mayBeOther = following == nil ? mayBeAnother(sorted) : isHeadMissing(listing)
    if wasKnown, isOwnHeadMissing(listing) || mayBeOther {
      // Before it is written again: is this still the folder that it was written to?
      memory.withLock { $0.folderIdentity = nil }
      try await checkFolder(&report)
      if following != nil { forgetMissingHeads(listing) }
    }
    try await readHeads(sorted.heads, &report)
    try checkOpen()
    learnWords()
    // Who only follows has none, whoever put one there.
    let own = following == nil ? try await checkOwnHead(listing, &report) : .ours
    try await lookAtForeignFiles(sorted, &report)
    if case .unsettled = own { return Found(listing: sorted, publishing: .nothing) }
    if case .lost(let head, let reason) = own {
      try await stage(.identity(head, reason: reason), entries, listing, &report)
      return Found(listing: sorted, publishing: .nothing)
    }
    let mustRebuild = following?.mustRebuild ?? false
    try judgeInbox()
    if memory.withLock({ $0.forked.isEmpty }), !mustRebuild {
      if memory.withLock({ $0.cutOff == nil }) { stopRejoining() }
      try await fetchSnapshot(listing, &report)
      do throws(CairnError) { try await fetchSegments(listing, &report) } catch {
        guard case .ours = own, maySend(despite: error) else { throw error }
        return Found(listing: sorted, failure: error)
      }
    }
    if memory.withLock({ $0.forked.isEmpty }), !mustRebuild {
      if case .unseen = own { return Found(listing: sorted, publishing: .nothing) }
      guard let cut = memory.withLock({ $0.cutOff }) else { return Found(listing: sorted) }
      try await stage(.cutOff(cut), entries, listing, &report)
      return Found(listing: sorted, publishing: .mends)
    }
    let isOwnSeen = if case .unseen = own { false } else { true }
    try await stage(.fork(isOwnSeen: isOwnSeen), entries, listing, &report)
    // Nor is an own head written over that can't be told just now.
    return Found(listing: sorted, publishing: isOwnSeen ? .mends : .nothing)
  }

  /// After a round that had all that heads name, whole, and nothing to say of any file, what never
  /// changes need not be looked at again each time. Until one has ended like that again it is.
  private func listFolder() async throws(CairnError) -> [FolderEntry] {
    let isQuiet = memory.withLock { memory in
      defer { memory.isQuiet = false }
      return memory.isQuiet
    }
    return isQuiet ? try await folder.listBriefly(directory) : try await folder.list(directory)
  }

  private func noteQuiet(_ report: ExchangeReport) {
    let hasNothing = report.isIdle && report.problems.isEmpty && !report.isRejoining
    memory.withLock { memory in
      guard hasNothing, let listing = memory.listing, let complete = memory.complete else { return }
      memory.isQuiet = complete.isOf(listing, memory)
    }
  }

  private func isOwnHeadMissing(_ listing: [String: FolderEntry]) -> Bool {
    memory.withLock { $0.own.generation > 0 }
      && listing[FileName.head(device: store.device.rawValue)] == nil
  }
}
