internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// The exchange of contents with the folder, beside that of deltas: each device publishes what its
/// own deltas name under its own name, before them, and fetches what its policy wants, after them.
final class BlobExchange: Sendable {
  let store: Store
  let home: BlobStore
  let folder: ObservedFolder
  /// The directory of the datastore's blobs in the folder.
  let directory: String
  /// Those of the datastores of this id that were deleted before: a copy that was restored from the
  /// trash may refer to contents that are only there.
  let older: [String]
  let options: Choice
  let tuning: Tuning
  /// What rounds fetch and publish here.
  let transfers: TransferJob
  let memory: Lock<Memory>
  /// Contents that are being fetched.
  let flights = Lock<[BlobReference: Flight]>([:])

  /// The number of whoever waited last for one.
  let lastWaiter = Lock<UInt64>(0)

  /// A content that is being fetched, and who waits for it.
  struct Flight: Sendable {
    /// What somebody who waits is told; nil: to begin anew.
    typealias Waiter = CheckedContinuation<Result<Void, CairnError>?, Never>

    let task: Task<Void, Never>
    /// Those who wait for the content, by number.
    var waiters: [UInt64: Waiter] = [:]
    /// All of them were cancelled, and it was told to end: the last one waits for that.
    var last: Waiter?
    /// Those who have come since begin anew after that: two must not write the same file.
    var late: [UInt64: Waiter] = [:]

    var waiting: Int { waiters.count }
  }

  /// What an app has chosen.
  struct Choice: Sendable {
    var policy = AttachmentPolicy.always
    var graceMilliseconds: Int64 = .max
    /// How long records stay in the trash; taken to be the same on all devices.
    var trashMilliseconds: Int64 = 0
    /// Whoever aborts a round waits for no more than the content that is under way.
    var endsEarly = false
  }

  /// A file in the folder.
  struct Copy: Hashable, Sendable {
    var device: UInt64
    var entry: FolderEntry
  }

  /// A content that the folder does not take, while it may take others.
  struct Untaken {
    /// Rounds that have ended with that.
    var tries = 0
    /// What the folder says; deltas do not wait for it any longer then.
    var problem: String?
    var retry = Retry(version: "")
    /// Whether this round tries it once more.
    var isDue = true
    /// Whether this round has tried it in vain.
    var isRefused = false
  }

  /// What rounds remember of one another; nothing here is needed for correctness.
  struct Memory {
    /// What the folder had when it was last listed; nil: it never was.
    var listing: [ContentHash: [Copy]]?
    /// Copies of what is wanted in the older directories, as this round has found them.
    var older: [String: [ContentHash: [Copy]]] = [:]
    /// It was listed in this round.
    var isFresh = false
    /// The next round has a reason to list it.
    var mustLook = false
    /// So has the next one that can write there: others have only fetched.
    var owesLook = false
    /// Rounds since it was listed.
    var quiet = 0
    /// Some record refers to something, for certain.
    var hasReferences = false
    /// Whether `known` has everything that records refer to.
    var isScanned = false
    /// How often something has come that a scan under way may not have seen.
    var arrivals: UInt64 = 0
    /// The contents that records refer to, and what is to be done about them.
    var known: [BlobReference: AttachmentPolicy.Fetch] = [:]
    /// Contents that are here and that the folder lacks: how many listings. nil: what an earlier
    /// process has counted was not asked for yet.
    var lost: [ContentHash: Int]?
    /// Contents that the disk here did not give when they were to be published: how often.
    var unread: [ContentHash: Int] = [:]
    /// Contents that the folder does not take.
    var untaken: [ContentHash: Untaken] = [:]
    /// Files whose bytes were wrong, by name.
    var refused: [String: Retry] = [:]
    /// When unused contents were last looked for; nil: nobody has asked yet.
    var collected: Int64?
    /// A follower's copy was put together anew, and nobody has looked since.
    var isRebuilt = false
    /// What would have gone from the folder then, had all devices been known to know.
    var asked: [ContentHash] = []
    /// Looks in a row that did not find what is wanted, and when there is another one.
    var absences = 0
    var absent = Retry(version: "")

    /// A round goes by without a look: copies that were refused wait for one less.
    mutating func passRound() {
      for name in Array(refused.keys) where refused[name]?.pass() == true { mustLook = true }
    }

    /// Something may be referred to that nobody has looked at.
    mutating func noteUnread() {
      (isScanned, mustLook) = (false, true)
      arrivals &+= 1
    }
  }

  init(
    store: Store, home: BlobStore, folder: ObservedFolder, directory: String,
    older: [String] = [], options: Choice, tuning: Tuning, transfers: TransferJob
  ) {
    self.store = store
    self.home = home
    self.folder = folder
    self.directory = directory
    self.older = older
    self.options = options
    self.tuning = tuning
    self.transfers = transfers
    var memory = Memory()
    memory.mustLook = home.isInUse
    self.memory = Lock(memory)
  }

  func checkOpen() throws(CairnError) {
    if let ending = store.ending { throw CairnError(ending) }
  }

  // MARK: the folder's listing

  /// A round begins: what was listed before is old.
  func beginRound() {
    memory.withLock { memory in
      memory.isFresh = false
      for (hash, var untaken) in memory.untaken {
        (untaken.isDue, untaken.isRefused) = (untaken.retry.isDue(), false)
        memory.untaken[hash] = untaken
      }
    }
  }

  /// Something went wrong in the middle: the next round looks again.
  func lookAgain() { memory.withLock { $0.mustLook = true } }

  /// Whether the folder had a whole copy when it was last listed; nil if it never was.
  func isInFolder(_ reference: BlobReference) -> Bool? {
    memory.withLock { memory in
      memory.listing.map { !BlobExchange.copies(of: reference, in: $0).isEmpty }
    }
  }

  /// Copies that have the right length, this device's first; also those whose length is not known
  /// as they are elsewhere.
  static func copies(
    of reference: BlobReference, in listing: [ContentHash: [Copy]]
  ) -> [Copy] {
    (listing[reference.hash] ?? []).filter { $0.entry.mayBe(size: reference.length) }
  }

  /// The listing of this round.
  func listing(
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> [ContentHash: [Copy]] {
    if let fresh = memory.withLock({ $0.isFresh ? $0.listing : nil }) { return fresh }
    report.requests += 1
    return try await list()
  }

  func list() async throws(CairnError) -> [ContentHash: [Copy]] {
    let found = try await list(directory)
    memory.withLock { memory in
      (memory.listing, memory.isFresh, memory.quiet) = (found, true, 0)
    }
    return found
  }

  /// The copies in a directory of the folder.
  func list(_ directory: String) async throws(CairnError) -> [ContentHash: [Copy]] {
    var listing: [ContentHash: [Copy]] = [:]
    for entry in try await folder.list(directory) {
      guard let (device, hash) = FileName.publishedBlob(entry.name) else { continue }
      listing[hash, default: []].append(Copy(device: device, entry: entry))
    }
    let own = store.device.rawValue
    func rank(_ copy: Copy) -> (Int, UInt64) { (copy.device == own ? 0 : 1, copy.device) }
    for hash in listing.keys { listing[hash]?.sort { rank($0) < rank($1) } }
    return listing
  }

  // MARK: what records refer to

  /// Looks at everything for what records refer to.
  @discardableResult
  func scan() throws(CairnError) -> BlobCollector.Reach {
    let before = memory.withLock { $0.arrivals }
    let collector = BlobCollector(store: store, home: home, grace: options.graceMilliseconds)
    let reach = try collector.reach()
    try home.noteUsed(reach.hashes)
    var known: [BlobReference: AttachmentPolicy.Fetch] = [:]
    for use in reach.uses { note(use, in: &known) }
    let found = known
    // Else what it replaces here may be lost: the next look scans again.
    memory.withLock { ($0.known, $0.isScanned) = (found, $0.arrivals == before) }
    if !found.isEmpty, !home.isInUse { try home.begin() }
    return reach
  }

  private func note(
    _ use: AttachmentUse, in known: inout [BlobReference: AttachmentPolicy.Fetch]
  ) {
    guard use.id.reference.isReadable else { return }
    let answer = options.policy.fetch(use)
    let content = use.id.reference.content
    known[content] = known[content]?.merged(with: answer) ?? answer
  }

  /// Attached here. If a record has it already, no delta may come that names it: the next round
  /// puts it into the folder under this device's name all the same.
  func noteAttached(_ reference: BlobReference) {
    memory.withLock { memory in
      if !memory.isScanned || memory.known[reference] != nil { memory.mustLook = true }
    }
  }

  /// Before deltas are incorporated: what they name is in use. A device that heard of one of them
  /// may have copied the reference, so whoever is asked whether it knows that a content is unused
  /// has to know these deltas, too.
  func willIncorporate(_ packs: [[UInt8]]) throws(CairnError) {
    // Before the first ones: it tells the next process that contents are wanted.
    if !home.isInUse { try home.begin() }
    for pack in packs { try home.noteUsed(BlobReference.all(in: pack).map(\.hash)) }
  }

  /// Deltas with references among their values have changed these records. What can't be read now
  /// is looked for in the next round.
  func note(_ changed: [SyncOutcome.Changed]) {
    do throws(CairnError) { try take(changed) } catch {
      memory.withLock { $0.noteUnread() }
    }
  }

  private func take(_ changed: [SyncOutcome.Changed]) throws(CairnError) {
    if !home.isInUse { try home.begin() }
    guard memory.withLock({ $0.isScanned }) else {
      memory.withLock { memory in
        (memory.mustLook, memory.hasReferences) = (true, true)
        memory.arrivals &+= 1
      }
      return
    }
    var known: [BlobReference: AttachmentPolicy.Fetch] = [:]
    for record in changed where !record.isDeleted {
      let found = try wrapped { () throws(StoreError) in
        try store.values(
          beginningWith: BlobReference.magic, table: record.table, id: record.id)
      }
      for use in found.compactMap(AttachmentUse.init) { note(use, in: &known) }
    }
    let found = known
    memory.withLock { memory in
      memory.mustLook = true
      memory.arrivals &+= 1
      memory.known.merge(found) { $0.merged(with: $1) }
    }
  }

  /// The state came as a whole: whether it refers to anything is looked for if the folder has any
  /// contents, in the next round, or in that of a later process.
  func noteWhole() {
    do throws(CairnError) {
      try home.begin()
      try home.noteAllUsed()
    } catch {
      // This process looks all the same.
    }
    memory.withLock { $0.noteUnread() }
  }

  // MARK: publishing

  /// Before a pack of own deltas goes out: what it names has to be there. A content that is not
  /// here came with a delta of some device that has published it.
  func publish(_ pack: [UInt8], _ report: inout ExchangeReport) async throws(CairnError) {
    guard home.isInUse else { return }
    let references = BlobReference.all(in: pack)
    try home.noteUsed(references.map(\.hash))
    for reference in references.map(\.content) {
      let file = try home.find(reference)
      memory.withLock { memory in
        guard memory.known[reference] == nil else { return }
        memory.known[reference] = .onDemand
        memory.arrivals &+= 1
        // What the policy says of one that is not here takes a look at its record.
        if file == nil { memory.noteUnread() }
      }
      if let file {
        try await publish(reference, file, &report)
      } else if isInFolder(reference) != true,
        BlobExchange.copies(of: reference, in: try await listing(&report)).isEmpty
      {
        // No reason for deltas to wait: nobody here could mend it by waiting.
        report.problems.append(
          ExchangeReport.Problem(
            name: AttachmentID(reference).description,
            reason: "a record refers to this attachment, and its content is neither here nor in "
              + "the folder; a device that has it puts it there"))
      }
    }
  }

  private func publish(
    _ reference: BlobReference, _ file: BlobStore.File, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let copies = BlobExchange.copies(of: reference, in: try await listing(&report))
    if copies.contains(where: { $0.device == store.device.rawValue }) {
      return try home.notePublished(file)
    }
    guard file.isOwn || copies.isEmpty, !isPostponed(reference, &report) else { return }
    // Whether a folder that has refused so many takes anything is seen by the deltas.
    if isDoubtful { return lookAgain() }
    do throws(CairnError) { try await upload(reference, file, &report) } catch {
      if isWaited(reference.hash, error) { throw error }
      if error.code != .sizeLimit {
        // Not with a server that is out of order, or a log-in page before it.
        report.requests += 1
        _ = try await list()
      }
      postpone(reference, error, &report)
    }
  }

  /// Whether this round has had so many contents refused that the folder may take none.
  var isDoubtful: Bool {
    memory.withLock { memory in
      memory.untaken.values.count { $0.isRefused && $0.tries > 0 } >= BlobExchange.refusalsMax
    }
  }

  /// A content was refused. Returns whether deltas wait for it: where the folder takes none as
  /// large they don't, and with what may be this file's only for a while; nobody here could mend
  /// it. All else is the folder's.
  func isWaited(_ hash: ContentHash, _ error: CairnError) -> Bool {
    if error.code == .sizeLimit { return false }
    guard Exchange.mayBeOfOne(error), error.code != .retryLater else { return true }
    return memory.withLock { memory in
      memory.untaken[hash, default: Untaken()].tries += 1
      // Waited for once, not for each.
      return (memory.untaken.values.map(\.tries).max() ?? 0) < Exchange.patience
    }
  }

  /// It follows once the folder takes it, and is tried ever more seldom until then.
  func postpone(
    _ reference: BlobReference, _ error: CairnError, _ report: inout ExchangeReport
  ) {
    memory.withLock { memory in
      var untaken = memory.untaken[reference.hash] ?? Untaken()
      untaken.problem = error.message
      untaken.retry.fail(most: BlobExchange.fullRoundsMax)
      (untaken.isDue, untaken.isRefused) = (false, true)
      memory.untaken[reference.hash] = untaken
    }
    _ = isPostponed(reference, &report)
  }

  /// Whether a content that the folder does not take is not tried now, which is a problem in each
  /// round. `isUrgent`: it is tried once in any case.
  func isPostponed(
    _ reference: BlobReference, isUrgent: Bool = false, _ report: inout ExchangeReport
  ) -> Bool {
    let problem: String? = memory.withLock { memory in
      guard let untaken = memory.untaken[reference.hash] else { return nil }
      if !untaken.isRefused, untaken.isDue || isUrgent { return nil }
      if untaken.problem != nil { memory.mustLook = true }
      return untaken.problem
    }
    guard let problem else { return false }
    let name = AttachmentID(reference).description
    if !report.problems.contains(where: { $0.name == name }) {
      report.problems.append(ExchangeReport.Problem(name: name, reason: problem))
    }
    return true
  }

  /// Writes a content into the folder under this device's name. One that turns out to be damaged
  /// here never gets there, nor one that the disk goes on not to give: that is a problem in the
  /// report, and no reason for deltas to wait, since nobody could mend it by waiting.
  func upload(
    _ reference: BlobReference, _ file: BlobStore.File, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    try checkOpen()
    let name = FileName.publishedBlob(device: store.device.rawValue, reference.hash)
    let source: BlobSource
    do throws(CairnError) { source = try BlobSource(home, file, reference) } catch {
      return try noteUnsent(reference.hash, name, error, &report)
    }
    let entry: FolderEntry
    let told = ToldSource(source, transfers)
    report.requests += 1
    transfers.planPublish(files: 1, bytes: reference.length)
    do throws(CairnError) {
      entry = try await folder.write(directory + "/" + name, from: told)
    } catch {
      // Else it is the folder's, whatever its code.
      guard let failure = source.failure else { throw error }
      return try noteUnsent(reference.hash, name, failure, &report)
    }
    guard entry.size == reference.length else {
      throw CairnError(
        .response, "the folder kept \(entry.size) of \(reference.length) bytes of \(name)",
        file: name)
    }
    transfers.notePublished(files: 1, bytes: reference.length - told.reach)
    try checkOpen()
    report.publishedAttachments += 1
    report.publishedAttachmentBytes += reference.length
    let copy = Copy(device: store.device.rawValue, entry: entry)
    memory.withLock { memory in
      memory.unread[reference.hash] = nil
      memory.untaken[reference.hash] = nil
      memory.listing?[reference.hash, default: []].removeAll { $0.device == copy.device }
      memory.listing?[reference.hash, default: []].insert(copy, at: 0)
    }
    try home.notePublished(file)
  }

  /// What has gone wrong here with a content on its way: a problem, or else thrown. What the disk
  /// does not give now it may give in a moment: that is waited for first. Without the content
  /// records come to the others all the same, and it follows once it can be read.
  private func noteUnsent(
    _ hash: ContentHash, _ name: String, _ failure: CairnError, _ report: inout ExchangeReport
  ) throws(CairnError) {
    switch failure.code {
    // Put aside since it was found, or now; or found to be unused.
    case .notFound, .corrupt: break
    case .fileIO, .readOnly:
      // Waited for once, not for each: there may be any number that a disk does not give.
      let tries = memory.withLock { memory in
        memory.unread[hash, default: 0] += 1
        memory.mustLook = true
        return memory.unread.values.max() ?? 0
      }
      if tries < Exchange.patience { throw failure }
    default: throw failure
    }
    // It is tried once more at the end of the round, and of the next ones.
    if report.problems.contains(where: { $0.name == name }) { return }
    report.problems.append(ExchangeReport.Problem(name: name, reason: failure.message))
  }
}
