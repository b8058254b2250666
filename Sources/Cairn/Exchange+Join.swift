internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Joining a snapshot that was fetched: it deletes, too, and somebody may have to be asked.
extension Exchange {
  /// A store that has something joins what was fetched, and with consent what has waited for it.
  /// One that would delete too much stays at home until then.
  func joinSnapshots(allowing: Bool, _ parts: inout SyncParts) throws(CairnError) {
    var left = snapshotsToJoin(allowing)[...]
    // Not before it is joined: a compaction that ends until then would take it for a leftover.
    defer { if allowing { store.keepIncoming(nil) } }
    while let pending = left.popFirst() {
      do throws(CairnError) {
        guard let part = try join(pending, allowing) else { continue }
        parts.add(part)
        noteTakenIn()
        blobs?.noteWhole()
      } catch {
        for snapshot in left { putBack(snapshot) }
        throw error
      }
    }
  }

  /// For the next sync, unless a round has fetched another one meanwhile.
  private func putBack(_ snapshot: Inbox.Snapshot) {
    let isBack = inbox.withLock { inbox in
      guard inbox.snapshot == nil else { return false }
      inbox.snapshot = snapshot
      return true
    }
    if !isBack { remove(snapshot) }
  }

  // MARK: another history

  /// Whether a snapshot may be fetched and joined. That is done by its vector alone: of a device
  /// that has one history here and another one in there, each side would take for gone what only
  /// the other has. The first file behind what is here tells of which history the folder is (a
  /// reader of the other one may still vouch for a snapshot of that: nothing tells). One that
  /// can't be had just now is waited for, for some rounds; one that no head names tells nothing.
  func goesOn(
    _ snapshot: Head.Snapshot, _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    // That was asked before its first part came.
    if download.withLock({ $0?.content == snapshot.content }) { return true }
    var (isUnread, isBroken) = (false, false)
    for head in memory.withLock({ $0.sortedHeads }) {
      guard let (segment, have) = nextFile(of: head, snapshot, listing) else { continue }
      try checkAborted()
      // What there is to say of it is said where deltas are fetched.
      var aside = ExchangeReport()
      do throws(CairnError) {
        defer { report.requests += aside.requests }
        if try await !isRead(segment, head.device, have, listing, &aside) { isUnread = true }
      } catch {
        guard Exchange.isOfConnection(error) else { throw error }
        // A line over which the whole file never comes may bring the snapshot in parts.
        isBroken = true
        break
      }
    }
    return memory.withLock { [isUnread, isBroken] memory in
      // One that is needed for files that are missing was waited for already.
      let isLate =
        isBroken || isUnread && memory.needed[snapshot.name] ?? 0 < Exchange.patience
      memory.unproven = isLate ? memory.unproven + 1 : 0
      if !memory.forked.isEmpty || 1..<Exchange.patience ~= memory.unproven { return false }
      memory.unproven = 0
      return true
    }
  }

  /// The file with the first delta that is not here of a device that the snapshot has something of,
  /// if something is known here that it has to go on from; and how many deltas are here.
  private func nextFile(
    of head: Head, _ snapshot: Head.Snapshot, _ listing: [String: FolderEntry]
  ) -> (segment: Head.Segment, have: UInt64)? {
    let device = head.device
    let start = store.vector[device]
    let have = inbox.withLock { $0.reach(device, from: start) }
    guard have > 0, snapshot.vector[device] > 0,
      let segment = head.segments.first(where: { $0.last > have }), segment.first <= have + 1,
      listing[segment.name(device)].flatMap({ verdict(on: $0) }) == nil
    else { return nil }
    let known = memory.withLock {
      $0.histories.last(device, after: max(segment.first, 2) - 2, through: have)
    }
    guard known != nil else { return nil }
    return (segment, have)
  }

  /// Looks at a file, which stays out of the inbox: the snapshot may have what is in it. False if
  /// it can't be had, or used.
  private func isRead(
    _ segment: Head.Segment, _ device: DeviceID, _ have: UInt64,
    _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    let name = segment.name(device)
    guard let entry = listing[name], entry.isPresent, entry.size == segment.size else {
      return false
    }
    report.requests += 1
    let found: [UInt8]?
    do throws(CairnError) {
      found = try await readFile(entry, PublishedSegment.fileBytesMax, &report)
    } catch {
      guard error.code == .quota else { throw error }
      return false
    }
    guard let bytes = found else { return false }
    try checkOpen()
    do throws(LogError) { _ = try opened(bytes, segment, name, have) } catch {
      judge(error, entry, bytes, &report)
      return false
    }
    forgive(name)
    return true
  }

  // MARK: no room

  /// The most rounds from one try to the next: nobody says when there is room, and each try fetches
  /// a whole snapshot.
  private static let takeInRoundsMax = 16

  /// A snapshot went with the try to keep it here while it came, or to take it in, which failed,
  /// whatever is in it. Fetched anew each time, it would never let deltas have their turn.
  func noteNotTakenIn(_ error: CairnError) {
    let problem =
      "the snapshot could not be kept or taken in here; until the next try deltas are fetched "
      + "instead: " + error.message
    memory.withLock { memory in
      // Room comes from people: not in the next round. Anything else may be over by then.
      if memory.takeInProblem == nil, BlobExchange.saysFull(error) {
        memory.takeIns.fail(most: Exchange.takeInRoundsMax)
      }
      memory.takeIns.fail(most: Exchange.takeInRoundsMax)
      memory.takeInProblem = problem
    }
  }

  func noteTakenIn() {
    memory.withLock { ($0.takeIns, $0.takeInProblem) = (Retry(version: ""), nil) }
  }

  /// Why no snapshot is fetched in this round, if it is too early for another try. Asked only when
  /// there is one to be fetched.
  func problemWithTakingIn() -> String? {
    memory.withLock { memory in
      guard let problem = memory.takeInProblem, !memory.takeIns.isDue() else { return nil }
      return problem
    }
  }

  // MARK: consent

  private func snapshotsToJoin(_ allowing: Bool) -> [Inbox.Snapshot] {
    let pending = inbox.withLock { $0.beginTaking() }
    guard let held = inbox.withLock({ $0.heldSnapshot?.snapshot }) else {
      if allowing {
        inbox.withLock { $0.forgetHeldContents() }
      } else {
        forgetWhatIsHere()
      }
      return pending.map { [$0] } ?? []
    }
    let isThereAnyway = have().covers(held.vector)
    guard allowing || isThereAnyway else { return pending.map { [$0] } ?? [] }
    inbox.withLock { $0.forgetHeldSnapshot() }
    // Deltas say the same, and whose they are: they are judged instead.
    if !allowing {
      store.keepIncoming(nil)
      remove(held)
    }
    return (allowing ? [held] : []) + (pending.map { [$0] } ?? [])
  }

  /// What was held back need not be known any more once all of it is here in deltas, or nobody has
  /// it.
  private func forgetWhatIsHere() {
    let contents = inbox.withLock { $0.heldContents.union($0.heldBefore) }
    let heads = memory.withLock { $0.heads }
    if contents.isEmpty || heads.isEmpty { return }
    let have = have()
    let isWaiting = heads.values.compactMap(\.snapshot).contains {
      contents.contains($0.content) && !have.covers($0.vector)
    }
    if !isWaiting { inbox.withLock { $0.forgetHeldContents() } }
  }

  /// What is here, visible or not.
  func have() -> VersionVector {
    var have = store.vector
    inbox.withLock { inbox in
      for device in Set(inbox.items.map(\.device)) {
        have[device] = inbox.reach(device, from: have[device])
      }
    }
    return have
  }

  private func join(
    _ pending: Inbox.Snapshot, _ allowing: Bool
  ) throws(CairnError) -> SyncOutcome? {
    let limit = allowing ? nil : massDeleteLimit
    let vector = store.vector
    if limit != nil, halvesWhatIsHeld(pending, vector) {
      // The rest would be judged as if that were all. What it has comes in deltas, or later.
      remove(pending)
      inbox.withLock { $0.holdBack(pending.content) }
      return nil
    }
    let before = inbox.withLock { $0.joinedDeletes }
    let here = store.totals.records + before
    var deletes = 0
    do throws(StoreError) {
      let outcome = try store.join(snapshot: pending.path) { count in
        deletes = count
        guard let limit, count > 0 else { return true }
        return count + before <= limit.records(of: here)
      }
      if outcome == nil {
        hold(pending, MassDelete(devices: [], records: deletes + before, recordsHere: here))
      } else if limit != nil {
        inbox.withLock { $0.joinedDeletes += deletes }
      }
      return outcome
    } catch {
      // What is wrong with the own files is not the snapshot's fault. That both together are more
      // than a snapshot can hold is nobody's: the deltas are there.
      let isTooLarge = error.kind == .sizeLimit || error.log?.reason == .limit
      guard isTooLarge || error.kind == .invalidOperation || error.log?.path == pending.path
      else {
        let failure = CairnError(error)
        noteNotTakenIn(failure)
        throw failure
      }
      try judge(error, pending)
      return nil
    }
  }

  /// Whether a snapshot has some of what waits for consent, and not all that a device has there.
  private func halvesWhatIsHeld(_ pending: Inbox.Snapshot, _ vector: VersionVector) -> Bool {
    inbox.withLock { inbox in
      inbox.items.contains { item in
        let reach = pending.vector[item.device]
        return inbox.held.contains(item.name) && reach > vector[item.device] && reach < item.last
      }
    }
  }

  /// Keeps it at home. Whose deltas delete what is not in there: it may be any device's of which it
  /// has more.
  private func hold(_ pending: Inbox.Snapshot, _ massDelete: MassDelete) {
    let vector = store.vector
    let users = memory.withLock { $0.heads.mapValues(\.user) }
    var massDelete = massDelete
    massDelete.devices = pending.vector.entries.filter { !vector.contains($0) }.map { dot in
      MassDelete.Device(
        id: dot.device.description, user: users[dot.device] ?? "", records: massDelete.records)
    }
    massDelete.isTogether = massDelete.devices.count > 1
    let held = Inbox.HeldSnapshot(snapshot: pending, massDelete: massDelete)
    let before = inbox.withLock { inbox in
      let before = inbox.heldSnapshot?.snapshot
      inbox.heldSnapshot = held
      inbox.holdBack(pending.content)
      return before
    }
    store.keepIncoming(pending.path)
    if let before, before.path != pending.path { remove(before) }
  }

  /// Best effort: what stays goes with the next opening.
  private func remove(_ snapshot: Inbox.Snapshot) {
    do { try machine.disk.remove(snapshot.path) } catch {}
  }
}
