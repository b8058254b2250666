internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// What is told to the store of others, and to people of what cuts keep back.
extension Exchange {
  /// Hands over what all heads say that their devices have applied.
  func learnWords() {
    let words = memory.withLock { memory in memory.heads.mapValues(\.acknowledged) }
    guard store.learn(words) else { return }
    let mayGo = inbox.withLock { $0.lookAgain() }
    memory.withLock { $0.heldSnapshots = [:] }
    if mayGo { noteInbox(hasArrived: true) }
  }

  /// What a sync could not apply of these files because of a cut, or of what they say of cuts.
  func note(_ part: SyncOutcome, of items: [Inbox.Item]) {
    inbox.withLock { inbox in
      for (index, item) in items.enumerated() {
        inbox.note(item.name, beside: part.held[index], refusal: part.refused[index])
      }
    }
  }

  /// Of all that the parts of a sync have said, what the last one of those that have judged packs
  /// said counts. Nobody gives way to one that is applied.
  func note(cutOff: Cut?) {
    let vector = store.vector
    memory.withLock { memory in
      memory.cutOff = cutOff.flatMap { vector.contains($0.dot) ? nil : $0 }
      memory.hasJudged = true
    }
  }

  /// Before a round goes by it: who has given way to a cut would write all that it took along once
  /// more.
  private func forgetAppliedCut() {
    let vector = store.vector
    memory.withLock { memory in
      if let cut = memory.cutOff, vector.contains(cut.dot) { memory.cutOff = nil }
    }
  }

  func noteCuts(_ report: inout ExchangeReport) {
    // What was written under a name that was left is there under the next one.
    let left = store.cuts.earlierNames
    let (items, cuts, refused) = inbox.withLock { ($0.items, $0.besideCuts, $0.refused) }
    for item in items where left[item.device] == nil {
      if let cut = cuts[item.name] {
        report.held.append(
          ExchangeReport.Waiting(name: item.name, bytes: 0, reason: reason(item, cut)))
      }
      if let reason = refused[item.name] {
        report.problems.append(
          ExchangeReport.Problem(
            name: item.name,
            reason: reason + "; nothing of this device is taken from there on. No app of ours has "
              + "written that: find out who did, and retire the device"))
      }
    }
  }

  /// What the last sync could not take in, if nothing else says that something is missing: it
  /// builds on deltas of which nobody tells, and without a word devices would stay different.
  func noteBlocked(_ report: inout ExchangeReport) {
    guard report.isIdle, report.held.isEmpty, !report.isRejoining else { return }
    // What can't be used may be what it builds on.
    let isTold = report.problems.contains { problem in
      FileName.published(problem.name) != nil || FileName.headDevice(problem.name) != nil
    }
    if isTold { return }
    let (vector, left) = (store.vector, store.cuts)
    let items = inbox.withLock { inbox in
      // What is blocked by now, only a sync will tell.
      guard !inbox.hasNews, inbox.incoming == nil, inbox.heldSnapshot == nil, inbox.held.isEmpty
      else { return [Inbox.Item]() }
      return inbox.items.filter { item in
        inbox.blocked.contains(item.name) && inbox.besideCuts[item.name] == nil
      }
    }
    for item in items where !left.hasLeft(item.device, with: vector[item.device]) {
      report.waiting.append(
        ExchangeReport.Waiting(
          name: item.name, bytes: 0,
          reason: "it builds on deltas of other devices that are not here, and that nothing in the "
            + "folder brings"))
    }
  }

  /// Why a file is held, and what has to happen.
  private func reason(_ item: Inbox.Item, _ cut: Cut) -> String {
    let silent = store.silentMembers(of: cut).map(\.description).sorted()
    // Until then it may still be that somebody has heard of it in time.
    let others =
      silent.isEmpty ? "" : "; until all of " + silent.joined(separator: ", ")
        + " have exchanged and synced, or are retired, this can't go on"
    let isCut =
      item.device == cut.dot.device && item.first...item.last ~= cut.dot.sequence
      && !store.vector.contains(cut.dot)
    if isCut {
      return "held: device \(cut.dot.device) has agreed with others, by its delta "
        + "\(cut.dot.sequence), on what counts, and what only this device has is not part of it; "
        + "this device takes over what they have and puts its own changes on top" + others
    }
    let agreement =
      "held: it was written without knowledge of what device \(cut.dot.device) has asked others to "
      + "agree on by its delta \(cut.dot.sequence)"
    if cut.isSealed { return agreement + ", and they have; its device writes it once more" }
    return agreement
      + "; it becomes visible once one of them has it, or its device writes it once more" + others
  }

  // MARK: leaving out

  /// Refuses to leave a device out that nobody here has heard of, or of which there is more in the
  /// folder than is merged here, as far as its head was read.
  func checkRetirement(of device: DeviceID, givingUp: Bool) throws(CairnError) {
    let name = FileName.head(device: device.rawValue)
    if !givingUp, let problem = memory.withLock({ $0.unreadHeads[name] }) {
      throw CairnError(
        .retryLater, "what device \(device) has published can't be told just now: \(problem)",
        file: name, id: datastoreID)
    }
    let head = memory.withLock { $0.heads[device] }
    let merged = store.vector[device]
    let fetched = inbox.withLock { inbox in
      inbox.items.lazy.filter { $0.device == device }.map(\.last).max() ?? 0
    }
    guard head != nil || merged > 0 || fetched > 0 || store.retired.contains(device) else {
      throw CairnError(
        .notFound, "no device \(device) has written in datastore \(datastoreID), as far as is "
          + "known here; exchange first if it is a new one", id: datastoreID)
    }
    let published = max(head?.last ?? 0, fetched)
    if givingUp || published <= merged { return }
    throw CairnError(
      .retryLater, "device \(device) has published \(published) deltas in datastore "
        + "\(datastoreID), of which \(merged) are merged here; nobody would merge the rest any "
        + "more. Exchange and sync until all are merged, or give them up", id: datastoreID)
  }

  // MARK: before the first round

  /// More is not looked at before it is synced.
  private static let judgedBytes = 4 * batchBytes

  /// What waits from an earlier opening may say that the others have gone on without this device:
  /// who syncs after each exchange, and ends, would never act on it otherwise.
  func judgeInbox() throws(CairnError) {
    forgetAppliedCut()
    let isFirst = memory.withLock { memory in
      defer { memory.hasLooked = true }
      return !memory.hasLooked && !memory.hasJudged
    }
    guard isFirst, following == nil else { return }
    let items = inbox.withLock { $0.items }.sorted {
      ($0.device, $0.first) < ($1.device, $1.first)
    }
    var (packs, taken): ([[UInt8]], [Inbox.Item]) = ([], [])
    var (bytes, deletes) = (0, 0)
    for item in items {
      do throws(LogError) {
        let segment = try inbox.withLock { inbox throws(LogError) in
          try inbox.read(item, datastore: store.datastore)
        }
        deletes += try Exchange.verify(segment, item.name).deletes
        packs.append(segment.pack)
        taken.append(item)
        bytes += segment.pack.count
      } catch {
        if case .disk(let disk) = error.reason, Inbox.isPassing(disk) { throw CairnError(disk) }
        // Damaged since it was fetched: the next sync finds that, too.
      }
      if bytes > Exchange.judgedBytes { return }
    }
    // What may have to be allowed first is not there yet.
    if let limit = massDeleteLimit, deletes > limit.records(of: store.totals.records) { return }
    let outcome = try wrapped { [packs] () throws(StoreError) in try store.judge(packs: packs) }
    let isNews = memory.withLock { memory in
      // A sync has come first.
      if memory.hasJudged { return false }
      memory.cutOff = outcome.cutOff
      return true
    }
    if isNews { note(outcome, of: taken) }
  }
}
