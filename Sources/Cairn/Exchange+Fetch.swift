internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// From the folder into the inbox.
extension Exchange {
  /// Snapshots above this are neither published nor fetched: the deltas are there, too. They pass
  /// through in parts, whatever their size; this only bounds what a folder can make a device store.
  static let snapshotBytesMax: UInt64 = 64 << 30

  /// A device that has nothing yet starts from the newest snapshot that somebody vouches for. One
  /// that has something joins a snapshot if that is much less than the deltas, or if there are no
  /// deltas to be had.
  func fetchSnapshot(
    _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) {
    guard inbox.withLock({ $0.incoming == nil }) else { return }
    dropUnwantedDownload()
    let isNew = store.isBlank && inbox.withLock({ $0.items.isEmpty })
    let snapshots = usableSnapshots(listing, isNew: isNew, &report)
    let chosen =
      isNew ? Exchange.newest(foundations(snapshots)) : snapshotToJoin(snapshots, listing)
    guard let newest = chosen, let entry = listing[newest.name] else { return }
    if let problem = problemWithTakingIn() {
      report.problems.append(ExchangeReport.Problem(name: newest.name, reason: problem))
      return
    }
    guard try await goesOn(newest, listing, &report) else { return }
    planFetch(of: newest, listing)
    var downloaded: String?
    do throws(CairnError) {
      downloaded = try await download(newest, entry, listing, &report)
    } catch {
      // A folder that knows no parts of files: what a snapshot is to save can be had without it.
      guard error.code == .sizeLimit else { throw error }
      let reason = error.message + "; all deltas are fetched instead"
      memory.withLock { $0.refusedSnapshots[newest.content] = reason }
      report.problems.append(ExchangeReport.Problem(name: newest.name, reason: reason))
    }
    guard let path = downloaded else { return }
    inbox.withLock {
      $0.snapshot = Inbox.Snapshot(path: path, vector: newest.vector, content: newest.content)
    }
    noteInbox(hasArrived: true)
    report.fetchedSnapshot = true
    report.fetchedFiles += 1
    report.fetchedBytes += newest.size
    let vector = store.vector
    report.fetchedDeltas &+= newest.vector.entries.reduce(0) {
      $0 &+ ($1.sequence - min($1.sequence, vector[$1.device]))
    }
  }

  /// Snapshots that heads vouch for and that are there.
  private func usableSnapshots(
    _ listing: [String: FolderEntry], isNew: Bool, _ report: inout ExchangeReport
  ) -> [Head.Snapshot] {
    let (heads, refused, held) = memory.withLock {
      ($0.sortedHeads, $0.refusedSnapshots, $0.heldSnapshots)
    }
    let vector = store.vector
    let waiting = inbox.withLock { $0.heldContents }
    let published = max(memory.withLock { $0.own.last }, lastWritten?.last ?? 0)
    // Several devices may vouch for one.
    var noted: Set<String> = []
    return heads.compactMap(\.snapshot).filter { snapshot in
      // It has deltas of another copy of this device: those of that name that are here would count
      // as seen, and gone.
      if snapshot.vector[store.device] > published { return false }
      guard let entry = listing[snapshot.name], !waiting.contains(snapshot.content) else {
        return false
      }
      if let reason = refused[snapshot.content] {
        if isNew, noted.insert(snapshot.name).inserted {
          report.problems.append(ExchangeReport.Problem(name: snapshot.name, reason: reason))
        }
        return false
      }
      if let known = verdict(on: entry) {
        if noted.insert(snapshot.name).inserted { note(entry, known, &report) }
        return false
      }
      // Nothing has changed since it was asked for.
      if held[snapshot.content] == vector { return false }
      return entry.isPresent && entry.size == snapshot.size
        && snapshot.size <= Exchange.snapshotBytesMax
    }
  }

  /// Those on which a store that is to have a cut can stand: the others may have deltas that do not
  /// count beside it.
  private func foundations(_ snapshots: [Head.Snapshot]) -> [Head.Snapshot] {
    guard let cut = memory.withLock({ $0.foundation }) else { return snapshots }
    let having = snapshots.filter { $0.vector.contains(cut.dot) }
    if !having.isEmpty { return having }
    return snapshots.filter { cut.seal?.covers($0.vector) ?? false }
  }

  static func weight(_ vector: VersionVector) -> UInt64 { vector.total }

  func fetchSegments(
    _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let heads = memory.withLock { memory in
      memory.heads.values.sorted { $0.device < $1.device }
    }
    planFetch(of: nil, listing)
    let left = store.cuts
    let problem = problemWithKeeping()
    // One that was held before may be so again: what it has must not keep deltas away.
    let pending = inbox.withLock { inbox in
      inbox.incoming.flatMap { inbox.heldBefore.contains($0.content) ? nil : $0.vector }
    }
    for head in heads {
      let vector = store.vector
      try checkOpen()
      var have = inbox.withLock { inbox in
        let start = max(vector[head.device], pending?[head.device] ?? 0)
        return inbox.reach(head.device, from: start)
      }
      if head.last > have { condition.update { $0.isMissing = true } }
      let waiting = report.waiting.count
      for segment in head.segments where segment.last > have {
        try checkAborted()
        if let problem {
          report.waiting.append(
            ExchangeReport.Waiting(
              name: segment.name(head.device), bytes: segment.size, reason: problem))
          break
        }
        guard try await fetch(segment, head, have, listing, &report) else { break }
        have = segment.last
      }
      waitForSnapshot(head, have, &report)
      if left.hasLeft(head.device, with: have) { report.waiting.removeSubrange(waiting...) }
    }
    if problem == nil {
      memory.withLock { ($0.arrivals, $0.arrivalProblem) = (Retry(version: ""), nil) }
    }
  }

  /// The last of a device's deltas may be in its snapshot only.
  private func waitForSnapshot(_ head: Head, _ have: UInt64, _ report: inout ExchangeReport) {
    guard let gap = head.gaps.last, gap.upperBound == head.last, have >= gap.lowerBound - 1,
      have < gap.upperBound
    else { return }
    report.waiting.append(
      ExchangeReport.Waiting(
        name: head.snapshot?.name ?? directory, bytes: head.snapshot?.size ?? 0,
        reason: "deltas \(have + 1) to \(gap.upperBound) of device \(head.device) are in a "
          + "snapshot only"))
  }

  /// Fetches one segment into the inbox; false if what follows it has to wait.
  private func fetch(
    _ segment: Head.Segment, _ head: Head, _ have: UInt64, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    let name = segment.name(head.device)
    func wait(_ reason: String) -> Bool {
      report.waiting.append(
        ExchangeReport.Waiting(name: name, bytes: segment.size, reason: reason))
      return false
    }
    guard segment.first <= have + 1 else {
      return wait("deltas \(have + 1) to \(segment.first - 1) of the device are nowhere")
    }
    guard let entry = listing[name] else {
      return wait("its head names it, but it is not here yet")
    }
    guard entry.isPresent, entry.size == segment.size else {
      return wait("\(entry.size) of \(segment.size) bytes are here")
    }
    if let known = verdict(on: entry) {
      note(entry, known, &report)
      return false
    }
    report.requests += 1
    let found: [UInt8]?
    do throws(CairnError) {
      found = try await readFile(
        entry, PublishedSegment.fileBytesMax, mayBreak: true, &report)
    } catch {
      // What is smaller, and what is to be heard of this device, need not wait with it.
      guard error.code == .quota else { throw error }
      return wait(error.message)
    }
    guard let bytes = found else { return false }
    try checkOpen()
    do throws(LogError) {
      let (published, chains, deletes) = try opened(bytes, segment, name, have)
      let item = Inbox.Item(
        name: name, device: head.device, first: segment.first, last: segment.last,
        deletes: deletes, mayHaveCuts: published.floor >= FormatVersion.cuts)
      // It was closed meanwhile.
      guard try inbox.withLock({ inbox throws(LogError) in try inbox.add(item, bytes) }) else {
        return false
      }
      memory.withLock {
        $0.histories.note(
          head.device, first: segment.first, chains, after: published.chainBefore)
      }
    } catch {
      if case .disk(let disk) = error.reason {
        let failure = CairnError(disk)
        if failure.code == .diskSpace {
          noteFull(failure, hasFetched: report.fetchedFiles > 0)
        }
        throw failure
      }
      judge(error, entry, bytes, &report)
      return false
    }
    forgive(name)
    noteInbox(hasArrived: true)
    transfers.noteFetched(files: 1, bytes: segment.size)
    report.fetchedFiles += 1
    report.fetchedBytes += segment.size
    report.fetchedDeltas &+= segment.last - max(have, segment.first - 1)
    return true
  }

  /// The bytes of a segment, of whose device so many deltas are here: it has to be what its head
  /// says, and to go on from these.
  func opened(
    _ bytes: [UInt8], _ segment: Head.Segment, _ name: String, _ have: UInt64
  ) throws(LogError) -> (file: PublishedSegment, chains: [UInt128], deletes: Int) {
    guard UInt64(bytes.count) == segment.size else {
      throw LogError(.truncated, name, "\(bytes.count) of \(segment.size) bytes")
    }
    let published = try PublishedSegment(bytes, name: name, datastore: store.datastore)
    guard published.encodedName(bytes) == name else {
      throw LogError(.foreign, name, at: 32, "its content belongs under another name")
    }
    let (chains, deletes) = try Exchange.verify(published, name)
    try checkHistory(published, chains, name, have)
    return (published, chains, deletes)
  }

  /// The structure of everything in a segment, before any of it counts. Returns the chain after
  /// each of its deltas, and how many deletes it states.
  @discardableResult
  static func verify(
    _ segment: PublishedSegment, _ name: String
  ) throws(LogError) -> (chains: [UInt128], deletes: Int) {
    var deletes = 0
    do throws(DecodeError) {
      var chain = DeltaChain(segment.chainBefore)
      var chains: [UInt128] = []
      var reader = try PackReader(
        segment.pack, 0..<segment.pack.count, items: FormatBounds.itemsInPack)
      guard reader.header.device.rawValue == segment.device, reader.header.first == segment.first,
        reader.header.last == segment.last
      else { throw .malformed("the pack inside has another range") }
      var delta = Delta()
      while try reader.next(into: &delta) {
        guard delta.splices.isEmpty else { throw .malformed("positions in a shared list") }
        try CutTable.check(delta, heap: reader.heap, names: reader.records)
        deletes += DeleteCount.of(delta)
        // The last that is asked of it.
        chain.add(&delta, heap: reader.heap, names: reader.records)
        chains.append(chain.value)
      }
      guard chain.value == segment.chainAfter else { throw .malformed("another chain") }
      return (chains, deletes)
    } catch {
      throw LogError(error, name, at: UInt64(PublishedSegment.headerSize), "the deltas inside")
    }
  }

  // MARK: incorporate

  /// Packs of one `sync` are taken in parts of about this size.
  static let batchBytes = 16 << 20

  /// Commits, then makes visible what is in the inbox, as far as nothing is missing before it. What
  /// would delete too much at once stays there, unless that is allowed. If it fails half-way, the
  /// next one tells what it has done.
  func sync(allowingMassDelete: Bool = false) throws(CairnError) -> SyncOutcome {
    if hasNothingForSync {
      return try wrapped { () throws(StoreError) in try store.sync() }
    }
    // Nobody gives a forked child the turn that its parent had.
    try wrapped { () throws(StoreError) in try store.checkProcess() }
    // Whoever is told of it may sync: not in the turn.
    defer { noteInbox() }
    return try syncing.withLock { isNested throws(CairnError) -> SyncOutcome in
      // Asked for by whoever was told of something in the middle of one, which goes on with the
      // rest.
      if isNested { return try wrapped { () throws(StoreError) in try store.sync() } }
      return try syncInTurn(allowing: allowingMassDelete)
    }
  }

  private func syncInTurn(allowing: Bool) throws(CairnError) -> SyncOutcome {
    defer { inbox.withLock { $0.endTaking() } }
    var parts = takeUntold()
    let before = Dot(device: store.device, sequence: store.vector[store.device])
    do throws(CairnError) { try sync(allowing: allowing, &parts) } catch {
      keepUntold(parts, since: before)
      memory.withLock { $0.mustTellAgain = true }
      throw error
    }
    memory.withLock { $0.mustTellAgain = false }
    var outcome = parts.whole()
    // A step that was refused, and told, may have committed first.
    let last = Dot(device: store.device, sequence: store.vector[store.device])
    if outcome.committed == nil, last.device == before.device, last.sequence > before.sequence {
      outcome.committed = last
    }
    return outcome
  }

  private func sync(allowing: Bool, _ parts: inout SyncParts) throws(CairnError) {
    if try rejoinIfReady(&parts) {
      blobs?.noteWhole()
      return
    }
    hearBeforeAsking()
    if isRejoining || following?.mustRebuild == true {
      // What the folder has comes with the rest. What was fetched for a copy of other tables goes:
      // half of it would be in the one that is there, and the vector would say that it is whole.
      return parts.add(try wrapped { () throws(StoreError) in try store.sync() })
    }
    let isNew = try adoptSnapshot(&parts)
    parts.add(try wrapped { () throws(StoreError) in try store.sync() })
    try judgeBeforeJoin(allowing: allowing)
    try joinSnapshots(allowing: allowing, &parts)
    // A device that has just begun has nothing to lose.
    let judged = try judgeDeletes(allowing: allowing || isNew)
    try hearOfCuts(in: judged)
    var hasProgress = true
    while hasProgress {
      hasProgress = false
      dropSeen()
      let batches = batches(of: judged)
      for batch in batches {
        let before = parts.appliedCount
        try incorporate(batch, &parts)
        hasProgress = hasProgress || parts.appliedCount > before
      }
      if inbox.withLock({ $0.free.isEmpty }) { break }
      if !hasProgress {
        inbox.withLock { $0.blocked = Set(batches.joined().map(\.name)) }
      }
    }
    dropSeen()
    note(cutOff: parts.cutOff)
    inbox.withLock { $0.judged = judged.intersection($0.items.map(\.name)) }
  }

  /// The rule while somebody types: a sync commits, and that is all. Whoever fetches something
  /// meanwhile says so by itself.
  var hasNothingForSync: Bool {
    !isRejoining && condition.isCalm && inbox.withLock { $0.isEmpty }
      && memory.withLock { $0.cutOff == nil && $0.untold.isEmpty }
  }

  func takeSnapshot() -> Inbox.Snapshot? {
    inbox.withLock { inbox in
      defer { inbox.snapshot = nil }
      return inbox.snapshot
    }
  }

  /// A store that has nothing yet starts from a snapshot that was fetched. False if it does not.
  private func adoptSnapshot(_ parts: inout SyncParts) throws(CairnError) -> Bool {
    // What is not all kept is joined, row by row.
    guard store.isBlank, store.options.followed ?? .all == .all,
      let pending = inbox.withLock({ $0.beginTaking() })
    else { return false }
    do throws(StoreError) { try store.adopt(snapshot: pending.path) } catch {
      try judge(error, pending)
      return false
    }
    noteTakenIn()
    var outcome = SyncOutcome()
    outcome.arrived = store.arrivedRecords
    outcome.appliedCount = SyncOutcome.share(of: Exchange.weight(pending.vector))
    parts.add(outcome)
    blobs?.noteWhole()
    return true
  }

  func judge(_ error: StoreError, _ pending: Inbox.Snapshot) throws(CairnError) {
    guard let log = error.log else {
      // What stands against it now may not do so later.
      let vector = store.vector
      return memory.withLock { $0.heldSnapshots[pending.content] = vector }
    }
    if case .disk(let disk) = log.reason {
      // Gone since it was fetched: it is fetched anew.
      if disk.reason == .notFound { return }
      let failure = CairnError(error)
      noteNotTakenIn(failure)
      throw failure
    }
    if log.reason == .missing { return }
    // It would be the same the next time: all deltas are fetched instead.
    memory.withLock {
      $0.refusedSnapshots[pending.content] =
        "the snapshot can't be used (\(log.detail)); all deltas are fetched instead"
    }
  }

  /// Removes what the state has already.
  func dropSeen() {
    let vector = store.vector
    inbox.withLock { inbox in
      for item in inbox.items where vector[item.device] >= item.last { inbox.remove(item) }
    }
  }

  /// Of what was judged: a round may be adding to it.
  func batches(of judged: Set<String>) -> [[Inbox.Item]] {
    let items = inbox.withLock { $0.free }.filter { judged.contains($0.name) }
      .sorted { ($0.device, $0.first) < ($1.device, $1.first) }
    var result: [[Inbox.Item]] = []
    for start in stride(from: 0, to: items.count, by: 4096) {
      result.append(Array(items[start..<min(start + 4096, items.count)]))
    }
    return result
  }

  private func incorporate(
    _ items: [Inbox.Item], _ parts: inout SyncParts
  ) throws(CairnError) {
    var batch = PackBatch()
    for item in items {
      guard let pack = try packOrForget(item) else { continue }
      if !batch.hasRoom(for: pack.count) {
        try incorporateAsRoomIs(batch, &parts)
        batch = PackBatch()
      }
      batch.add(pack, item)
    }
    if !batch.packs.isEmpty { try incorporateAsRoomIs(batch, &parts) }
  }

  /// In the log there may be no room for all of it as long as the files lie here, too: then for one
  /// after the other, each of which gives back what it has taken here.
  private func incorporateAsRoomIs(
    _ batch: PackBatch, _ parts: inout SyncParts
  ) throws(CairnError) {
    do throws(CairnError) { return try incorporate(batch, &parts) } catch {
      guard error.code == .diskSpace, batch.items.count > 1 else { throw error }
    }
    dropSeen()
    for (item, pack) in zip(batch.items, batch.packs) {
      var one = PackBatch()
      one.add(pack, item)
      try incorporate(one, &parts)
      dropSeen()
    }
  }

  func packOrForget(_ item: Inbox.Item) throws(CairnError) -> [UInt8]? {
    do throws(LogError) {
      return try inbox.withLock { inbox throws(LogError) in
        try inbox.read(item, datastore: store.datastore)
      }.pack
    } catch {
      if case .disk(let disk) = error.reason {
        // Who puts a store together is told what it lacks, for whatever reason.
        let isTold = blobs == nil || disk.reason == .notFound
        if isTold || Inbox.isPassing(disk) { throw CairnError(disk) }
      }
      // Damaged since it was verified: gone from here, it is fetched anew.
      inbox.withLock { $0.remove(item) }
      return nil
    }
  }

  private func incorporate(_ batch: PackBatch, _ parts: inout SyncParts) throws(CairnError) {
    try willIncorporate(batch.packs)
    let part = try wrapped { () throws(StoreError) in try store.sync(packs: batch.packs) }
    noteBlobs(batch.packs, part)
    parts.add(judged: part)
    note(part, of: batch.items)
    // Verified when it came, and yet wrong: nothing of it was applied; it is fetched anew.
    for failed in part.failures.keys { inbox.withLock { $0.remove(batch.items[failed]) } }
  }
}
