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
  /// The other devices' heads, but for those that were retired.
  var heads: [Head] = []
  /// Own deltas up to here are published.
  var published: UInt64 = 0

  /// Whether every device knows all that is known in a state, and has told everything that it did
  /// before. Whatever a device does after that, it does in a state that has all of this one.
  func know(_ vector: VersionVector, device: DeviceID) -> Bool {
    isComplete && published >= vector[device]
      && heads.allSatisfy { head in
        head.last >= head.acknowledgedAt && head.last <= vector[head.device]
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
    guard home.isInUse || memory.withLock({ $0.mustLook }) else { return AttachmentCollection() }
    let isDue = request.collect != nil || isCollectionDue()
    let mustLook = memory.withLock { memory in
      memory.quiet += 1
      return memory.mustLook || memory.isFresh || memory.quiet > tuning.blobQuietRounds
    }
    guard mustLook || isDue || audit != nil else { return AttachmentCollection() }
    let hasNone = try home.list().isEmpty
    let isEmpty = hasNone && memory.withLock { $0.known.isEmpty && !$0.hasReferences }
    let isCollecting = request.collect != nil || !isEmpty && isDue
    guard mustLook || isCollecting || audit != nil else { return AttachmentCollection() }
    let listing = try await listing(&report)
    memory.withLock { $0.mustLook = false }
    // Without any content anywhere there is nothing to be done about one.
    if isEmpty, listing.isEmpty { return AttachmentCollection() }
    var reach: BlobCollector.Reach?
    if !memory.withLock({ $0.isScanned }) { reach = try scan() }
    try await self.audit(listing, &audit, &report)
    try await giveBack(listing, isScanned: reach != nil, isUrgent: audit != nil, &report)
    let here = Set(try home.list().map(\.hash))
    try await fetchWanted(listing, here: here, &report)
    guard isCollecting else { return AttachmentCollection() }
    return try await collect(request, witnesses, &report)
  }

  private func isCollectionDue() -> Bool {
    let now = home.machine.clock.now()
    let last = memory.withLock { $0.collected } ?? BlobLedger.read(home).looked
    memory.withLock { $0.collected = last }
    // A clock that jumped back counts as due.
    return now - last >= tuning.blobCollectMilliseconds || now < last
  }

  // MARK: what the folder has lost

  /// Writes contents again that records refer to, that are here, and that the folder lacks: those
  /// attached here and not published yet at once, others when they were missing for a while: a
  /// folder that is on its way lacks everything, and whoever has attached them may be faster.
  private func giveBack(
    _ listing: [ContentHash: [Copy]], isScanned: Bool, isUrgent: Bool,
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let known = memory.withLock { $0.known }
    var lost: [(reference: BlobReference, file: BlobStore.File)] = []
    for reference in known.keys.sorted(by: { $0.hash < $1.hash })
    where BlobExchange.copies(of: reference, in: listing).isEmpty {
      // Put there since it was listed.
      if isInFolder(reference) == true { continue }
      if let file = try home.find(reference) { lost.append((reference, file)) }
    }
    let counts = count(lost.map(\.file.hash))
    let urgent = lost.filter { item in
      isUrgent || item.file.isOwn || counts[item.file.hash] ?? 0 >= Exchange.patience
    }
    if urgent.isEmpty { return }
    // It may have gone because nothing refers to it any more.
    if !isScanned { try scan() }
    for item in urgent where memory.withLock({ $0.known[item.reference] != nil }) {
      try await upload(item.reference, item.file, &report)
    }
  }

  /// For how many listings contents were missed. The next process goes on counting: it may be one
  /// for each round.
  private func count(_ lost: [ContentHash]) -> [ContentHash: Int] {
    let before = memory.withLock { $0.lost } ?? BlobLedger.read(home).lost
    var counts: [ContentHash: Int] = [:]
    for hash in lost { counts[hash] = min(before[hash] ?? 0, Exchange.patience) + 1 }
    let found = counts
    memory.withLock { memory in
      memory.lost = found
      if !lost.isEmpty { memory.mustLook = true }
    }
    if counts != before {
      var ledger = BlobLedger.read(home)
      ledger.lost = counts
      do { try ledger.write(home) } catch {
        // Then this process counts for itself.
      }
    }
    return counts
  }

  /// A thorough look reads the own files of contents that are here, and replaces those that are not
  /// what their names say.
  private func audit(
    _ listing: [ContentHash: [Copy]], _ audit: inout FolderRepair?,
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    guard audit != nil else { return }
    let own = store.device.rawValue
    for (hash, copies) in listing.sorted(by: { $0.key < $1.key }) {
      for copy in copies where copy.device == own {
        let path = directory + "/" + copy.entry.name
        var found = SHA256()
        report.requests += 1
        _ = try await folder.read(path, from: 0) { bytes throws(CairnError) in
          found.update(bytes)
        }
        audit?.checkedFiles += 1
        audit?.checkedBytes += found.count
        if found.digest() == hash { continue }
        let reason = "its bytes are not those that its name says"
        audit?.damaged.append(FolderRepair.Damage(name: copy.entry.name, reason: reason))
        let file = try home.list().first { $0.hash == hash }
        guard let file else {
          audit?.problems.append("\(copy.entry.name): \(reason), and its content is not here")
          continue
        }
        let before = report.publishedAttachments
        try await upload(BlobReference(length: file.info.size, hash: hash), file, &report)
        if report.publishedAttachments > before {
          audit?.written.append(copy.entry.name)
        } else {
          audit?.problems.append("\(copy.entry.name): \(reason), and so is its content here")
        }
      }
    }
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
    let device = store.device
    memory.withLock { $0.collected = home.machine.clock.now() }
    if reach.hasNewer {
      result.needsNewerVersion = true
      return result
    }
    let elsewhere = listing.filter { $0.value.contains { $0.device == device.rawValue } }
    let isPublished = witnesses.published >= reach.vector[device]
    let expired = try collector.expired(
      reach, elsewhere: Set(elsewhere.keys),
      isKnown: witnesses.know(reach.vector, device: device),
      mayGo: { isPublished || !$0.isOwn }, &result)
    try collector.remove(expired.here, &result)
    for hash in expired.elsewhere {
      try checkOpen()
      let name = FileName.publishedBlob(device: device.rawValue, hash)
      report.requests += 1
      try await folder.remove(directory + "/" + name)
      let size = elsewhere[hash]?.first { $0.device == device.rawValue }?.entry.size ?? 0
      result.removedInFolder += 1
      result.bytesInFolder += size
      memory.withLock { memory in
        memory.listing?[hash]?.removeAll { $0.device == device.rawValue }
      }
    }
    return result
  }
}
