internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// What all devices have told of themselves.
struct BlobWitnesses: Sendable {
  /// Every head that the folder has was read, and none is old or another history's.
  var isComplete = false
  /// The other devices' heads, but for those of devices that were left out for good.
  var heads: [Head] = []
  /// Own deltas up to here are published.
  var published: UInt64 = 0

  /// Whether every device knows all that was known in an earlier state, and everything that it has
  /// told is known now. Whatever a device does after that, it does in a state that has
  /// all of the earlier one.
  func know(_ vector: VersionVector, device: DeviceID, now: VersionVector) -> Bool {
    isComplete && published >= vector[device]
      && heads.allSatisfy { head in
        head.last >= head.acknowledgedAt && head.last <= now[head.device]
          && head.acknowledged.covers(vector)
      }
  }
}

/// At the end of a round.
extension BlobExchange {
  /// What a round is asked for besides.
  struct Request: Sendable {
    /// Look for unused contents now; nil inside: with the grace that the options say.
    var collect: Int64??
  }

  /// Puts back what the folder has lost, fetches what is wanted, and once a day looks for what is
  /// unused. Costs a listing if there is a reason, and nothing otherwise.
  func settle(
    _ request: Request, _ witnesses: BlobWitnesses, _ audit: inout FolderRepair?,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> AttachmentCollection {
    guard home.isInUse || memory.withLock({ $0.mustLook || $0.owesLook }) else {
      return AttachmentCollection()
    }
    let isAnswered = noteAcknowledged(witnesses)
    let isDue = request.collect != nil || isAnswered || isCollectionDue()
    let mustLook = memory.withLock { memory in
      memory.quiet += 1
      let isMissed = memory.absences > 0 && memory.absent.isDue()
      let mustLook =
        memory.mustLook || memory.owesLook || isMissed || memory.isFresh
        || memory.quiet > tuning.blobQuietRounds
      if !mustLook { memory.passRound() }
      return mustLook
    }
    guard mustLook || isDue || audit != nil else { return AttachmentCollection() }
    let hasNone = try home.list().isEmpty
    // What is only in the folder any more has its grace there.
    let isEmpty =
      hasNone && home.ledger.unused.isEmpty
      && memory.withLock { $0.known.isEmpty && !$0.hasReferences }
    let isCollecting = request.collect != nil || !isEmpty && isDue
    guard mustLook || isCollecting || audit != nil else { return AttachmentCollection() }
    let listing = try await listing(&report)
    memory.withLock { ($0.mustLook, $0.owesLook) = (false, false) }
    // Without any content anywhere there is nothing to be done about one. What was deleted before
    // may have some, though.
    if isEmpty, listing.isEmpty, older.isEmpty || memory.withLock({ $0.isScanned }) {
      return AttachmentCollection()
    }
    var isScanned = isCollecting
    if !isCollecting, !memory.withLock({ $0.isScanned }) {
      try scan()
      isScanned = true
    }
    // First: it makes room for the rest.
    var collection = AttachmentCollection()
    if isCollecting { collection = try await collect(request, witnesses, &report) }
    let left = try await self.listing(&report)
    try await self.audit(left, &audit, &report)
    try await giveBack(left, isScanned: isScanned, &audit, &report)
    try await fetchWanted(left, here: try whatIsHere(&report), &report)
    return collection
  }

  /// There is no room here or in the folder: what nobody needs any more goes, if it is time to look
  /// for that.
  func makeRoom(
    _ request: Request, _ witnesses: BlobWitnesses, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    guard home.isInUse, request.collect != nil || isCollectionDue() else { return }
    _ = try await collect(request, witnesses, &report)
  }

  /// The most rounds from one try to the next of a content for which there is no room.
  static let fullRoundsMax = 16

  /// So many contents refused in a round say that the folder may take none.
  static let refusalsMax = 4

  /// An error that says that there is no room.
  static func saysFull(_ error: CairnError) -> Bool {
    error.code == .diskSpace || error.code == .quota
  }

  /// An error that may be one content's; others are of the folder or of the disk.
  static func isOfOne(_ error: CairnError) -> Bool {
    [.corrupt, .notFound, .fileIO, .sizeLimit, .response, .request].contains(error.code)
  }

  /// Whether an error is not about one file only. `refusals` counts what was refused in a row: each
  /// second time, and each time that it may be busy, the directory is listed once more, so that a
  /// server that is out of order, or a log-in page before it, is not asked for all of them.
  func stopsOthers(
    _ error: CairnError, _ refusals: inout Int, _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    let isRefused = Exchange.mayBeOfOne(error) || error.code == .readOnly
    refusals = isRefused ? refusals + 1 : 0
    if isRefused, Exchange.mustListAgain(after: error, refusals: refusals) {
      report.requests += 1
      _ = try await list()
    }
    return !isRefused && !BlobExchange.isOfOne(error)
  }

  func isCollectionDue() -> Bool {
    let now = home.machine.clock.now()
    let last = memory.withLock { $0.collected } ?? home.ledger.looked
    memory.withLock { $0.collected = last }
    // A clock that jumped back counts as due.
    return now.elapsed(since: last) >= tuning.blobCollectMilliseconds || now < last
  }

  /// Asks in each round whether all devices know what was unused when it was last looked: from then
  /// on its grace in the folder counts. Returns whether something may go that has waited for just
  /// that.
  private func noteAcknowledged(_ witnesses: BlobWitnesses) -> Bool {
    guard witnesses.isComplete else { return false }
    let (device, vector) = (store.device, store.vector)
    let ledger = home.ledger
    let new = ledger.unused.filter {
      $0.value.known == nil && witnesses.know($0.value.vector, device: device, now: vector)
    }
    if !new.isEmpty {
      let now = home.machine.clock.now()
      do throws(CairnError) {
        try home.changeLedger { for hash in new.keys { $0.unused[hash]?.known = now } }
      } catch {
        // Then this process knows it, and the next asks again.
      }
    }
    let asked = memory.withLock { $0.asked }
    return asked.contains { hash in
      ledger.unused[hash].map {
        witnesses.know($0.vector, device: device, now: vector)
      } ?? false
    }
  }

  /// The contents that are here with the length that is wanted. A file whose length is another one
  /// is put aside, unless it is the reference that is wrong.
  func whatIsHere(_ report: inout ExchangeReport) throws(CairnError) -> Set<BlobReference> {
    let files = try home.list()
    var lengths: [ContentHash: Set<UInt64>] = [:]
    for reference in memory.withLock({ $0.known }).keys {
      lengths[reference.hash, default: []].insert(reference.length)
    }
    var here: Set<BlobReference> = []
    for file in files {
      do throws(CairnError) {
        if let wanted = lengths[file.hash], wanted != [file.info.size] {
          guard try home.isRight(file) else { throw home.putAside(file) }
        }
        here.insert(file.reference)
      } catch {
        report.problems.append(ExchangeReport.Problem(name: file.path, reason: error.message))
      }
    }
    return here
  }

  // MARK: what the folder has lost

  /// Writes contents again that records refer to, that are here, and that the folder lacks: those
  /// attached here and not published yet under this device's name at once, others when they were
  /// missing for a while: a folder that is on its way lacks everything, and whoever has attached
  /// them may be faster. What the folder refuses of one of them is a problem, and keeps nobody from
  /// the others.
  private func giveBack(
    _ listing: [ContentHash: [Copy]], isScanned: Bool, _ audit: inout FolderRepair?,
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let isUrgent = audit != nil
    let known = memory.withLock { $0.known }
    let files = Dictionary(
      try home.list().map { ($0.reference, $0) }, uniquingKeysWith: { first, _ in first })
    var lost: [(reference: BlobReference, file: BlobStore.File)] = []
    for reference in known.keys.sorted(by: { $0.hash < $1.hash }) {
      guard let file = files[reference] else { continue }
      let copies = BlobExchange.copies(of: reference, in: listing)
      if copies.contains(where: { $0.device == store.device.rawValue }) {
        // Attached once more, for a record that had it already: no delta comes that names it.
        try home.notePublished(file)
      } else if copies.isEmpty || file.isOwn {
        lost.append((reference, file))
      }
    }
    let missed = Set(lost.map(\.file.hash))
    memory.withLock { memory in
      memory.untaken = memory.untaken.filter { missed.contains($0.key) }
    }
    let counts = count(lost.filter { !$0.file.isOwn }.map(\.file.hash))
    let urgent = lost.filter { item in
      isUrgent || item.file.isOwn || counts[item.file.hash] ?? 0 >= Exchange.patience
    }
    if urgent.isEmpty { return }
    // It may have gone because nothing refers to it any more.
    if !isScanned { try scan() }
    var refusals = 0
    for item in urgent where memory.withLock({ $0.known[item.reference] != nil }) {
      if audit == nil, isDoubtful { return lookAgain() }
      if isPostponed(item.reference, isUrgent: isUrgent, &report) {
        let reason = memory.withLock { $0.untaken[item.reference.hash]?.problem } ?? ""
        audit?.problems.append(
          "attachment \(AttachmentID(item.reference)) can't be written again: \(reason)")
        continue
      }
      // What was attached here and never published is not missed.
      let missed =
        item.file.isOwn
        ? nil : FileName.publishedBlob(device: store.device.rawValue, item.reference.hash)
      if let missed { audit?.missing.append(missed) }
      let before = report.publishedAttachments
      do throws(CairnError) {
        try await upload(item.reference, item.file, &report)
        refusals = 0
        if let missed, report.publishedAttachments > before { audit?.written.append(missed) }
      } catch {
        let isFull = BlobExchange.saysFull(error)
        if try await stopsOthers(error, &refusals, &report), !isFull { throw error }
        let name = AttachmentID(item.reference).description
        if isWaited(item.reference.hash, error) {
          report.problems.append(ExchangeReport.Problem(name: name, reason: error.message))
        } else {
          postpone(item.reference, error, &report)
        }
        // Else a thorough look would tell that all is there.
        if !isFull, !BlobExchange.isOfOne(error) || error.code == .sizeLimit {
          audit?.problems.append("attachment \(name) can't be written again: \(error.message)")
        }
        memory.withLock { $0.mustLook = true }
        // There is no room for the others either.
        if isFull { return }
        // Nor does it seem to take any.
        if audit == nil, refusals >= BlobExchange.refusalsMax { return }
      }
    }
  }

  /// For how many listings contents were missed. The next process goes on counting: it may be one
  /// for each round.
  private func count(_ lost: [ContentHash]) -> [ContentHash: Int] {
    let before = memory.withLock { $0.lost } ?? home.ledger.lost
    var counts: [ContentHash: Int] = [:]
    for hash in lost { counts[hash] = min(before[hash] ?? 0, Exchange.patience) + 1 }
    let found = counts
    memory.withLock { memory in
      memory.lost = found
      if !lost.isEmpty { memory.mustLook = true }
    }
    if counts != before {
      do throws(CairnError) { try home.changeLedger { $0.lost = found } } catch {
        // Then this process counts for itself.
      }
    }
    return counts
  }

  // MARK: what is unused

  private func collect(
    _ request: Request, _ witnesses: BlobWitnesses, _ report: inout ExchangeReport
  ) async throws(CairnError) -> AttachmentCollection {
    var result = AttachmentCollection()
    let grace = (request.collect ?? nil) ?? options.graceMilliseconds
    let collector = BlobCollector(store: store, home: home, grace: grace)
    let reach = try scan()
    let listing = try await listing(&report)
    // Somebody else may have the datastore open by now, and use what was unused here.
    try checkOpen()
    let device = store.device
    // What was asked for before is looked at now, whatever ends this.
    memory.withLock { ($0.collected, $0.asked) = (home.machine.clock.now(), []) }
    if let error = reach.unread {
      // Who asks for it hears of that; a round has other work, and looks again in a day.
      if request.collect != nil { throw error }
      return result
    }
    if reach.hasNewer {
      result.needsNewerVersion = true
      return result
    }
    let elsewhere = listing.filter { $0.value.contains { $0.device == device.rawValue } }
    let isPublished = witnesses.published >= reach.vector[device]
    var permission = BlobCollector.Permission(elsewhere: Set(elsewhere.keys))
    // Who asks for another grace gets that; else what others have in their trash waits for them.
    if (request.collect ?? nil) == nil {
      permission.graceElsewhere = max(grace, options.trashMilliseconds)
    }
    permission.isKnown = { witnesses.know($0, device: device, now: reach.vector) }
    permission.mayGo = { isPublished || !$0.isOwn }
    let expired = try collector.expired(reach, permission, &result)
    memory.withLock { $0.asked = expired.asked }
    // What one of them is refused for keeps nobody from the others.
    var failure: CairnError?
    do throws(CairnError) {
      try collector.remove(expired.here, lookedAt: reach.attachments, &result)
    } catch { failure = error }
    var refusals = 0
    for hash in expired.elsewhere {
      do throws(CairnError) {
        try await remove(hash, elsewhere[hash] ?? [], &result, &report)
        refusals = 0
      } catch {
        if try await stopsOthers(error, &refusals, &report) { throw error }
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    let here = Set(expired.here.map(\.hash)).subtracting(permission.elsewhere)
    collector.forget(here.union(expired.elsewhere))
    return result
  }

  /// Removes the own copy of a content from the folder.
  private func remove(
    _ hash: ContentHash, _ copies: [Copy], _ result: inout AttachmentCollection,
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let own = store.device.rawValue
    try checkOpen()
    report.requests += 1
    try await folder.remove(directory + "/" + FileName.publishedBlob(device: own, hash))
    result.removedInFolder += 1
    // A listing may say anything.
    let (sum, isTooLarge) = result.bytesInFolder.addingReportingOverflow(
      copies.first { $0.device == own }?.entry.size ?? 0)
    result.bytesInFolder = isTooLarge ? .max : sum
    memory.withLock { $0.listing?[hash]?.removeAll { $0.device == own } }
  }
}
