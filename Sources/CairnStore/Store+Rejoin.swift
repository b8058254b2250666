import CairnBytes
import CairnDisk
import CairnLog
package import CairnMerge
import Synchronization

/// What a store is to become: what is in its folder, and on top of it what only the store has.
package struct Rejoining: Sendable {
  /// Another store of the same datastore, in a directory of its own, with what the folder has. Only
  /// its snapshot is used; it has to be closed and removed after that.
  package var staged: Store
  /// Who writes here from then on.
  package var device: DeviceID
  /// What of the own deltas the folder has; those behind it are only here.
  package var common: CommonBranch
  /// Packs of own deltas behind `common` that are not in the log any more.
  package var carried: [[UInt8]] = []
  /// Names that other copies of the device have taken for the first of the deltas behind `common`,
  /// one after the other: those deltas are there.
  package var taken: [TakenName] = []
  /// Devices of which the folder has other deltas than this store.
  package var forked: Set<DeviceID> = []
  /// How many of their deltas both have, as far as that is known.
  package var agreed: [DeviceID: UInt64] = [:]

  /// What only this store has is committed once more on top of what the folder has, instead of
  /// beside it: for a device that the others have stopped to wait for. What it wrote to records
  /// that are gone is left out, and a conflict of the outcome. `device` has to be a new one.
  package var isOnTop = false
  /// What of this store counts for others, if not all of it does; the rest is left behind.
  package var admitted: VersionVector?
  /// Nobody goes on under the old name, and no other copy has told that.
  package var leavesName = false

  package init(staged: Store, device: DeviceID, common: CommonBranch) {
    self.staged = staged
    self.device = device
    self.common = common
  }

  /// Whether the folder has another delta in the place of one that is here, or none.
  func isStrange(_ dot: Dot) -> Bool {
    forked.contains(dot.device) && dot.sequence > agreed[dot.device] ?? 0
  }

  /// What own deltas may have seen of what the folder has: of a history that has won nothing, but
  /// for what is behind a cut.
  var seenAtMost: VersionVector {
    var vector = staged.vector
    if isOnTop { return vector }
    for device in forked { vector[device] = min(vector[device], agreed[device] ?? 0) }
    return vector
  }

  /// What the device had seen at the last of the deltas that the folder has, as that is called
  /// there; nil if it can't be told. Where copies or forks count deltas anew, it can't.
  func context(of common: CommonBranch) throws(StoreError) -> VersionVector? {
    guard forked.isEmpty, taken.isEmpty else { return nil }
    var context: VersionVector? = common.context
    if !common.knowsAdditions {
      context = try staged.withState {
        $0.store.vector[common.device] == common.last
          ? $0.store.allContexts[common.device] : nil
      }
    }
    context?[common.device] = common.last
    return context
  }

  /// What a store with this vector and these cuts has seen, where `others` are cuts of the folder:
  /// a delta of a history that has lost may bear the name of one of them.
  package func seen(_ vector: VersionVector, _ own: CutBook, of others: CutBook) -> VersionVector {
    var seen = vector
    for cut in others.cuts
    where own.cut(cut.dot)?.context != cut.context && vector.contains(cut.dot) {
      let dot = cut.dot
      let isOther = dot.device == common.device ? dot.sequence > common.last : isStrange(dot)
      if isOther { seen[dot.device] = min(seen[dot.device], dot.sequence - 1) }
    }
    return seen
  }

  /// What of this store the folder lacks: everything that is here but for own deltas that only this
  /// store has must be there. A device's first delta that is missing, and its last one.
  package func missing(_ vector: VersionVector) -> [(first: Dot, last: UInt64)] {
    var wanted = vector
    wanted[common.device] = common.last
    if let admitted { wanted = wanted.meet(admitted) }
    // Who keeps its name leaves nothing behind that it has published under it.
    if device == common.device { wanted[device] = common.last }
    let have = staged.vector
    return wanted.entries.compactMap { dot in
      guard !forked.contains(dot.device), !have.contains(dot) else { return nil }
      return (Dot(device: dot.device, sequence: have[dot.device] + 1), dot.sequence)
    }
  }
}

extension Store {
  /// Puts the store together anew, in one durable step: after a crash there is all of the old or
  /// all of the new. Commits what is pending first. Nothing is done, and nil returned, if the
  /// staged store lacks something. Readers and writers wait meanwhile.
  ///
  /// - Parameters:
  ///   - committed: Gets the delta that was pending, once it is one: also if nothing else is done.
  ///   - keep: Gets the deltas that only this store has, as they were, before the old files go.
  package func rejoin(
    _ plan: Rejoining, committed: (Dot) -> Void = { _ in }, keep: ([[UInt8]]) -> Void
  ) throws(StoreError) -> SyncOutcome? {
    // Who is told may compact or close: not in the turn.
    defer { tell() }
    return try withTurn { () throws(StoreError) -> SyncOutcome? in
      let switched = try withState(tells: false) { guarded throws(StoreError) in
        try switchOver(plan, committed: committed, keep: keep, &guarded)
      }
      guard let switched else { return nil }
      sweep(keeping: switched.number)
      for segment in switched.gone {
        remove(directory + "/" + FileName.log + "/" + FileName.segment(segment))
      }
      return switched.outcome
    }
  }

  private struct Switched {
    var number: UInt64
    /// Segments that nobody needs any more.
    var gone: [UInt64]
    var outcome: SyncOutcome
  }

  private func switchOver(
    _ plan: Rejoining, committed: (Dot) -> Void, keep: ([[UInt8]]) -> Void,
    _ guarded: inout Guarded
  ) throws(StoreError) -> Switched? {
    try checkPoison()
    guard plan.missing(guarded.store.vector).isEmpty else { return nil }
    let last = try commitPending(&guarded)
    if let last { committed(last) }
    try sealTail(&guarded)
    let own: [[UInt8]]
    do throws(StoreError) { own = try ownPacks(plan, guarded) } catch {
      // A compaction has dropped what is published since the plan was made: it is in the folder.
      if error.log?.reason == .missing { return nil }
      throw error
    }
    let names = guarded.store.cuts.earlierNames(of: device)
    let common = try commonBranch(own, plan, guarded)
    guard let (packs, conflicts) = try reauthored(own, common, plan, names) else { return nil }
    var next = guarded.current
    next.device = plan.device.rawValue
    next.snapshot = nextSnapshot(guarded.current)
    next.firstSegment = guarded.tail.nextNumber
    next.firstKept = guarded.tail.nextNumber
    next.rejoinings += 1
    try makeDirectoriesDurable()
    try writeOutbox(packs, next.rejoinings)
    let path = try moveSnapshot(of: plan.staged, next.snapshot)
    // Of its own deltas all are here, or, of a new name, all were written there.
    var lastOwnTime: Int64?
    if plan.device == device {
      lastOwnTime = guarded.store.ownTime
    } else if plan.staged.device == plan.device {
      lastOwnTime = try plan.staged.withState { $0.store.ownTime }
    }
    next.lastOwnTime = lastOwnTime
    var new = StoreState(device: plan.device, isAlone: false)
    var outcome = SyncOutcome()
    var kept: RecordTrash.Kept?
    do throws(StoreError) {
      (new.access, new.journal) = (guarded.store.access, guarded.store.journal)
      new.indexNames = guarded.store.indexNames
      guarded.store.addBaseTables()
      for table in guarded.store.tables where table.name != CutTable.name {
        new.journal.noteAll(of: table.name)
      }
      new.adopt(try openBase(next.snapshot, path), lastOwnTime: lastOwnTime)
      try new.readRulesOfBase()
      try new.readAccess()
      try new.readCuts()
      kept = try keepGone(in: new, plan, &guarded)
      outcome = try differences(plan, guarded.store, new, conflicts)
      if !own.isEmpty { keep(own) }
    } catch {
      remove(path)
      if let kept { trash.takeBack(kept) }
      throw error
    }
    do throws(StoreError) { try writeAnother(next, path) } catch {
      // Either of the two may be what the next opening finds: nothing may be added to the old one.
      if mayName(next) { poison() } else if let kept { trash.takeBack(kept) }
      throw error
    }
    if let kept { trash.remove(kept.outdated) }
    outcome.committed = last
    return install(new, next, plan, outcome, &guarded)
  }

  /// What changes for whoever looks. It reads both states, so it comes before CURRENT: who is told
  /// that this has failed goes on as before, under the old name.
  private func differences(
    _ plan: Rejoining, _ old: StoreState, _ new: StoreState, _ conflicts: [SyncOutcome.Conflict]
  ) throws(StoreError) -> SyncOutcome {
    // Looking gives a state tables that it does not have.
    var (before, after) = (old, new)
    var outcome = SyncOutcome()
    outcome.conflicts = conflicts
    let isRenamed = plan.device != device
    outcome.newDevice = isRenamed ? plan.device : nil
    try outcome.note(
      from: &before, to: &after, renamed: plan.common.device,
      common: max(plan.common.last, plan.device == plan.common.device ? .max : 0))
    return outcome
  }

  /// CURRENT says so: from here on nothing can fail.
  private func install(
    _ new: StoreState, _ next: CurrentFile, _ plan: Rejoining, _ outcome: SyncOutcome,
    _ guarded: inout Guarded
  ) -> Switched {
    let isRenamed = plan.device != device
    var switched = Switched(
      number: next.snapshot, gone: guarded.tail.segments.map(\.number), outcome: outcome)
    guarded.store = new
    guarded.current = next
    guarded.rumours = CutRumours()
    guarded.held = [:]
    guarded.tail.segments = []
    guarded.tail.replayBytes = 0
    if isRenamed { guarded.published = 0 }
    rename(plan.device)
    guarded.summarized = 0
    switched.outcome.summary = Store.summaryIfChanged(&guarded)
    return switched
  }

  /// The deltas that only this store has.
  private func ownPacks(
    _ plan: Rejoining, _ guarded: Guarded
  ) throws(StoreError) -> [[UInt8]] {
    var have = plan.common.last
    do throws(DecodeError) {
      if let pack = plan.carried.last { have = try PackReader(pack).header.last }
    } catch { throw StoreError(LogError(error, directory, at: 0, "own deltas")) }
    let last = guarded.store.vector[device]
    return try plan.carried + ownPacks(after: have, through: last, guarded)
  }

  private func ownPacks(
    after first: UInt64, through last: UInt64, _ guarded: Guarded
  ) throws(StoreError) -> [[UInt8]] {
    var packs: [[UInt8]] = []
    var have = first
    while have < last {
      let sources = ownSources(have, guarded)
      guard
        let found = try ownPack(sources, after: have, through: last, limit: Store.ownPackBytes)
      else { break }
      packs.append(found.pack)
      have = found.last
    }
    return packs
  }

  /// Unpacked bytes of one pack of them, about.
  static let ownPackBytes = 4 << 20

  /// The deltas that a plan is about, as they are.
  package func ownPacks(_ plan: Rejoining) throws(StoreError) -> [[UInt8]] {
    try withState { guarded throws(StoreError) in try ownPacks(plan, guarded) }
  }

  /// The plan without what another copy of this device has written once more, when it left the name
  /// that both had to give way to the same cut.
  package func sparingMoved(_ plan: Rejoining) throws(StoreError) -> Rejoining {
    let (cuts, have) = (plan.staged.cuts, plan.staged.vector)
    guard let left = cuts.earlierNames[device], left.common == plan.common.last,
      let moved = cuts.moved[device]
    else { return plan }
    let own = try ownPacks(plan)
    var plan = plan
    do throws(DecodeError) {
      let chains = try DeltaChain.values(behind: left.common, in: own)
      let same = UInt64(zip(chains, moved).prefix { $0 == $1 }.count)
      let count = try DeltaChain.proven(same, behind: plan.common, in: own)
      let last = Dot(device: device, sequence: left.common + count)
      guard count > 0, have.contains(cuts.presentName(of: last, seen: have)) else { return plan }
      for pack in own { try plan.common.add(pack: pack, through: last.sequence) }
    } catch { throw StoreError(LogError(error, directory, at: 0, "own deltas")) }
    plan.leavesName = false
    return plan
  }

  /// What the plan says of the own deltas that the folder has, with how far the sums had come from
  /// which those behind them go on; nil if that is not known of all.
  package func certainBranch(_ plan: Rejoining) throws(StoreError) -> CommonBranch? {
    if plan.common.knowsAdditions { return plan.common }
    let (own, common) = try withState { guarded throws(StoreError) in
      let own = try ownPacks(plan, guarded)
      return (own, try commonBranch(own, plan, guarded))
    }
    return try reauthoring(own, common, plan).isUncertain ? nil : common
  }

  /// The cut, applied in what was put together, that keeps out what this device has written, as the
  /// plan would leave it or write it once more; nil if nothing does. To be asked once the plan says
  /// which histories have forked.
  package func obstacle(to plan: Rejoining) throws(StoreError) -> Cut? {
    if plan.isOnTop || plan.staged.cuts.isEmpty { return nil }
    let seen = vector
    let unseen = plan.staged.cuts.cuts.first { cut in
      guard let seal = cut.seal, !seen.contains(cut.dot) else { return false }
      return seal[device] < seen[device]
    }
    // One may bear the name of a delta of the other history, which was seen here.
    if let cut = unseen ?? plan.staged.cut(holding: device) { return cut }
    let own = try withState { guarded throws(StoreError) in try ownPacks(plan, guarded) }
    if own.isEmpty { return nil }
    let packs = try reauthoring(own, plan.common, plan).packs
    return try plan.staged.judge(packs: packs).held.values.first {
      plan.staged.vector.contains($0.dot)
    }
  }

  /// The cut, applied here, that keeps out what was fetched of a device, or what that builds on.
  private func cut(holding device: DeviceID) -> Cut? {
    state.withLock { guarded in
      var (name, passed) = (device, Set<DeviceID>())
      while passed.insert(name).inserted {
        switch guarded.held[name] {
        case .beside(let dot)?: return guarded.store.cuts.cut(dot)
        case .behind(let other)?: name = other
        case nil: return nil
        }
      }
      return nil
    }
  }

  private func reauthoring(
    _ own: [[UInt8]], _ common: CommonBranch, _ plan: Rejoining
  ) throws(StoreError) -> Reauthoring {
    let (present, cuts) = (plan.seenAtMost, plan.forked.isEmpty ? [] : plan.staged.cuts.cuts)
    do throws(DecodeError) {
      var (common, packs) = (common, own)
      for name in plan.taken {
        (common, packs) = try common.followed(to: name, packs, present: present, cuts: cuts)
      }
      var reauthoring = Reauthoring(
        common, author: plan.device, present: present, cuts: cuts, isOnTop: plan.isOnTop)
      for pack in packs { try reauthoring.add(pack: pack) }
      return reauthoring
    } catch { throw StoreError(LogError(error, directory, at: 0, "own deltas")) }
  }

  /// What of the own deltas the folder has. If their files are gone, the own snapshot and log say
  /// how far sums had come that go on, unless the snapshot is of later; and so does the state that
  /// was put together, unless something has replaced them there.
  private func commonBranch(
    _ own: [[UInt8]], _ plan: Rejoining, _ guarded: Guarded
  ) throws(StoreError) -> CommonBranch {
    var common = plan.common
    // Who keeps its name goes on with its sums as they are.
    if common.knowsAdditions || plan.device == common.device { return common }
    var begun: [CommonBranch.FieldName] = []
    do throws(DecodeError) {
      for pack in own { begun += try common.begunRuns(in: pack) }
    } catch { throw StoreError(LogError(error, directory, at: 0, "own deltas")) }
    if plan.staged.vector[common.device] == common.last {
      for name in begun {
        let total = try plan.staged.total(of: common.device, name)
        if let total { common.note(total, of: name) }
      }
    }
    begun.removeAll(where: common.isNoted)
    if common.device == device, !begun.isEmpty {
      try noteOwnRuns(of: begun, in: &common, guarded)
    }
    return common
  }

  /// How far own sums had come, if the snapshot that is the base here lies before that.
  private func noteOwnRuns(
    of names: [CommonBranch.FieldName], in common: inout CommonBranch, _ guarded: Guarded
  ) throws(StoreError) {
    var old = StoreState(device: device, isAlone: false)
    if let base = guarded.store.ground.base { old.adopt(base) }
    let first = old.vector[device]
    guard first <= common.last else { return }
    let packs: [[UInt8]]
    do throws(StoreError) {
      packs = try ownPacks(after: first, through: common.last, guarded)
    } catch {
      // A file has gone that the log needs: the folder may still bring what it had.
      if error.log?.reason == .missing { return }
      throw error
    }
    for name in names {
      let state = try old.fullState(old.table(name.table), name.record)
      let total = state.register(name.field).totals.first { $0.device == device }
      if let total { common.note(total, of: name) }
    }
    do throws(DecodeError) {
      for pack in packs { try common.noteRuns(in: pack) }
    } catch { throw StoreError(LogError(error, directory, at: 0, "own deltas")) }
  }

  /// What a device has added to a field, as far as that still counts.
  private func total(
    of device: DeviceID, _ name: CommonBranch.FieldName
  ) throws(StoreError) -> Total? {
    try withState { guarded throws(StoreError) in
      let table = guarded.store.table(name.table)
      let record = try guarded.store.fullState(table, name.record)
      return record.register(name.field).totals.first { $0.device == device }
    }
  }

  /// The same under the new name, put into the staged store, too. Nil if a sum has gone on
  /// meanwhile from where nobody knows, or a cut keeps out what was committed meanwhile.
  private func reauthored(
    _ own: [[UInt8]], _ common: CommonBranch, _ plan: Rejoining, _ names: [EarlierName]
  ) throws(StoreError) -> (packs: [[UInt8]], conflicts: [SyncOutcome.Conflict])? {
    let reauthoring = try reauthoring(own, common, plan)
    if reauthoring.isUncertain { return nil }
    var packs = reauthoring.packs
    var conflicts: [SyncOutcome.Conflict] = []
    if packs.isEmpty {
      // Nothing that would have to be there once more.
    } else if plan.isOnTop {
      (packs, conflicts) = try plan.staged.recommit(
        packs, author: plan.device,
        UnseenWrites(behind: plan.context(of: common), later: reauthoring.seen),
        isStrange: plan.isStrange)
    } else if plan.forked.isEmpty {
      // One by one: a frame of the log has no room for any number of them.
      for pack in packs {
        guard let failure = try plan.staged.sync(packs: [pack]).failures.values.first else {
          continue
        }
        throw StoreError(LogError(failure, directory, at: 0, "own deltas under another name"))
      }
    } else {
      if try !plan.staged.judge(packs: packs).held.isEmpty { return nil }
      (packs, conflicts) = try plan.staged.rehome(
        packs, author: plan.device, isStrange: plan.isStrange)
    }
    guard packs.isEmpty || plan.staged.vector[plan.device] >= reauthoring.lastMoved else {
      throw StoreError(
        .log, "own deltas of \(directory) build on others that the folder does not have")
    }
    // Who has written nothing has no name to leave.
    if plan.leavesName, reauthoring.last > 0 { packs += try noteNames(plan, names, own) }
    return (packs, conflicts)
  }

  /// The name that is left is retired with the switch, and all names of this device go along: who
  /// has to give way once more must know under which ones its deltas were written.
  private func noteNames(
    _ plan: Rejoining, _ names: [EarlierName], _ own: [[UInt8]]
  ) throws(StoreError) -> [[UInt8]] {
    let before = plan.staged.vector[plan.device]
    let left = EarlierName(plan.common.device, next: plan.device, common: plan.common.last)
    let moved: [UInt64]
    do throws(DecodeError) {
      moved = try DeltaChain.values(behind: plan.common.last, in: own)
    } catch { throw StoreError(LogError(error, directory, at: 0, "own deltas")) }
    try plan.staged.note([left] + names, moved: [left.name: moved])
    try plan.staged.flush()
    let last = plan.staged.vector[plan.device]
    let pack = try plan.staged.ownPack(after: before, through: last, limit: .max)
    return pack.map { [$0.pack] } ?? []
  }

  /// The snapshot of all that is in the staged store, moved here; returns its path.
  private func moveSnapshot(of staged: Store, _ number: UInt64) throws(StoreError) -> String {
    staged.waitForCompaction()
    _ = try staged.compact()
    let path = directory + "/" + FileName.snapshots + "/" + FileName.snapshot(number)
    guard let from = staged.snapshotFile()?.path else {
      throw StoreError(.log, "\(staged.directory) has no snapshot")
    }
    do throws(DiskError) {
      try machine.disk.rename(from, to: path)
      try machine.disk.syncDirectory(directory + "/" + FileName.snapshots)
    } catch { throw StoreError(LogError(error)) }
    return path
  }
}
