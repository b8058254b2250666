internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// From the folder into the inbox.
extension Exchange {
  /// Snapshots above this are not fetched as a whole: the deltas are there, too.
  static let snapshotBytesMax = 1 << 30

  /// A device that has nothing yet starts from the newest snapshot that somebody vouches for.
  func fetchSnapshot(
    _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) {
    guard store.isBlank, inbox.withLock({ $0.snapshot == nil && $0.items.isEmpty }) else { return }
    let (heads, refused) = memory.withLock { (Array($0.heads.values), $0.refusedSnapshots) }
    let snapshots = heads.compactMap(\.snapshot).filter { snapshot in
      guard let entry = listing[snapshot.name] else { return false }
      if let reason = refused[snapshot.content] {
        report.problems.append(ExchangeReport.Problem(name: snapshot.name, reason: reason))
        return false
      }
      return entry.isPresent && entry.size == snapshot.size
        && snapshot.size <= UInt64(Exchange.snapshotBytesMax)
    }
    let newest = snapshots.max { a, b in
      (Exchange.weight(a.vector), a.hash) < (Exchange.weight(b.vector), b.hash)
    }
    guard let newest else { return }
    report.requests += 1
    guard let bytes = try await readFile(newest.name, Exchange.snapshotBytesMax, &report) else {
      return
    }
    guard UInt64(bytes.count) == newest.size, XXH3.hash128(bytes) == newest.content else {
      report.problems.append(
        ExchangeReport.Problem(
          name: newest.name,
          reason: "the snapshot is not what its head says (\(bytes.count) bytes of "
            + "\(newest.size)); all deltas are fetched instead"))
      return
    }
    try checkOpen()
    let path = store.temporarySnapshotPath()
    do throws(DiskError) {
      let file = try machine.disk.open(path, .create)
      defer { file.close() }
      try file.write(bytes.span, at: 0)
    } catch { throw CairnError(error) }
    inbox.withLock {
      $0.snapshot = Inbox.Snapshot(path: path, vector: newest.vector, content: newest.content)
    }
    noteInbox()
    report.fetchedSnapshot = true
    report.fetchedFiles += 1
    report.fetchedBytes += newest.size
    report.fetchedDeltas += Exchange.weight(newest.vector)
  }

  static func weight(_ vector: VersionVector) -> UInt64 { vector.total }

  func fetchSegments(
    _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let heads = memory.withLock { memory in
      memory.heads.values.sorted { $0.device < $1.device }
    }
    for head in heads {
      let vector = store.vector
      try checkOpen()
      var have = inbox.withLock { inbox in
        let start = max(vector[head.device], inbox.snapshot?.vector[head.device] ?? 0)
        return inbox.reach(head.device, from: start)
      }
      if head.last > have { condition.update { $0.isMissing = true } }
      for segment in head.segments where segment.last > have {
        guard try await fetch(segment, head, have, listing, &report) else { break }
        have = segment.last
      }
    }
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
    if let known = memory.withLock({ $0.foreign[name] }), known.version == entry.version {
      note(entry, known.problem, &report)
      return false
    }
    report.requests += 1
    guard let bytes = try await readFile(name, PublishedSegment.fileBytesMax, &report) else {
      return false
    }
    try checkOpen()
    do throws(LogError) {
      guard UInt64(bytes.count) == segment.size else {
        throw LogError(.truncated, name, "\(bytes.count) of \(segment.size) bytes")
      }
      let published = try PublishedSegment(bytes, name: name, datastore: store.datastore)
      guard published.encodedName(bytes) == name else {
        throw LogError(.foreign, name, at: 32, "its content belongs under another name")
      }
      try checkChain(published, name, have)
      let deletes = try Exchange.verify(published, name)
      try inbox.withLock { inbox throws(LogError) in
        try inbox.add(
          Inbox.Item(
            name: name, device: head.device, first: segment.first, last: segment.last,
            deletes: deletes), bytes)
      }
    } catch {
      if case .disk(let disk) = error.reason { throw CairnError(disk) }
      judge(error, entry, bytes, &report)
      return false
    }
    noteInbox()
    report.fetchedFiles += 1
    report.fetchedBytes += segment.size
    report.fetchedDeltas += segment.last - max(have, segment.first - 1)
    return true
  }

  /// The device's files must continue one another: two histories under one device are a fork.
  private func checkChain(
    _ segment: PublishedSegment, _ name: String, _ have: UInt64
  ) throws(LogError) {
    let device = DeviceID(rawValue: segment.device)
    let known = memory.withLock { $0.chains[device] }
    if let known, known.last == have, segment.first == have + 1,
      known.chain != segment.chainBefore
    {
      throw LogError(
        .foreign, name, at: 64,
        "it does not continue what this device published before: two copies of one device have "
          + "written under one name")
    }
    memory.withLock { $0.chains[device] = (segment.last, segment.chainAfter) }
  }

  /// The structure of everything in a segment, before any of it counts. Returns how many deletes
  /// it states.
  @discardableResult
  static func verify(_ segment: PublishedSegment, _ name: String) throws(LogError) -> Int {
    var deletes = 0
    do throws(DecodeError) {
      var reader = try PackReader(segment.pack)
      guard reader.header.device.rawValue == segment.device, reader.header.first == segment.first,
        reader.header.last == segment.last
      else { throw .malformed("the pack inside has another range") }
      var delta = Delta()
      while try reader.next(into: &delta) {
        guard delta.splices.isEmpty else { throw .malformed("positions in a shared list") }
        deletes += DeleteCount.of(delta)
      }
    } catch {
      throw LogError(error, name, at: UInt64(PublishedSegment.headerSize), "the deltas inside")
    }
    return deletes
  }

  // MARK: incorporate

  /// Packs of one `sync` are taken in parts of about this size.
  static let batchBytes = 16 << 20

  /// Commits, then makes visible what is in the inbox, as far as nothing is missing before it. What
  /// would delete too much at once stays there, unless that is allowed.
  func sync(allowingMassDelete: Bool = false) throws(CairnError) -> SyncOutcome {
    defer { noteInbox() }
    let snapshot = try adoptSnapshot()
    var outcome = try wrapped { () throws(StoreError) in try store.sync() }
    // A device that has just begun has nothing to lose.
    try judgeDeletes(allowing: allowingMassDelete || snapshot != nil)
    var hasProgress = true
    while hasProgress {
      hasProgress = false
      dropSeen()
      let batches = batches()
      for batch in batches {
        let part = try incorporate(batch)
        hasProgress = hasProgress || part.appliedCount > 0
        merge(part, into: &outcome)
      }
      if inbox.withLock({ $0.free.isEmpty }) { break }
      if !hasProgress {
        inbox.withLock { $0.blocked = Set(batches.joined().map(\.name)) }
      }
    }
    dropSeen()
    inbox.withLock { $0.judged = Set($0.items.map(\.name)) }
    if let snapshot {
      try wrapped { () throws(StoreError) in try store.reportAll(&outcome) }
      outcome.appliedCount += Int(clamping: Exchange.weight(snapshot))
    }
    return outcome
  }

  private func merge(_ part: SyncOutcome, into outcome: inout SyncOutcome) {
    outcome.appliedCount += part.appliedCount
    outcome.changed += part.changed
    outcome.conflicts += part.conflicts
    outcome.summary = part.summary ?? outcome.summary
  }

  /// Starts from a snapshot that was fetched; returns what is in it.
  private func adoptSnapshot() throws(CairnError) -> VersionVector? {
    let pending = inbox.withLock { inbox in
      defer { inbox.snapshot = nil }
      return inbox.snapshot
    }
    guard let pending else { return nil }
    guard store.isBlank else {
      // Something was written here meanwhile; the deltas are in the folder as well.
      do { try machine.disk.remove(pending.path) } catch {}
      return nil
    }
    do throws(StoreError) {
      try store.adopt(snapshot: pending.path)
      return pending.vector
    } catch {
      guard let log = error.log else { return nil }
      if case .disk(let disk) = log.reason {
        // Gone since it was fetched: it is fetched anew.
        if disk.reason == .notFound { return nil }
        throw CairnError(error)
      }
      // It would be the same the next time: all deltas are fetched instead.
      memory.withLock {
        $0.refusedSnapshots[pending.content] =
          "the snapshot can't be used (\(log.detail)); all deltas are fetched instead"
      }
      return nil
    }
  }

  /// Removes what the state has already.
  func dropSeen() {
    let vector = store.vector
    inbox.withLock { inbox in
      for item in inbox.items where vector[item.device] >= item.last { inbox.remove(item) }
    }
  }

  private func batches() -> [[Inbox.Item]] {
    let items = inbox.withLock { $0.free }.sorted { ($0.device, $0.first) < ($1.device, $1.first) }
    var result: [[Inbox.Item]] = []
    for start in stride(from: 0, to: items.count, by: 4096) {
      result.append(Array(items[start..<min(start + 4096, items.count)]))
    }
    return result
  }

  private func incorporate(_ items: [Inbox.Item]) throws(CairnError) -> SyncOutcome {
    var outcome = SyncOutcome()
    var packs: [[UInt8]] = []
    var taken: [Inbox.Item] = []
    var bytes = 0
    for (index, item) in items.enumerated() {
      do throws(LogError) {
        let segment = try inbox.withLock { inbox throws(LogError) in
          try inbox.read(item, datastore: store.datastore)
        }
        packs.append(segment.pack)
        taken.append(item)
        bytes += segment.pack.count
      } catch {
        if case .disk(let disk) = error.reason { throw CairnError(disk) }
        // Damaged since it was verified: gone from here, it is fetched anew.
        inbox.withLock { $0.remove(item) }
      }
      if bytes >= Exchange.batchBytes || index == items.count - 1, !packs.isEmpty {
        let batch = packs
        let part = try wrapped { () throws(StoreError) in try store.sync(packs: batch) }
        merge(part, into: &outcome)
        // Verified when it came, and yet wrong: nothing of it was applied; it is fetched anew.
        for failed in part.failures.keys { inbox.withLock { $0.remove(taken[failed]) } }
        packs = []
        taken = []
        bytes = 0
      }
    }
    return outcome
  }
}
