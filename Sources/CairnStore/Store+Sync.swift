import CairnBytes
import CairnDisk
import CairnLog
package import CairnMerge
import Synchronization

extension Store {
  /// Commits what is pending as one delta, and makes it durable as the options say. If it throws
  /// before the disk took it, it is pending still.
  ///
  /// - Returns: The own delta, nil if there was nothing to commit; and whether there is a summary,
  ///   to be taken with `takeSummary`.
  package func commit() throws(StoreError) -> (dot: Dot?, hasSummary: Bool) {
    try checkPoison()
    let mark = durableMark
    var hasSummary = false
    let (dot, target, isCalm) = try withState {
      guarded throws(StoreError) -> (Dot?, LogPosition?, Bool) in
      let dot = try commitAndSettle(&guarded)
      if guarded.store.knownTitle == nil {
        // Another thread may not have taken the last one yet, and this commit may say nothing.
        if let summary = Store.summaryIfChanged(&guarded) { guarded.untoldSummary = summary }
        hasSummary = true
      }
      return (
        dot, Store.target(&guarded.tail, beyond: mark), !mayNeedCompaction(&guarded)
      )
    }
    guard let target else { return (dot, hasSummary) }
    try settleDurability(target)
    if !isCalm { startCompactionIfDue() }
    return (dot, hasSummary)
  }

  /// What a list would say since the last commit, if the title may be another one. What else a
  /// commit changes there is asked for when it is needed: `Store.committed`.
  package func takeSummary() -> StoreSummary? {
    state.withLock { guarded in
      defer { guarded.untoldSummary = nil }
      return guarded.untoldSummary
    }
  }

  /// Commits what is pending as one delta, then applies what can be applied of `packs`, and makes
  /// both durable as the options say. If it throws before the disk took them, both are as before.
  @discardableResult
  package func sync(packs: [[UInt8]] = []) throws(StoreError) -> SyncOutcome {
    var outcome = SyncOutcome()
    try checkPoison()
    let packs = options.followed.map { chosen(packs, $0) } ?? packs
    let mark = durableMark
    let target = try withState { guarded throws(StoreError) -> LogPosition? in
      outcome.committed = try commitAndSettle(&guarded)
      if !packs.isEmpty { try incorporate(packs, &guarded, &outcome) }
      outcome.summary = Store.summaryIfChanged(&guarded)
      return Store.target(&guarded.tail, beyond: mark)
    }
    guard let target else { return outcome }
    try settleDurability(target)
    startCompactionIfDue()
    return outcome
  }

  private func commitAndSettle(_ guarded: inout Guarded) throws(StoreError) -> Dot? {
    let dot = try commit(&guarded)
    // What was recovered shows like everything else, and a power cut could still take it.
    if options.durability == .full { try settleDoubt(&guarded) }
    return dot
  }

  /// What has to be durable, also of what an earlier sync has written that then failed: this one
  /// vouches for all of it. Nil if all is.
  private static func target(_ tail: inout LogTail, beyond mark: LogPosition) -> LogPosition? {
    guard let number = tail.segment?.header.number, let offset = tail.segment?.end else {
      return nil
    }
    let end = LogPosition(segment: number, end: offset)
    return end > mark && tail.hasWritten ? end : nil
  }

  /// The same packs with nothing of tables that are not kept. One whose bytes are wrong stays as it
  /// is: it is found out as all of them are.
  private func chosen(_ packs: [[UInt8]], _ tables: TableChoice) -> [[UInt8]] {
    packs.map { pack in
      do throws(DecodeError) { return try tables.chosen(of: pack) } catch { return pack }
    }
  }

  func settleDurability(_ target: LogPosition) throws(StoreError) {
    switch options.durability {
    case .none: return
    case .full: try makeDurable(target)
    case .periodic(let milliseconds):
      let now = machine.clock.now()
      let isDue = state.withLock { guarded in
        // A clock that jumped back counts as due.
        let isDue = now - guarded.lastSync >= milliseconds || now < guarded.lastSync
        if isDue { guarded.lastSync = now }
        return isDue
      }
      if isDue { try makeDurable(target) }
    }
  }

  /// Whatever the durability: everything that was committed so far survives a power cut after this.
  package func flush() throws(StoreError) {
    try checkProcess()
    let target = try withState { guarded throws(StoreError) in
      try settleDoubt(&guarded)
      return LogPosition(
        segment: guarded.tail.segment?.header.number ?? 0, end: guarded.tail.segment?.end ?? 0)
    }
    try makeDurable(target)
  }

  func commit(_ guarded: inout Guarded) throws(StoreError) -> Dot? {
    do throws(StoreError) {
      let hasCut = try addCuts(&guarded)
      let dot = try commitPending(&guarded)
      if dot != nil { guarded.retiring = [] }
      // One that is not due yet stays asked for.
      if dot != nil, hasCut { guarded.wantsCut = nil }
      return dot
    } catch {
      guarded.store.dropPendingCuts()
      throw error
    }
  }

  /// Without any cut.
  func commitPending(_ guarded: inout Guarded) throws(StoreError) -> Dot? {
    if let table = guarded.store.tables.tableOfOnlyList,
      let dot = try commitStroke(in: table, &guarded)
    {
      return dot
    }
    guard guarded.store.hasPending else { return nil }
    try prepareTail(&guarded, forCuts: guarded.store.tables.havePendingCuts)
    defer {
      // That of a large one is given back.
      guarded.tail.draft.splices.removeAll()
      guarded.tail.giveBackScratch()
      if guarded.tail.draft.rows.count > LogTail.draftCellsKept { guarded.tail.draft = Delta() }
    }
    return try commitDraft(&guarded)
  }

  /// One stroke in one list; nil if it is more that is pending, or nothing that makes a difference.
  private func commitStroke(
    in table: Int, _ guarded: inout Guarded
  ) throws(StoreError) -> Dot? {
    if !isReady(&guarded.tail) { try prepareTail(&guarded) }
    guarded.tail.beginFrame()
    guard
      let done = guarded.store.encodeStroke(
        in: table, time: machine.clock.now(), by: &guarded.tail.encoder,
        into: &guarded.tail.scratch)
    else { return nil }
    defer { guarded.tail.giveBackScratch() }
    try appendOwn(done.dot, &guarded)
    guarded.store.commit(done)
    return done.dot
  }

  /// Whether `prepareTail` has nothing to do for data.
  private func isReady(_ tail: inout LogTail) -> Bool {
    guard let end = tail.segment?.end, end < options.segmentBytes,
      tail.segment?.isCrowded == false
    else { return false }
    return isSound && !tail.mustRotate && tail.doubt == nil && !tail.doubtsCurrent
      && tail.segment?.header.floor ?? 0 >= FormatVersion.floor
  }

  /// The delta is made where it lies: moved to here and back it would be copied six times.
  private func commitDraft(_ guarded: inout Guarded) throws(StoreError) -> Dot? {
    let collected: TableState.CommitScope?
    do throws(StoreError) {
      collected = try guarded.store.collect(
        into: &guarded.tail.draft, time: machine.clock.now(),
        dictionaryCount: guarded.tail.encoder.recordCount)
    } catch {
      // Some records may have got numbers that the segment does not know.
      guarded.tail.mustRotate = true
      throw error
    }
    guard let scope = collected else {
      // Nothing of the pending changes makes a difference.
      guarded.store.rollBack()
      return nil
    }
    // A reader would refuse it, and so would the next opening.
    if guarded.tail.draft.isBeyondBounds() {
      guarded.tail.mustRotate = true
      throw StoreError(
        .sizeLimit,
        "a commit of changes in \(guarded.tail.draft.sections.count) tables, with "
          + "\(guarded.tail.draft.columns.count) fields, is beyond the format's bounds: sync more "
          + "often, or roll back")
    }
    guarded.tail.beginFrame()
    Store.encode(
      &guarded.tail.draft, by: &guarded.tail.encoder, heap: guarded.store.ground.heap,
      into: &guarded.tail.scratch)
    try checkDevices(&guarded)
    let dot = guarded.tail.draft.dot
    try appendOwn(dot, &guarded)
    do throws(StoreError) { try guarded.store.commit(&guarded.tail.draft, scope) } catch {
      throw endTorn(&guarded, error)
    }
    return dot
  }

  /// What was encoded can be read again. If not, the next try has a segment of its own.
  private func checkDevices(_ guarded: inout Guarded) throws(StoreError) {
    let count = guarded.tail.encoder.deviceCount
    guard count >= FormatBounds.devices else { return }
    guarded.tail.mustRotate = true
    throw StoreError(
      .sizeLimit,
      "a commit that names \(count) devices is beyond the format's bounds; sync once more, and if "
        + "it is said again, repair the datastore")
  }

  /// Each by itself: as parts of one thing they would be copied before one of them may change.
  private static func encode(
    _ delta: inout Delta, by encoder: inout DeltaEncoder, heap: [UInt8],
    into out: inout [UInt8]
  ) {
    encoder.encode(delta, heap: heap, into: &out)
  }

  /// Writes the scratch as the frame of an own delta.
  private func appendOwn(_ dot: Dot, _ guarded: inout Guarded) throws(StoreError) {
    let count = guarded.tail.scratch.count - FrameFormat.headerSize
    guard count <= FormatBounds.deltaBytes else {
      guarded.tail.mustRotate = true
      throw StoreError(.sizeLimit, "a commit of \(count) bytes is beyond the format's bounds")
    }
    try append(.delta, dot, &guarded)
  }

  /// Writes the scratch as a frame. The encoder has moved on already, so a failure ends the
  /// segment.
  private func append(
    _ kind: FrameKind, _ dot: Dot, _ guarded: inout Guarded
  ) throws(StoreError) {
    guard let number = guarded.tail.segment?.header.number else {
      throw StoreError(.invalidOperation, "the log has no segment to write to")
    }
    do throws(LogError) {
      try guarded.tail.append(kind, dot, durableThrough: durableThrough(number))
    } catch {
      guarded.tail.mustRotate = true
      throw StoreError(error)
    }
  }

  /// Makes sure that there is a segment with room, and that its dictionary can be trusted. One for
  /// cuts is closed to versions that know none: they would take these for data.
  func prepareTail(_ guarded: inout Guarded, forCuts: Bool = false) throws(StoreError) {
    // Whoever had to wait for a seal whose sync then failed would write behind it.
    try checkPoison()
    try settleDoubt(&guarded)
    try settleCurrent(&guarded)
    let floor = forCuts ? FormatVersion.cuts : FormatVersion.floor
    if let end = guarded.tail.segment?.end {
      let isFit = guarded.tail.segment?.header.floor ?? 0 >= floor && !guarded.tail.mustRotate
      if isFit, end < options.segmentBytes, guarded.tail.segment?.isCrowded == false { return }
      if guarded.tail.mustRotate, try beginAnew(&guarded, floor) { return }
      try sealTail(&guarded)
    }
    try checkPlace()
    if guarded.tail.nextNumber == 1 { try makeDirectoriesDurable() }
    let header = SegmentHeader(
      datastore: datastore, device: device.rawValue, number: guarded.tail.nextNumber,
      floor: floor)
    do throws(LogError) {
      guarded.tail.segment = try createSegment(header, after: guarded.tail.chain)
    } catch { throw StoreError(error) }
    guarded.tail.nextNumber += 1
    guarded.tail.mustRotate = false
    guarded.tail.encoder = DeltaEncoder()
    guarded.tail.segments.append(LogTail.SegmentInfo(number: header.number))
    guarded.store.forgetReferences()
  }

  /// Where nothing was written to it, a segment can have another dictionary: with another file for
  /// each try a disk would soon be full. False if it can't.
  private func beginAnew(_ guarded: inout Guarded, _ floor: UInt16) throws(StoreError) -> Bool {
    guard let end = guarded.tail.segment?.end, let header = guarded.tail.segment?.header,
      end == SegmentHeader.size, header.floor >= floor,
      // An opening reads none before these.
      header.number >= guarded.current.firstSegment
    else { return false }
    // Behind a shorter frame an opening would take what a write has left that failed for a torn
    // tail.
    do throws(LogError) { try guarded.tail.segment?.trim() } catch { throw StoreError(error) }
    guarded.tail.mustRotate = false
    guarded.tail.encoder = DeltaEncoder()
    guarded.store.forgetReferences()
    return true
  }

  private func createSegment(
    _ header: SegmentHeader, after chain: UInt128
  ) throws(LogError) -> ActiveSegment {
    let log = directory + "/" + FileName.log
    func create() throws(LogError) -> ActiveSegment {
      try ActiveSegment.create(
        directory: log, header: header, previousChain: chain, disk: machine.disk)
    }
    do throws(LogError) { return try create() } catch {
      guard case .disk(let disk) = error.reason, disk.reason == .exists else { throw error }
      // Left over from an earlier creation; nothing was ever in it, and its name may not last.
      do { try machine.disk.remove(log + "/" + FileName.segment(header.number)) } catch {
        throw LogError(error)
      }
      return try create()
    }
  }

  /// Before anything builds on what was recovered: writes once more what nothing vouches for, and
  /// syncs it, so that what comes next can vouch for it.
  func settleDoubt(_ guarded: inout Guarded) throws(StoreError) {
    // The first CURRENT can wait: nothing is there that it could take away.
    if guarded.current.snapshot != 0 { try settleCurrent(&guarded) }
    guard let doubt = guarded.tail.doubt else { return }
    do throws(DiskError) {
      try doubt.file.write(doubt.bytes.span, at: UInt64(doubt.offset))
      try doubt.file.sync()
      if doubt.offset == 0 {
        try machine.disk.syncDirectory(directory + "/" + FileName.log)
      }
    } catch { throw StoreError(LogError(error)) }
    guarded.tail.doubt = nil
    if let segment = guarded.tail.segment {
      vouch(LogPosition(segment: segment.header.number, end: doubt.offset + doubt.bytes.count))
    }
  }

  /// Makes sure that CURRENT is what a power cut leaves, before anything builds on it. Whoever made
  /// it may have been killed before its name was durable, or the sync of that has failed: then no
  /// later one can be believed, and it is written anew: with the flag first, or else the next
  /// process would find it without, durable or not.
  func settleCurrent(_ guarded: inout Guarded) throws(StoreError) {
    guard guarded.tail.doubtsCurrent else { return }
    try checkPlace()
    let current = guarded.current
    do throws(LogError) {
      try whileNothingElseIsReplaced { () throws(LogError) in
        try current.unsettled.write(directory: directory, machine: machine)
        writeSettled(current)
      }
    } catch { throw StoreError(error) }
    guarded.tail.doubtsCurrent = false
  }

  /// Whoever made the directories may have been killed before their names were durable.
  func makeDirectoriesDurable() throws(StoreError) {
    do throws(DiskError) {
      try machine.disk.createDirectory(directory)
      try machine.disk.createDirectory(directory + "/" + FileName.log)
    } catch { throw StoreError(LogError(error)) }
  }

  /// Closes the segment that grows: footer, sync.
  func sealTail(_ guarded: inout Guarded) throws(StoreError) {
    // A seal whose sync failed is there already; a second one would spoil the segment.
    try checkPoison()
    try settleDoubt(&guarded)
    guard guarded.tail.segment != nil else { return }
    do throws(LogError) {
      let durable = durableThrough(guarded.tail.segment?.header.number ?? 0)
      if let chain = try guarded.tail.segment?.seal(durableThrough: durable) {
        guarded.tail.chain = chain
      }
    } catch { throw StoreError(error) }
    try syncTail(&guarded)
    // The file is closed with its last reference: a committer may be syncing it just now.
    guarded.tail.segment = nil
  }

  private func syncTail(_ guarded: inout Guarded) throws(StoreError) {
    do { try guarded.tail.segment?.file.sync() } catch {
      poison()
      throw Store.poisonError(LogError(error))
    }
    // A committer may be syncing the file, too, and be the one who is told of a failure: then this
    // sync has said yes for nothing, and no opening looks once more at a segment behind which there
    // is another one.
    tailSync.withLock { _ in }
    try checkPoison()
  }

  private func incorporate(
    _ packs: [[UInt8]], _ guarded: inout Guarded,
    _ outcome: inout SyncOutcome
  ) throws(StoreError) {
    let gate = DeliveryGate(guarded.store, words: guarded.words, rumours: guarded.rumours)
    let plan = Delivery.plan(packs, vector: guarded.store.vector, gate: gate)
    guarded.rumours = plan.rumours
    outcome.failures = plan.failures
    outcome.appliedLast = plan.last
    outcome.held = plan.held
    outcome.refused = plan.refused
    outcome.cutOff = plan.cutOff
    guarded.held = plan.heldDevices
    var delivery = Delivery()
    var frame = FrameFormat.emptyHeader
    let chosen = packs.indices.filter { plan.last[$0] > 0 }
    if chosen.isEmpty { return }
    frame.putVarint(chosen.count)
    for index in chosen {
      frame.putVarint(plan.last[index])
      frame.putBlob(packs[index])
      do throws(DecodeError) {
        delivery.add(try PackReader(packs[index]), last: plan.last[index])
      } catch { outcome.failures[index] = error }
    }
    // The next commit, which would give it back, may be hours away.
    defer { guarded.tail.giveBackScratch() }
    try appendPacks(&frame, plan, &guarded)
    guarded.syncNumber += 1
    guarded.store.totals.reporting = guarded.syncNumber
    defer { guarded.store.totals.reporting = 0 }
    do throws(StoreError) { try delivery.run(into: &guarded.store) } catch {
      throw endTorn(&guarded, error)
    }
    outcome.appliedCount = delivery.appliedCount
    report(&guarded.store, &outcome)
  }

  /// Writes packs as a frame, once what they delete is in the trash: it is taken out again if the
  /// packs do not come into the log.
  private func appendPacks(
    _ frame: inout [UInt8], _ plan: DeliveryPlan.Result, _ guarded: inout Guarded
  ) throws(StoreError) {
    let kept = try keepDeleted(plan.deletes, &guarded)
    var mayBeLogged = false
    do throws(StoreError) {
      try prepareTail(&guarded, forCuts: plan.hasCuts)
      swap(&guarded.tail.scratch, &frame)
      mayBeLogged = true
      try append(.pack, Dot(device: DeviceID(rawValue: 0), sequence: 0), &guarded)
      if let kept { trash.remove(kept.outdated) }
    } catch {
      if let kept {
        takeBack(kept, mayBeLogged: mayBeLogged, &guarded)
        if case .disk(let disk)? = error.log?.reason, disk.reason == .noSpace {
          trash.makeRoom(kept)
        }
      }
      throw error
    }
  }

  private func report(_ store: inout StoreState, _ outcome: inout SyncOutcome) {
    for number in store.tables.indices where !store.tables[number].reported.isEmpty {
      let name = store.tables[number].name
      // Nobody's data.
      if name == CutTable.name {
        store.tables[number].reported.removeAll()
        continue
      }
      for slot in store.tables[number].reported {
        let change = SyncOutcome.Changed(
          table: name, id: store.tables[number].ids[slot],
          isDeleted: !store.tables[number].exists(slot))
        report(change, store.tables[number].complex[slot], &store, &outcome)
      }
      store.tables[number].reported.removeAll()
    }
    var seen: Set<SyncOutcome.Changed> = []
    for row in store.decidedRows {
      let change = SyncOutcome.Changed(
        table: store.tables[row.table].name, id: row.id, isDeleted: false)
      // One that has a slot by now was changed later in this sync, and is among those.
      if store.tables[row.table].findSlot(row.id) == nil, seen.insert(change).inserted {
        report(change, row.state, &store, &outcome)
      }
    }
    store.decidedRows = []
  }

  private func report(
    _ change: SyncOutcome.Changed, _ state: RecordState?, _ store: inout StoreState,
    _ outcome: inout SyncOutcome
  ) {
    store.journal.note(change.id, table: change.table, isLocal: false)
    outcome.changed.append(change)
    guard let state else { return }
    let rules = store.rules
    for conflict in state.conflicts(rule: { rules.rule(table: change.table, field: $0) }) {
      outcome.conflicts.append(
        SyncOutcome.Conflict(table: change.table, id: change.id, conflict: conflict))
    }
  }
}
