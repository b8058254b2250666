import CairnDisk
import CairnLog
package import CairnMerge
import Synchronization

/// Taking in another device's whole state instead of the deltas that are in it.
extension Store {
  /// Why a snapshot of these vectors can't be joined with what is here; nil if it can.
  ///
  /// Each side must have seen what is behind the other's fence: of what is settled there only those
  /// can tell what became of it who have had it (MERGE.md, section 7).
  package func obstacle(
    toJoining vector: VersionVector, fence: VersionVector
  ) -> StoreError? {
    if let ending { return ending }
    guard isLinked else { return StoreError(.invalidOperation, Store.aloneMessage) }
    return state.withLock { Store.obstacle(Horizon(seen: vector, fence: fence), device, $0) }
  }

  private static let aloneMessage =
    "a local datastore has no other devices whose snapshots it could join; migrate it to an account"

  private static func obstacle(
    _ other: Horizon, _ device: DeviceID, _ guarded: Guarded
  ) -> StoreError? {
    let here = Horizon(seen: guarded.store.vector, fence: guarded.store.fence)
    if other.seen[device] > here.seen[device] {
      return StoreError(
        .invalidOperation,
        "the snapshot has \(other.seen[device]) deltas of this device, which has made "
          + "\(here.seen[device]): it was restored from a backup; exchange once more, and it takes "
          + "a new name first")
    }
    guard here.seen.merged(with: other.seen).entries.count < FormatBounds.devicesOfOthers
    else {
      return StoreError(
        .sizeLimit, "the snapshot can't be joined: together there are more devices than the format "
          + "has room for")
    }
    // Who has seen nothing has nothing to compare.
    if here.seen.isEmpty { return nil }
    if here.seen.covers(other.fence), other.seen.covers(here.fence) {
      return obstacle(toJoining: other.seen, guarded)
    }
    let missing = here.seen.covers(other.fence) ? "the snapshot lacks" : "this device lacks"
    return StoreError(
      .invalidOperation,
      "the snapshot can't be joined: \(missing) deltas that are settled on the other side; fetch "
        + "the deltas themselves")
  }

  /// Takes in a snapshot of another device: the state is then that of all deltas which are in it or
  /// here, as if those that were missing had been applied. What is pending is committed.
  ///
  /// The file at `temporary` (in the store's snapshot directory) is verified to the last byte
  /// first, and consumed unless `mayDelete` says no. Both states are merged into a new snapshot,
  /// row by row, while readers and writers go on; the log behind it has what they change meanwhile.
  /// If it throws, everything is as it was but for that commit.
  ///
  /// - Parameter mayDelete: asked before anything counts, with how many records that are here would
  ///   be gone; and again whenever it is more by then, what was pending being committed. If it says
  ///   no, nothing else is done, nil is returned, and the file stays.
  package func join(
    snapshot temporary: String, mayDelete: (Int) -> Bool = { _ in true }
  ) throws(StoreError) -> SyncOutcome? {
    var isRefused = false
    defer { if !isRefused { remove(temporary) } }
    // Who is told may compact or close: not in the turn.
    defer { tell() }
    let outcome = try withTurn { () throws(StoreError) -> SyncOutcome? in
      if let ending { throw ending }
      guard isLinked else { throw StoreError(.invalidOperation, Store.aloneMessage) }
      try checkPoison()
      _ = try SnapshotCheck.run(
        temporary, datastore: datastore, disk: machine.disk, isOthers: true
      ) { _, _ in }
      return try join(try openBase(0, temporary), mayDelete)
    }
    isRefused = outcome == nil
    return outcome
  }

  private func join(
    _ theirs: BaseSnapshot, _ mayDelete: (Int) -> Bool
  ) throws(StoreError) -> SyncOutcome? {
    let other = theirs.description.horizon
    let question = JoinQuestion(horizon: other, cuts: try cutsBrought(by: theirs))
    let early = state.withLock { obstacle(question, $0) }
    if let early { throw early }
    if vector.covers(other.seen) { return SyncOutcome() }
    try makeDirectoriesDurable()
    let (source, number, firstSegment) = try withState(freeze)
    // A fence may have moved on since the question.
    let frozen = source.description.horizon
    guard frozen.seen.isEmpty || frozen.seen.covers(other.fence) && other.seen.covers(frozen.fence)
    else { throw StoreError(.invalidOperation, "the fence moved on meanwhile; sync once more") }
    let path = directory + "/" + FileName.snapshots + "/" + FileName.snapshot(number)
    var result = SnapshotJoin.Result()
    try write(path) { writer throws(StoreError) in
      var join = SnapshotJoin(
        source, theirs, tables: options.followed ?? .all, writer: writer)
      result = try join.run()
    }
    let joined = Joined(
      number: number, path: path, firstSegment: firstSegment, question: question,
      seen: frozen.seen, result: result)
    var outcome = SyncOutcome()
    let merged = frozen.seen.merged(with: other.seen)
    outcome.appliedCount = SyncOutcome.share(of: merged.total &- frozen.seen.total)
    var deletes = result.deletes
    while mayDelete(deletes) {
      // Asked before what is pending is committed, too.
      if let late = state.withLock({ obstacle(question, $0) }) {
        remove(path)
        throw late
      }
      if try install(joined, &outcome, &deletes) { return outcome }
    }
    remove(path)
    return nil
  }

  /// What a snapshot is asked by that is to be joined.
  private struct JoinQuestion {
    var horizon: Horizon
    /// Those that it brings.
    var cuts: [Cut]
  }

  /// A snapshot that is written, and not the base yet.
  private struct Joined {
    var number: UInt64
    var path: String
    /// The log behind it begins there.
    var firstSegment: UInt64
    var question: JoinQuestion
    /// What had been seen here at the freeze.
    var seen: VersionVector
    var result: SnapshotJoin.Result
  }

  private func obstacle(_ question: JoinQuestion, _ guarded: Guarded) -> StoreError? {
    Store.obstacle(question.horizon, device, guarded)
      ?? Store.obstacle(to: question.cuts, of: question.horizon.seen, at: device, guarded)
  }

  /// Makes the joined snapshot the base. What was committed since the freeze is applied to it
  /// first, from the log, as an opening would; so nothing that can fail comes after CURRENT.
  ///
  /// What was asked at the beginning is asked once more: a cut that was made or applied meanwhile
  /// may not count what the snapshot brings, nor one in there what was written here.
  ///
  /// What the snapshot deletes may take along what was written meanwhile. If so many are gone then
  /// that it is more than `deletes`, that says how many, and false is returned: nothing is done but
  /// the commit of what is pending.
  private func install(
    _ joined: Joined, _ outcome: inout SyncOutcome, _ deletes: inout Int
  ) throws(StoreError) -> Bool {
    let allowed = deletes
    var gone: [UInt64] = []
    var kept: RecordTrash.Kept?
    var late: StoreError?
    let target: LogPosition?
    do throws(StoreError) {
      let base = try openBase(joined.number, joined.path)
      target = try withState(tells: false) { guarded throws(StoreError) in
        // The rows that a roll-back would go back to are about to go. Without a cut: one made now
        // would name what was seen before the join. Whoever has asked for it gets it with the next
        // commit.
        if let dot = try commitPending(&guarded) { outcome.committed = dot }
        late = obstacle(joined.question, guarded)
        if late == nil {
          var next = try stateBehind(base, joined.firstSegment, guarded)
          deletes = try outcome.note(joined.result, from: &guarded.store, to: &next)
          if deletes <= allowed {
            kept = try keepDeleted(
              outcome.changed, of: joined.question.horizon.seen, joined.seen, &guarded)
            for change in outcome.changed {
              next.journal.note(change.id, table: change.table, isLocal: false)
            }
            let current = self.next(joined.number, joined.firstSegment, guarded)
            try writeAnother(current, joined.path)
            if let kept { trash.remove(kept.outdated) }
            guarded.held = Store.stillHeld(guarded, behind: next.vector)
            guarded.store = next
            gone = settle(current, &guarded)
            outcome.summary = Store.summaryIfChanged(&guarded)
          }
        }
        guard let segment = guarded.tail.segment, guarded.tail.hasWritten else { return nil }
        return LogPosition(segment: segment.header.number, end: segment.end)
      }
    } catch {
      // Not if CURRENT names it all the same.
      let current = state.withLock { self.next(joined.number, joined.firstSegment, $0) }
      if !mayName(current) {
        remove(joined.path)
        if let kept { trash.takeBack(kept) }
      }
      throw error
    }
    let isDone = late == nil && deletes <= allowed
    if isDone { sweep(keeping: joined.number) } else if late != nil { remove(joined.path) }
    for segment in gone {
      remove(directory + "/" + FileName.log + "/" + FileName.segment(segment))
    }
    // What was pending is committed, and will be told, whatever becomes of the snapshot.
    if let target { try settleDurability(target) }
    if let late { throw late }
    return isDone
  }

  /// The state of a base and the log behind it, with everything else as it is now.
  private func stateBehind(
    _ base: BaseSnapshot, _ firstSegment: UInt64, _ guarded: Guarded
  ) throws(StoreError) -> StoreState {
    var next = StoreState(device: device, isAlone: false)
    next.ground.epoch = guarded.store.ground.epoch
    next.access = guarded.store.access
    next.indexNames = guarded.store.indexNames
    next.adopt(base, lastOwnTime: guarded.store.ownTime)
    // Their numbers stay.
    for table in guarded.store.tables { _ = next.table(table.name) }
    try next.readRulesOfBase()
    try next.readCuts()
    for segment in guarded.tail.segments where segment.number >= firstSegment {
      do throws(LogError) { try replay(segment, into: &next) } catch { throw StoreError(error) }
    }
    try next.readAccess()
    // Those who watch have been told of all this but for the base.
    next.journal = guarded.store.journal
    return next
  }

  private func replay(
    _ segment: LogTail.SegmentInfo, into state: inout StoreState
  ) throws(LogError) {
    let path = directory + "/" + FileName.log + "/" + FileName.segment(segment.number)
    guard let bytes = try DurableFile.read(path, limit: Int(UInt32.max), disk: machine.disk) else {
      throw LogError(.missing, path, "a segment of the log is missing")
    }
    let scan = try SegmentScan(bytes, path: path)
    // Segments that began after the freeze count without their headers.
    guard scan.end >= segment.bytes + SegmentHeader.size else {
      throw LogError(
        .corrupt, path, at: UInt64(scan.end), "what was written there just now can't be read")
    }
    var replay = SegmentReplay(scan: scan, path: path)
    try replay.run(into: &state)
  }

  /// Of the devices whose deltas are held those of which nothing has come along, and that do not
  /// wait for such. Whether more of the others is held is found out with the next delivery: nobody
  /// may be left out before that.
  private static func stillHeld(
    _ guarded: Guarded, behind joined: VersionVector
  ) -> [DeviceID: DeliveryPlan.HeldDevice] {
    let here = guarded.store.vector
    var held = guarded.held.filter { device, _ in joined[device] == here[device] }
    var count = -1
    while held.count != count {
      count = held.count
      let known = held
      held = known.filter { _, reason in
        guard case .behind(let other) = reason else { return true }
        return known[other] != nil
      }
    }
    return held
  }

  /// After the switch: the log's part of it. Returns the segments that nobody needs any more.
  private func settle(_ current: CurrentFile, _ guarded: inout Guarded) -> [UInt64] {
    guarded.current = current
    // The dictionary of the segment that grows has numbers for slots that are no more.
    guarded.tail.mustRotate = true
    return dropSegments(current, &guarded)
  }
}
