internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// A device that was retired, or has joined without having seen what others had settled: it takes
/// over what they have, and commits what of its own they will never apply once more on top.
extension Exchange {
  /// Nil, and a line in the report, as long as something for it is not here.
  func cutOffPlan(
    _ staging: Staging, _ cut: Cut, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> Rejoining? {
    let name = FileName.head(device: store.device.rawValue)
    func wait(_ what: String) {
      report.waiting.append(
        ExchangeReport.Waiting(
          name: name, bytes: 0,
          reason: "this device was retired, or has joined without having seen what others had "
            + "settled; it takes that over as soon as \(what)"))
    }
    guard let seal = cut.seal, staging.exchange.store.vector.contains(cut.dot) else {
      let hasNews = inbox.withLock { inbox in
        !inbox.judged.isSuperset(of: inbox.items.map(\.name))
      }
      // The cut came after what was put together in earlier rounds, some of which it cuts off, or
      // it may have had to give way itself meanwhile: the next sync looks for the one that goes on.
      // A snapshot that has the cut by now is where one begins, and not for what is here already.
      let mustBegin = hasNews || staging.isOther(than: cut)
      if mustBegin || staging.lacksFoundation(cut, listing) && isFoundingDue() { stopRejoining() }
      wait("delta \(cut.dot.sequence) of device \(cut.dot.device) can be applied")
      return nil
    }
    if following != nil { return followedPlan(staging, seal) }
    if let earlier = store.cuts.ambiguousName(of: store.device, seal: seal) {
      report.problems.append(
        ExchangeReport.Problem(
          name: name,
          reason: "this device has left its name \(earlier.name) for others before, and those "
            + "were left out in their turn; what it wrote under that name could be there twice, or "
            + "not at all, if it took over the state behind delta \(cut.dot.sequence) of device "
            + "\(cut.dot.device): nothing is published, and nothing is lost. Export what only this "
            + "device has (`cairn export`), and open the datastore anew in another directory"))
      return nil
    }
    // Nobody writes it again once the name is left, and who comes later is to find what it names.
    if isHeadLost(listing, memory.withLock { $0.own }) {
      wait("its head is whole in the folder")
      return nil
    }
    let (through, last) = (seal[store.device], store.vector[store.device])
    try checkOpen()
    var ownFiles: [PublishedBranch.File] = []
    let hasAll = hasOwnDeltas(after: through, through: last)
    if through > 0 || !hasAll {
      let segments = memory.withLock { $0.own.segments }
      ownFiles = try await files(segments, of: store.device, listing, &report)
    }
    var plan = Rejoining(
      staged: staging.exchange.store, device: staging.exchange.store.device,
      common: try common(ownFiles, through: through))
    plan.isOnTop = true
    plan.admitted = seal
    plan.leavesName = true
    if !hasAll {
      let have: UInt64
      (plan.carried, have) = try carried(ownFiles, after: through)
      guard try findsOwnDeltas(after: have, through: last) else {
        wait("its own deltas \(have + 1) to \(last) are in its log or in the folder")
        return nil
      }
    }
    return try withSums(plan, last, wait)
  }

  /// Each try fetches all that the folder has.
  private func isFoundingDue() -> Bool {
    memory.withLock { memory in
      guard memory.foundings.isDue() else { return false }
      memory.foundings.fail()
      return true
    }
  }

  /// The plan with how far the own sums had come that go on; nil as long as that can't be told.
  private func withSums(
    _ plan: Rejoining, _ last: UInt64, _ wait: (String) -> Void
  ) throws(CairnError) -> Rejoining? {
    var plan = plan
    let known = memory.withLock { $0.common }
    let certain: CommonBranch?
    do throws(StoreError) {
      plan = try store.sparingMoved(plan)
      // What this process has found out stays so, also when a compaction has gone over it since.
      if let known, known.device == store.device, known.last == plan.common.last,
        !plan.common.knowsAdditions
      {
        plan.common = known
      }
      certain = try store.certainBranch(plan)
    } catch {
      guard error.log?.reason == .missing else { throw CairnError(error) }
      // A compaction has dropped what is published since it was looked for.
      wait("its own deltas \(plan.common.last + 1) to \(last) are found in the folder")
      return nil
    }
    guard let certain else {
      wait("its own deltas 1 to \(plan.common.last) are in the folder")
      return nil
    }
    plan.common = certain
    memory.withLock { $0.common = certain }
    return plan
  }

  /// What others have of the own deltas. Without the files it is not known how far sums had come.
  private func common(
    _ files: [PublishedBranch.File], through last: UInt64
  ) throws(CairnError) -> CommonBranch {
    var branch = CommonBranch(store.device)
    do throws(DecodeError) {
      for file in files { try branch.add(pack: file.pack, through: last) }
    } catch { throw CairnError(LogError(error, directory, at: 0, "published deltas")) }
    return branch.last == last ? branch : CommonBranch(store.device, through: last)
  }

  /// Who only follows has written nothing, and no name to leave.
  private func followedPlan(_ staging: Staging, _ seal: VersionVector) -> Rejoining {
    var plan = Rejoining(
      staged: staging.exchange.store, device: store.device, common: CommonBranch(store.device))
    plan.admitted = seal
    return plan
  }
}

extension Staging {
  /// Whether what was put together is not for this cut, or has to give way itself.
  fileprivate func isOther(than cut: Cut) -> Bool {
    exchange.memory.withLock { $0.cutOff != nil || $0.foundation?.dot != cut.dot }
  }

  /// Whether what the cut builds on may be in a snapshot only that is there, has the cut, and can't
  /// be joined with what was put together.
  fileprivate func lacksFoundation(_ cut: Cut, _ listing: [String: FolderEntry]) -> Bool {
    let heads = exchange.memory.withLock { $0.sortedHeads }
    if heads.allSatisfy(\.gaps.isEmpty) { return false }
    return heads.compactMap(\.snapshot).contains { snapshot in
      // One that is elsewhere can't be begun with yet: all else would be fetched in vain.
      guard let entry = listing[snapshot.name], entry.isPresent, entry.size == snapshot.size else {
        return false
      }
      return snapshot.vector.contains(cut.dot)
        && exchange.store.obstacle(toJoining: snapshot.vector, fence: snapshot.fence) != nil
    }
  }
}
