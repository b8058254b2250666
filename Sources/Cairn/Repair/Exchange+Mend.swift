internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Giving the folder back what it has lost: from the log as long as that has it, else in a
/// snapshot.
extension Exchange {
  /// What can't be given back just now is tried ever more seldom, as it may be much: the rounds
  /// between do all else. Whoever has looked into all files wants it tried now. Returns whether the
  /// server found the own snapshot too large: then this round is not to send it once more.
  func mendIfDue(
    _ losses: Losses, onlyFromLog: Bool, _ head: inout Head, _ listing: [String: FolderEntry],
    _ audit: inout FolderRepair?, _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    if losses.isEmpty {
      memory.withLock { $0.mends = Retry(version: "") }
      return false
    }
    let isDue = memory.withLock { $0.mends.isDue() }
    guard isDue || audit != nil else {
      report.problems.append(
        ExchangeReport.Problem(
          name: directory,
          reason: "the folder lacks files of this device, and they could not be put back; that is "
            + "tried again in one of the next rounds"))
      return false
    }
    do throws(CairnError) {
      let outcome = try await mend(
        losses, onlyFromLog: onlyFromLog, &head, listing, &audit, &report)
      memory.withLock { memory in
        if outcome == .done {
          memory.mends = Retry(version: "")
        } else {
          memory.mends.fail(most: Retry.lockedRoundsMax)
        }
      }
      return outcome == .tooLarge
    } catch {
      memory.withLock { $0.mends.fail(most: Retry.lockedRoundsMax) }
      throw error
    }
  }

  private enum Mended {
    /// All is there again, or in a snapshot.
    case done
    /// What only a snapshot can give is not to be had now, …
    case notNow
    /// … as the server has just found that too large.
    case tooLarge
  }

  /// `onlyFromLog`: no snapshot is published.
  private func mend(
    _ losses: Losses, onlyFromLog: Bool, _ head: inout Head, _ listing: [String: FolderEntry],
    _ audit: inout FolderRepair?, _ report: inout ExchangeReport
  ) async throws(CairnError) -> Mended {
    var wanted = losses.wanted
    var gone: [Head.Segment] = []
    for segment in head.segments where losses.segments.contains(segment.name(head.device)) {
      let name = segment.name(head.device)
      // A thorough look has just read it. Else it may be there, and the listing old: an upload over
      // it that breaks off would leave half of what was whole.
      let wasRead = audit?.damaged.contains { $0.name == name } ?? false
      if !wasRead, try await isThere(segment, head.device, &audit, &report) { continue }
      let new = try await republish(segment, &head, listing, &report)
      audit?.written += new.map { $0.name(head.device) }
      if new.isEmpty {
        // Behind a head that does not name it it goes, good as it may be: not for one bad answer.
        if try await isThere(segment, head.device, &audit, &report) { continue }
        gone.append(segment)
        wanted.insert(Dot(device: store.device, sequence: segment.last))
      }
    }
    guard losses.snapshot || !wanted.isEmpty else { return .done }
    if onlyFromLog {
      audit?.problems.append(
        "the folder lacks what only a snapshot can give it, and this device publishes none "
          + "before it has taken over what the others have; sync, exchange and repair again")
      return .notNow
    }
    let outcome = try await publishSnapshot(
      covering: wanted, losses, isAsked: audit != nil, &head, listing, &report)
    guard outcome == .done else {
      let reason = "the folder lacks what only a snapshot can give it, and there is none that can "
        + "be published just now; one of the next rounds tries again"
      audit?.problems.append(reason)
      report.problems.append(ExchangeReport.Problem(name: directory, reason: reason))
      return outcome
    }
    if let name = head.snapshot?.name { audit?.written.append(name) }
    audit?.publishedSnapshot = head.snapshot != nil
    // Only now: until the snapshot is there, the head goes on asking for the files.
    head.segments.removeAll(where: gone.contains)
    for segment in gone {
      audit?.onlyInSnapshot.append(FolderRepair.Range(first: segment.first, last: segment.last))
    }
    return .done
  }

  /// Whether a file that listings lack is there all the same: nothing else has its deltas in a form
  /// that another copy of this device could be compared with.
  func isThere(
    _ segment: Head.Segment, _ device: DeviceID, _ audit: inout FolderRepair?,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    let name = segment.name(device)
    let entry = FolderEntry(name: name, size: segment.size, version: "")
    let (waiting, problems) = (report.waiting, report.problems.count)
    report.requests += 1
    guard let bytes = try await readFile(entry, PublishedSegment.fileBytesMax, &report) else {
      if report.problems.count > problems {
        // Not given just now, but not for ever.
        return 1..<Exchange.patience ~= withheldCount(entry)
      }
      report.waiting = waiting
      return false
    }
    try checkOpen()
    guard segment.problem(with: bytes, name, datastore: store.datastore) == nil else {
      return false
    }
    memory.withLock { $0.unseen[name] = nil }
    audit?.missing.removeAll { $0 == name }
    audit?.damaged.removeAll { $0.name == name }
    return true
  }

  /// A thorough look has found something, and this round writes nothing.
  func noteUnmended(_ audit: inout FolderRepair?, _ report: ExchangeReport) {
    guard audit?.wasWhole == false else { return }
    let what = report.republishedFiles > 0 ? "nothing else" : "nothing"
    audit?.problems.append(
      report.isRejoining
        ? "\(what) was put back: another copy of this device has published under its name, which "
          + "this one leaves; sync, exchange and repair again"
        : "\(what) was put back: it can't be told just now whether what is there under this "
          + "device's name is its own; the next round tries again")
  }

  // MARK: the snapshot

  /// Publishes the own snapshot so that it has these deltas. `isAsked`: somebody waits for that.
  private func publishSnapshot(
    covering wanted: VersionVector, _ losses: Losses, isAsked: Bool, _ head: inout Head,
    _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> Mended {
    if !losses.snapshot, let there = head.snapshot, there.vector.covers(wanted) { return .done }
    let needed = wanted.merged(with: head.snapshot?.vector ?? VersionVector())
    if !(store.snapshotFile()?.vector.covers(needed) ?? false) {
      try wrapped { () throws(StoreError) in _ = try store.compact() }
      try checkOpen()
    }
    // Nothing may be in it that others could not tell whose it is.
    guard let file = store.snapshotFile(), file.vector.covers(needed),
      file.vector[store.device] <= head.last
    else { return .notNow }
    // All of it is sent with each try, for which not every mending is worth it.
    let isDue = memory.withLock { $0.largeSnapshots.isDue() }
    guard isDue || isAsked else { return .notNow }
    do throws(CairnError) {
      try await publishSnapshot(
        &head, listing, isDamaged: losses.snapshot, isNeeded: !wanted.isEmpty, &report)
    } catch {
      guard error.code == .sizeLimit else { throw error }
      let most = Retry.roundsMax / Retry.lockedRoundsMax
      memory.withLock { $0.largeSnapshots.fail(most: most) }
      report.problems.append(
        ExchangeReport.Problem(name: error.file ?? directory, reason: error.message))
      return .tooLarge
    }
    memory.withLock { $0.largeSnapshots = Retry(version: "") }
    // It was left to another device, which vouches for what is there.
    if losses.snapshot, head.snapshot == nil { return .done }
    return head.snapshot?.vector.covers(needed) ?? false ? .done : .notNow
  }
}

extension Head {
  /// Own deltas that are in no segment: lost in the folder, and only in a snapshot.
  var gaps: [ClosedRange<UInt64>] {
    var gaps: [ClosedRange<UInt64>] = []
    var next: UInt64 = 1
    for segment in segments {
      if segment.first > next { gaps.append(next...segment.first - 1) }
      // The last that there can be: whatever a head says.
      if segment.last == .max { return gaps }
      next = segment.last + 1
    }
    if next <= last { gaps.append(next...last) }
    return gaps
  }
}
