internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Why a store has to be put together anew.
enum RejoinCause {
  /// Somebody else writes under our name.
  case identity(Head, reason: String)
  /// Another device has two histories, and the store has the other one. `isOwnSeen`: the own head
  /// is what was written from here.
  case fork(isOwnSeen: Bool)
  /// Others go on without something that is here.
  case cutOff(Cut)
}

/// The part of a round that feeds the staged store and finds out what only the own one has.
extension Exchange {
  func stage(
    _ cause: RejoinCause, _ entries: [FolderEntry], _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    report.isRejoining = true
    if let reason = reasonToPutOff() {
      report.waiting.append(ExchangeReport.Waiting(name: directory, bytes: 0, reason: reason))
      return
    }
    let staging = try staging(cause)
    let joins = mayJoin(cause)
    do throws(CairnError) {
      try await staging.exchange.collect(entries, listing, joins: joins, &report)
    } catch {
      // What is damaged at home, or could not take in what came, is not gone on with: the next
      // round begins anew.
      if error.code == .corrupt || error.code == .syncFailed { stopRejoining() }
      if let delay = staging.delay(after: error) { putOff(delay) }
      throw error
    }
    try checkOpen()
    if mustStartAgain(staging, cause) {
      let cut = staging.exchange.memory.withLock { $0.cutOff }
      memory.withLock { $0.foundation = cut }
      stopRejoining()
      report.waiting.append(
        ExchangeReport.Waiting(name: directory, bytes: 0, reason: "the folder has changed"))
      return
    }
    var plan: Rejoining?
    switch cause {
    case .identity(let head, let reason):
      plan = try await identityPlan(staging, head, reason, listing, &report)
    case .fork(let isOwnSeen):
      plan = try await forkPlan(staging, isOwnSeen: isOwnSeen, listing, &report)
    case .cutOff(let cut):
      plan = try await cutOffPlan(staging, cut, listing, &report)
    }
    note(forksIn: staging, &plan)
    if let made = plan, made.admitted == nil {
      // Others' deltas that cuts have left behind since are there once more by their own devices.
      let cuts = staging.exchange.store.cuts
      plan?.admitted = cuts.admitted(of: made.seen(store.vector, store.cuts, of: cuts))
    }
    let lacking = plan.map { missing(for: $0, staging) } ?? []
    try checkOpen()
    report.waiting += lacking
    var ready = lacking.isEmpty ? plan : nil
    if case .fork(let isOwnSeen) = cause, let plan = ready, plan.device == store.device {
      staging.state.withLock { $0.plan = nil }
      if try await !hasTakenBackUploads(mayRemove: isOwnSeen, listing, &report) { ready = nil }
      try checkOpen()
    }
    // For a sync once the round has ended: until then it writes under the name that there is.
    staging.state.withLock { [ready] in $0.plan = ready }
  }

  /// Of a history that has lost nothing comes in by a snapshot. Another choice of tables has no
  /// other history; and where nothing was published under the own name but what others have of it,
  /// that is in no file, while what has been written on top of it waits for it here, too.
  private func mayJoin(_ cause: RejoinCause) -> Bool {
    if memory.withLock({ !$0.forked.isEmpty }) { return false }
    if case .identity(let head, _) = cause, head.last == 0, word(beyond: 0) != nil { return true }
    return following?.mustRebuild ?? false
  }

  /// Not only devices that are known to have two histories: as long as one round is about the own
  /// name, or about one of them, nothing is fetched that would tell of another.
  private func note(forksIn staging: Staging, _ plan: inout Rejoining?) {
    let (forked, histories) = memory.withLock { ($0.forked, $0.histories) }
    let found = staging.exchange.memory.withLock { $0.histories }
    let all = forked.union(histories.forked(from: found)).subtracting([store.device])
    plan?.forked = all
    for device in all {
      plan?.agreed[device] = histories.agreement(with: found, on: device)
    }
  }

  /// What has to be there before a plan can be carried out.
  private func missing(for plan: Rejoining, _ staging: Staging) -> [ExchangeReport.Waiting] {
    var missing = plan.missing(store.vector).map { part in
      ExchangeReport.Waiting(
        name: FileName.head(device: part.first.device.rawValue), bytes: 0,
        reason: "deltas \(part.first.sequence) to \(part.last) of the device are here, and not "
          + "in the folder; until they are, "
          + (following == nil ? "nothing is published" : "the copy stays as it is"))
    }
    // What is written without having seen it would not come in, or only for the others to hold it.
    let writes = following == nil && (plan.isOnTop || store.vector[store.device] > plan.common.last)
    if writes, let cut = staging.exchange.store.cutAhead(of: plan.device) {
      let have = staging.exchange.store.vector
      let lacking = cut.context.entries.filter { dot in
        dot.device != cut.dot.device && !have.contains(dot)
      }.map { dot in
        "\(have[dot.device] + 1) to \(dot.sequence) of device \(dot.device)"
      }
      let place = lacking.isEmpty ? "" : " (deltas " + lacking.joined(separator: ", ") + ")"
      missing.append(
        waiting(
          on: cut, "; until what that builds on\(place) is in the folder, nothing is published"))
    }
    return missing
  }

  private func waiting(on cut: Cut, _ rest: String) -> ExchangeReport.Waiting {
    ExchangeReport.Waiting(
      name: FileName.head(device: cut.dot.device.rawValue), bytes: 0,
      reason: "device \(cut.dot.device) has asked others to agree, by its delta "
        + "\(cut.dot.sequence), on what counts" + rest)
  }

  /// Whether the folder shows another history than just before, or what was put together stands on
  /// a cut that has to give way to one which came later. (Who gives way itself asks that where it
  /// looks for the one to give way to.)
  private func mustStartAgain(_ staging: Staging, _ cause: RejoinCause) -> Bool {
    let (isForked, isCutOff) = staging.exchange.memory.withLock { memory in
      (!memory.forked.isEmpty, memory.cutOff != nil)
    }
    if case .cutOff = cause { return isForked }
    return isForked || isCutOff
  }

  private func staging(_ cause: RejoinCause) throws(CairnError) -> Staging {
    let (current, delay) = rejoining.withLock { phase -> (Staging?, RejoinDelay?) in
      switch phase {
      case .staging(let staging): (staging, nil)
      case .putOff(let delay): (nil, delay)
      case .none, .ready, .switching: (nil, nil)
      }
    }
    if let current { return current }
    // The directory of one that was closed meanwhile may be another's by now.
    try checkOpen()
    let new = try Staging(for: self)
    new.state.withLock { $0.delay = delay }
    let foundation: Cut? =
      if case .cutOff(let cut) = cause { cut } else { memory.withLock { $0.foundation } }
    new.exchange.memory.withLock { $0.foundation = foundation }
    if case .cutOff = cause { new.exchange.store.expectToLeave(store.device) }
    rejoining.withLock { $0 = .staging(new) }
    // It may have been closed just before.
    if store.isClosed { stopRejoining() }
    try checkOpen()
    return new
  }

  /// Everything that the folder has, as far as it is there, into the store.
  private func collect(
    _ entries: [FolderEntry], _ listing: [String: FolderEntry], joins: Bool,
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    defer { saveHistories() }
    beginAsking()
    try await readHeads(entries, &report)
    learnWords()
    // Snapshots may be of a history that has lost; they are for what is not there in deltas.
    let hasAll = memory.withLock { memory in
      let snapshots = memory.heads.values.compactMap(\.snapshot)
      return memory.heads.values.allSatisfy { head in
        head.gaps.isEmpty
          && !(head.isWrittenAgain && snapshots.contains { $0.vector[head.device] > head.last })
      }
    }
    if joins || !hasAll { try await fetchSnapshot(listing, &report) }
    try await fetchSegments(listing, &report)
    _ = try sync()
  }

  // MARK: another's history

  /// The own name is kept; but what was written here on the history that has lost may be beside a
  /// cut of the one that has won. Nobody would apply that: then this device gives way to the cut.
  /// Nil, and a line in the report, as long as something for it is not here.
  private func forkPlan(
    _ staging: Staging, isOwnSeen: Bool, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> Rejoining? {
    var plan: Rejoining? = Rejoining(
      staged: staging.exchange.store, device: store.device,
      common: CommonBranch(store.device, through: resumed(memory.withLock { $0.own }).last))
    note(forksIn: staging, &plan)
    guard following == nil, let kept = plan, let cut = try obstacle(to: kept) else { return plan }
    // What stands against the own head is in the report. Until it is known, the name stays.
    guard isOwnSeen else { return nil }
    guard cut.isSealed else {
      report.waiting.append(
        waiting(
          on: cut, ", and this device has written without having seen that; until they have "
            + "agreed, nothing is published"))
      return nil
    }
    staging.exchange.store.expectToLeave(store.device)
    return try await cutOffPlan(staging, cut, listing, &report)
  }

  private func obstacle(to plan: Rejoining) throws(CairnError) -> Cut? {
    do throws(StoreError) { return try store.obstacle(to: plan) } catch {
      // A compaction has dropped what is published since it was looked for: the sync asks again.
      if error.log?.reason == .missing { return nil }
      throw CairnError(error)
    }
  }

  // MARK: the own name

  private func identityPlan(
    _ staging: Staging, _ head: Head, _ reason: String, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> Rejoining? {
    let name = FileName.head(device: head.device.rawValue)
    guard let other = try await branch(staging, head, listing, &report) else { return nil }
    var own = try ownBranch()
    var common = own.common(with: other)
    var ownFiles: [PublishedBranch.File] = []
    if !own.isCertain(common, other) || !hasOwnDeltas(after: common, through: own.last) {
      let segments = memory.withLock { $0.own.segments }
      ownFiles = try await files(segments, of: head.device, listing, &report)
      for file in ownFiles { own.note(first: file.first, file.chains) }
      common = own.common(with: other)
    }
    guard own.isCertain(common, other) else {
      report.problems.append(
        ExchangeReport.Problem(
          name: name,
          reason: "\(reason); since when can't be told, because files that this copy had published "
            + "are gone: nothing is published, and nothing is lost"))
      return nil
    }
    var branch = CommonBranch(head.device)
    do throws(DecodeError) {
      for file in other.files { try branch.add(pack: file.pack, through: common) }
    } catch { throw CairnError(LogError(error, name, at: 0, "published deltas")) }
    var plan = Rejoining(
      staged: staging.exchange.store, device: staging.exchange.store.device, common: branch)
    // Under its new name nobody would apply what it wrote beside a cut.
    plan.isOnTop = !staging.exchange.store.cuts.cuts.allSatisfy {
      branch.context.contains($0.dot) || $0.dot.device == head.device && $0.dot.sequence <= common
    }
    if !hasOwnDeltas(after: common, through: own.last) {
      let have: UInt64
      (plan.carried, have) = try carried(ownFiles, after: common)
      guard try findsOwnDeltas(after: have, through: own.last) else {
        report.problems.append(
          ExchangeReport.Problem(
            name: name,
            reason: "\(reason); deltas \(have + 1) to \(own.last), which only this copy has, are "
              + "not in its log any more, nor in the folder: `cairn repair` publishes its state"))
        return nil
      }
    }
    guard let taken = try await takenNames(plan, staging, listing, &report) else { return nil }
    plan.taken = taken
    return plan
  }

  /// All that was published under our name; nil if it is not there wholly.
  private func branch(
    _ staging: Staging, _ head: Head, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> PublishedBranch? {
    if let known = staging.state.withLock({ $0.branch }), known.nonce == head.nonce {
      return PublishedBranch(files: known.files)
    }
    let files = try await files(head.segments, of: head.device, listing, &report)
    guard files.count == head.segments.count else {
      try await giveBack(head, having: files, staging, listing, &report)
      return nil
    }
    var next: UInt64 = 1
    for file in files where file.first == next { next = file.last + 1 }
    guard next == head.last + 1 else {
      report.problems.append(
        ExchangeReport.Problem(
          name: FileName.head(device: head.device.rawValue),
          reason: "what was published under this device's name can't be compared with what is "
            + "here, since its beginning is not in the folder any more"))
      return nil
    }
    staging.state.withLock { $0.branch = (head.nonce, files) }
    return PublishedBranch(files: files)
  }

  /// What this copy knows of its own deltas.
  func ownBranch() throws(CairnError) -> OwnBranch {
    let (own, histories) = memory.withLock { ($0.own, $0.histories) }
    var branch = OwnBranch(store.device, last: store.vector[store.device])
    for mark in histories.marks[store.device] ?? [] { branch.note(mark.sequence, mark.chain) }
    branch.note(own.last, own.chain)
    var (have, chain) = (own.last, own.chain)
    // Where the log has all from the head on, each delta's is known. In between, where files end,
    // marks may be missing.
    if let mark = histories.last(store.device, after: have, through: branch.last),
      try !findsOwnDeltas(after: have, through: mark.sequence)
    {
      (have, chain) = (mark.sequence, mark.chain)
    }
    while have < branch.last {
      let after = have
      let last = branch.last
      let found = try wrapped { () throws(StoreError) in
        try store.ownPack(after: after, through: last, limit: tuning.packBytes)
      }
      guard let found else { break }
      let chains = try chains(of: found.pack, after: chain)
      branch.note(first: found.first, chains)
      (have, chain) = (found.last, chains.last ?? chain)
    }
    return branch
  }

  /// What can't be read here may be in the folder.
  func hasOwnDeltas(after sequence: UInt64, through last: UInt64) -> Bool {
    do throws(CairnError) {
      return try findsOwnDeltas(after: sequence, through: last)
    } catch { return false }
  }

  /// The same where the folder has no more: then an error of the disk is no reason to wait, as what
  /// it hides need not come.
  func findsOwnDeltas(
    after sequence: UInt64, through last: UInt64
  ) throws(CairnError) -> Bool {
    do throws(StoreError) {
      try store.checkOwnDeltas(after: sequence, through: last)
      return true
    } catch {
      if case .disk(let disk)? = error.log?.reason, disk.reason != .notFound {
        throw CairnError(error)
      }
      return false
    }
  }

  /// Own deltas that are in the folder only, under files that the other copy's head does not name,
  /// as far as they follow one another, and the last of them. Each pack becomes a file once more,
  /// and has about as much as others that are published.
  func carried(
    _ files: [PublishedBranch.File], after sequence: UInt64
  ) throws(CairnError) -> (packs: [[UInt8]], last: UInt64) {
    var packs: [[UInt8]] = []
    var writer = PackWriter(device: store.device, first: sequence + 1)
    do throws(DecodeError) {
      for file in files where file.first <= writer.nextSequence {
        while writer.nextSequence <= file.last {
          let next = writer.nextSequence
          try writer.append(file.pack, through: file.last, limit: tuning.packBytes)
          // A file that has less than it says was found out when it was read.
          if writer.nextSequence == next { break }
          if writer.byteCount < tuning.packBytes { continue }
          packs.append(writer.bytes())
          writer = PackWriter(device: store.device, first: writer.nextSequence)
        }
      }
    } catch { throw CairnError(LogError(error, directory, at: 0, "published deltas")) }
    return (packs + (writer.isEmpty ? [] : [writer.bytes()]), writer.nextSequence - 1)
  }
}
