import CairnDisk
import CairnLog
import CairnMerge
import Synchronization

/// What a compaction did, or would do.
package struct CompactionOutcome: Sendable, Equatable {
  package var bytesBefore: UInt64 = 0
  package var bytesAfter: UInt64 = 0
  package var records = 0
}

extension Store {
  /// Folds the log into a new snapshot. Readers and writers go on meanwhile; what they change is
  /// in the log behind it. Memory: the overlay, one block, and the index of the new file.
  ///
  /// In an account's datastore the next commit asks the others for a fence, if the options say so
  /// and it is worth while.
  package func compact() throws(StoreError) -> CompactionOutcome {
    let outcome = try tellingOfItsEnd { () throws(StoreError) in
      try inTurn { () throws(StoreError) in try runCompaction() }
    }
    if options.cutsAutomatically { requestCut(from: options.cutFrom) }
    keep(nil)
    return outcome
  }

  private func runCompaction() throws(StoreError) -> CompactionOutcome {
    // Its files may be gone.
    if let ending { throw ending }
    try checkPlace()
    defer { state.withLock { $0.frozenBytes = nil } }
    var outcome = CompactionOutcome(bytesBefore: try bytesOnDisk())
    let (source, number, firstSegment) = try withState { guarded throws(StoreError) in
      let frozen = try freeze(&guarded)
      guarded.frozenBytes = guarded.store.overlayBytes
      return frozen
    }
    let path = directory + "/" + FileName.snapshots + "/" + FileName.snapshot(number)
    outcome.records = source.totals.recordCount
    try build(path, from: source)
    try install(number: number, path: path, firstSegment: firstSegment)
    outcome.bytesAfter = try bytesOnDisk()
    return outcome
  }

  /// Nobody holds the source behind this: together with what was written since, it is the overlay
  /// twice, and a third one is made when memory is switched over.
  private func build(
    _ path: String, from source: SnapshotBuild.Source
  ) throws(StoreError) {
    try write(path) { writer throws(StoreError) in
      var build = SnapshotBuild(source, writer: writer, columnsMax: options.rowColumns)
      _ = try build.run()
    }
  }

  /// What a compaction would leave, found by building the snapshot for nothing.
  package func previewCompaction() throws(StoreError) -> CompactionOutcome {
    if let ending { throw ending }
    let before = try bytesOnDisk()
    let (source, kept) = try withState { guarded throws(StoreError) in
      // Segments with own deltas that are not published yet stay.
      let first = self.keptFrom(guarded.tail.nextNumber, guarded)
      let kept = guarded.tail.segments.filter { $0.number >= first }.reduce(0) { $0 + $1.bytes }
      return (try self.source(&guarded), UInt64(kept))
    }
    var build = SnapshotBuild(
      source, writer: SnapshotWriter(file: UnkeptFile(), datastore: datastore),
      columnsMax: options.rowColumns)
    let after = try build.run()
    return CompactionOutcome(
      bytesBefore: before, bytesAfter: after + kept, records: source.totals.recordCount)
  }

  /// The committed state, as values; later changes go to a new segment and a new epoch.
  func freeze(
    _ guarded: inout Guarded
  ) throws(StoreError) -> (SnapshotBuild.Source, number: UInt64, firstSegment: UInt64) {
    try sealTail(&guarded)
    let source = try source(&guarded)
    guarded.store.ground.epoch += 1
    // Pending changes belong to the new epoch although they were made in the old one.
    for index in guarded.store.tables.indices {
      for pending in guarded.store.tables[index].pendingRecords {
        guarded.store.tables[index].epochs[pending.slot] = guarded.store.ground.epoch
      }
    }
    return (source, nextSnapshot(guarded.current), guarded.tail.nextNumber)
  }

  func source(_ guarded: inout Guarded) throws(StoreError) -> SnapshotBuild.Source {
    guarded.store.addBaseTables()
    // Pending changes are taken back in a copy: rules among them decide what everything counts
    // with.
    var store = guarded.store
    if store.hasPending {
      store.rollBack()
      try store.readRules()
    }
    var description = SnapshotDescription()
    description.vector = store.vector
    description.fence = store.fence
    description.contexts = store.allContexts
    description.modified = store.modified
    return SnapshotBuild.Source(
      datastore: datastore, tables: store.tables, ground: store.ground, rules: store.rules,
      totals: store.totals, description: description, isAlone: store.isAlone)
  }

  /// Writes a snapshot file durably: under its own name when it is whole.
  func write(
    _ path: String, _ build: (SnapshotWriter) throws(StoreError) -> Void
  ) throws(StoreError) {
    try checkPlace()
    let directory = self.directory + "/" + FileName.snapshots
    let temporary = temporarySnapshotPath()
    let file: any DiskFile
    do { file = try machine.disk.open(temporary, .create) } catch {
      throw StoreError(LogError(error))
    }
    let writer = SnapshotWriter(
      file: file, datastore: datastore,
      spill: SpillPlace(machine: machine, directory: directory, records: options.indexRecords))
    do throws(StoreError) {
      defer {
        file.close()
        writer.discard()
      }
      try build(writer)
    } catch {
      remove(temporary)
      throw error
    }
    do throws(DiskError) {
      try machine.disk.rename(temporary, to: path)
      try machine.disk.syncDirectory(directory)
    } catch {
      remove(temporary)
      throw StoreError(LogError(error))
    }
  }

  /// Makes a written snapshot the base: CURRENT first, then memory, then the old files go.
  ///
  /// An adopted snapshot brings a state of its own; a compaction's is the one that is there.
  func install(
    number: UInt64, path: String, firstSegment: UInt64, isAdopted: Bool = false
  ) throws(StoreError) {
    var base = try orRemove(path) { () throws(StoreError) in try openBase(number, path) }
    prepareIndexes(&base)
    let found = try orRemove(path) { () throws(StoreError) in
      isAdopted ? [:] : try prepareBlocks(&base)
    }
    let (prepared, places) = (base, found)
    let old: [UInt64]
    if isAdopted {
      // In one go: nothing may be written here between the question and the switch.
      old = try withState(tells: false) { guarded throws(StoreError) in
        try orRemove(path) { () throws(StoreError) in try requireBlank(guarded) }
        let next = self.next(number, firstSegment, guarded)
        try writeAnother(next, path)
        return try switchOver(to: prepared, places, next, &guarded, isAdopted: true)
      }
    } else {
      let next = try orRemove(path) { () throws(StoreError) in
        try withState { self.next(number, firstSegment, $0) }
      }
      try write(next, path)
      old = try withState(tells: false) { guarded throws(StoreError) in
        try switchOver(to: prepared, places, next, &guarded, isAdopted: false)
      }
    }
    sweep(keeping: number)
    for segment in old {
      remove(directory + "/" + FileName.log + "/" + FileName.segment(segment))
    }
  }

  /// A step before CURRENT may name a new snapshot: where it fails, no file as large as the
  /// datastore is left.
  private func orRemove<R>(
    _ path: String, _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    do throws(StoreError) { return try body() } catch {
      remove(path)
      throw error
    }
  }

  /// Opens a snapshot that was written here or passed `SnapshotCheck`.
  func openBase(_ number: UInt64, _ path: String) throws(StoreError) -> BaseSnapshot {
    let reader: SnapshotReader
    do { reader = try SnapshotReader(path, disk: machine.disk, isOwn: true) } catch {
      throw StoreError(error)
    }
    return try BaseSnapshot(number: number, reader: reader, budget: options.cacheBytes)
  }

  /// Unpacks what the switch and the reads behind it will ask for, and finds the places of what was
  /// changed meanwhile, by table. Under the lock each of these blocks would hold up every reader.
  private func prepareBlocks(
    _ base: inout BaseSnapshot
  ) throws(StoreError) -> [String: [RecordName: RowPlace]] {
    let (changed, isWhole) = try withState { guarded throws(StoreError) in
      (guarded.store.changedInEpoch, guarded.store.ground.base?.isWhole ?? false)
    }
    if isWhole { try base.fill() }
    var places: [String: [RecordName: RowPlace]] = [:]
    for (table, names) in changed {
      guard let number = base.tableNumber(table) else { continue }
      var found: [RecordName: RowPlace] = [:]
      for name in names { found[name] = try base.find(name, table: number) ?? RowPlace.none }
      places[table] = found
    }
    return places
  }

  /// The switch in memory; returns the segments that nobody needs any more.
  private func switchOver(
    to base: BaseSnapshot, _ places: [String: [RecordName: RowPlace]], _ next: CurrentFile,
    _ guarded: inout Guarded, isAdopted: Bool
  ) throws(StoreError) -> [UInt64] {
    guarded.current = next
    do throws(StoreError) {
      if isAdopted {
        guarded.store.adopt(base)
        try guarded.store.readRulesOfBase()
        try guarded.store.readAccess()
        try guarded.store.readCuts()
      } else {
        try guarded.store.rebase(on: base, places)
      }
    } catch {
      // CURRENT names the new base already.
      throw endTorn(&guarded, error)
    }
    guarded.overlayBegan = machine.clock.now()
    let before = guarded.tail.replayBytes
    defer { guarded.foldedBytes += max(0, before - guarded.tail.replayBytes) }
    return dropSegments(next, &guarded)
  }

  /// Forgets the segments that nobody needs any more, and returns them.
  func dropSegments(_ current: CurrentFile, _ guarded: inout Guarded) -> [UInt64] {
    let gone = guarded.tail.segments.filter { $0.number < current.firstKept }.map(\.number)
    guarded.tail.segments.removeAll { $0.number < current.firstKept }
    guarded.tail.replayBytes = guarded.tail.segments.reduce(0) {
      $0 + ($1.number >= current.firstSegment ? $1.bytes : 0)
    }
    return gone
  }

  func requireBlank(_ guarded: Guarded) throws(StoreError) {
    guard guarded.store.vector.isEmpty, !guarded.store.hasPending else {
      throw StoreError(.invalidOperation, "the datastore has content of its own meanwhile")
    }
  }

  /// The first segment that is still needed: for replay, or for own deltas not in the folder.
  func keptFrom(_ firstSegment: UInt64, _ guarded: Guarded) -> UInt64 {
    guard isLinked else { return firstSegment }
    let there = min(guarded.published, (guarded.lacking ?? .max) - 1)
    let unpublished = guarded.tail.segments.first { $0.lastOwn > there }
    return min(firstSegment, unpublished?.number ?? firstSegment)
  }

  /// Removes old snapshots and what crashes left behind.
  func sweep(keeping number: UInt64) {
    let snapshots = directory + "/" + FileName.snapshots
    do throws(DiskError) {
      for entry in try machine.disk.list(snapshots) {
        let isOld = FileName.snapshotNumber(entry.name).map { $0 < number } ?? false
        let path = snapshots + "/" + entry.name
        if isOld || FileName.isTemporary(entry.name), path != incoming.withLock({ $0 }),
          path != waiting.withLock({ $0 })
        {
          remove(path)
        }
      }
      try whileNothingElseIsReplaced { () throws(DiskError) in
        for entry in try machine.disk.list(directory) where FileName.isTemporary(entry.name) {
          remove(directory + "/" + entry.name)
        }
      }
    } catch {
      // The next compaction sweeps again.
    }
    // Records are put into the trash under the state's lock.
    state.withLock { _ in trash.sweep() }
  }

  /// Best effort: what can't be removed is not named anywhere, and goes with the next compaction.
  func remove(_ path: String) {
    do { try machine.disk.remove(path) } catch {}
  }

  /// All files of the store, as the disk counts their lengths.
  package func bytesOnDisk() throws(StoreError) -> UInt64 {
    var total: UInt64 = 0
    do throws(DiskError) {
      for part in [FileName.log, FileName.snapshots] {
        for entry in try machine.disk.list(directory + "/" + part) { total += entry.info.size }
      }
    } catch { throw StoreError(LogError(error)) }
    return total
  }

  // MARK: when

  /// After a commit. Whoever fills the memory faster than it is folded waits: what is there twice
  /// while a compaction runs would otherwise have no bound.
  func startCompactionIfDue() {
    guard options.compactsAutomatically else { return }
    let (isLong, due, waits) = state.withLock { guarded -> (Bool, Int?, Bool) in
      if let frozen = guarded.frozenBytes {
        return (false, nil, guarded.store.overlayBytes - frozen > options.overlayBytes / 4)
      }
      if !mayNeedCompaction(&guarded) { return (false, nil, false) }
      let length = guarded.tail.replayBytes
      let isLong = length > threshold(guarded)
      let waits = !guarded.isTurnTaken && isLoading(guarded)
      let isDue = guarded.isOpen && (isLong || isFenceDue(guarded))
      return (isLong, isDue ? length : nil, waits)
    }
    if let due, !compaction.withLock({ $0.isTooEarly(due) }) { startCompaction(isLong: isLong) }
    if waits { compaction.withLock { $0.thread }?.join() }
  }

  /// Not, as a rule: while the log is short, there is no fence, and no compaction is under way.
  /// Takes no copy of what is guarded.
  func mayNeedCompaction(_ guarded: inout Guarded) -> Bool {
    guarded.tail.replayBytes > options.compactFrom || guarded.frozenBytes != nil
      || !guarded.store.cuts.cuts.isEmpty || options.cutFrom <= 0
  }

  /// One at a time. Refused in a forked child: the turn that its parent had when it was forked is
  /// never given back there.
  private func inTurn<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    try checkProcess()
    return try compactionTurn.withLock { _ throws(StoreError) in
      // No commit may replace CURRENT beside this.
      try state.withLock { guarded throws(StoreError) in
        if guarded.isOpen { try settleCurrent(&guarded) }
      }
      return try body()
    }
  }

  /// For what makes another snapshot the base: one compaction or one of these at a time.
  func withTurn<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    try inTurn { () throws(StoreError) in
      state.withLock { $0.isTurnTaken = true }
      defer { state.withLock { $0.isTurnTaken = false } }
      return try body()
    }
  }

  /// Whether one runs in the background.
  var isCompacting: Bool {
    compaction.withLock { $0.thread.map { !$0.isFinished } ?? false }
  }

  private func startCompaction(isLong: Bool) {
    if options.compactsInline { return compactNow(isLong: isLong) }
    compaction.withLock { running in
      if let thread = running.thread {
        guard thread.isFinished else { return }
        thread.join()
      }
      running.thread = BackgroundThread { [weak self] in
        self?.compactNow(isLong: isLong)
      }
    }
  }

  /// So much has come in so little time that nobody can be sitting in front of it. Who waits before
  /// it goes on has nothing copied that is being folded.
  private func isLoading(_ guarded: Guarded) -> Bool {
    guard let began = guarded.overlayBegan, guarded.store.overlayBytes > options.overlayBytes else {
      return false
    }
    // Of a clock that has jumped back nobody knows how long it was.
    return (0..<Store.loadingMilliseconds).contains(machine.clock.now() &- began)
  }

  private static let loadingMilliseconds: Int64 = 30_000

  /// A failure is kept: a later commit tries again. One that only follows a fence does not ask for
  /// the next one.
  private func compactNow(isLong: Bool) {
    do throws(StoreError) {
      _ = try inTurn { () throws(StoreError) in try runCompaction() }
      if isLong, options.cutsAutomatically { requestCut(from: options.cutFrom) }
      keep(nil)
    } catch {
      // Of a store that has ended everything says so.
      if ending == nil { keep(error) } else { tellOfCompaction() }
    }
  }

  /// What the last one ended with; whoever wants to know hears when one fails, and when one
  /// succeeds again.
  private func keep(_ failure: StoreError?) {
    let length = state.withLock { $0.tail.replayBytes }
    let isNews = compaction.withLock { state in
      defer { state.end(failure, length: length, step: options.compactFrom) }
      return failure != nil || state.failure != nil
    }
    if isNews { tellOfCompaction() }
  }

  private func tellOfCompaction() {
    let tell = onCompaction.withLock { $0.call }
    tell?()
  }

  /// Half of the snapshot, so that each record is written anew a few times only. What takes much
  /// memory is folded earlier, once the log is longer than `compactFrom`.
  private func threshold(_ guarded: Guarded) -> Int {
    let length = guarded.tail.replayBytes
    if length <= options.compactFrom { return options.compactFrom }
    let snapshot = Int(guarded.store.ground.base?.reader.fileLength ?? 0)
    let isLarge = guarded.store.overlayBytes > options.overlayBytes / 4 * 9
    return max(options.compactFrom, isLarge ? 0 : snapshot / 2)
  }

  /// A tail that opens in about a millisecond is left; so is one whose folding would take long, but
  /// by whoever has filled a good part of the store: beside that it takes little.
  func shouldCompactAtClose() -> Bool {
    state.withLock { guarded in
      let snapshot = Int(guarded.store.ground.base?.reader.fileLength ?? 0)
      let share = guarded.foldedBytes > snapshot / 4 ? 0 : snapshot / 64
      return guarded.isOpen && guarded.tail.replayBytes > max(options.replayBytes, share)
    }
  }

  func waitForCompaction() {
    let thread = compaction.withLock { running in
      defer { running.thread = nil }
      return running.thread
    }
    thread?.join()
  }

  /// Why the last compaction in the background failed; nil if it did not, or if one that was asked
  /// for since did not.
  package var compactionFailure: StoreError? { compaction.withLock { $0.failure } }
}
