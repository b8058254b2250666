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
  /// between do all else. Whoever has looked into all files wants it tried now.
  func mendIfDue(
    _ losses: Losses, onlyFromLog: Bool, _ head: inout Head, _ listing: [String: FolderEntry],
    _ audit: inout FolderRepair?, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    if losses.isEmpty { return memory.withLock { $0.mends = Retry(version: "") } }
    let isDue = memory.withLock { $0.mends.isDue() }
    guard isDue || audit != nil else {
      return report.problems.append(
        ExchangeReport.Problem(
          name: directory,
          reason: "the folder lacks files of this device, and they could not be put back; that is "
            + "tried again in one of the next rounds"))
    }
    do throws(CairnError) {
      let isDone = try await mend(
        losses, onlyFromLog: onlyFromLog, &head, listing, &audit, &report)
      memory.withLock { memory in
        if isDone {
          memory.mends = Retry(version: "")
        } else {
          memory.mends.fail(most: Retry.lockedRoundsMax)
        }
      }
    } catch {
      memory.withLock { $0.mends.fail(most: Retry.lockedRoundsMax) }
      throw error
    }
  }

  /// `onlyFromLog`: no snapshot is published. Returns whether none was needed, or it was published.
  private func mend(
    _ losses: Losses, onlyFromLog: Bool, _ head: inout Head, _ listing: [String: FolderEntry],
    _ audit: inout FolderRepair?, _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    var wanted = losses.wanted
    var gone: [Head.Segment] = []
    for segment in head.segments where losses.segments.contains(segment.name(head.device)) {
      let new = try await republish(segment, &head, listing, &report)
      audit?.written += new.map { $0.name(head.device) }
      if new.isEmpty {
        if try await isThere(segment, head.device, &audit, &report) { continue }
        gone.append(segment)
        wanted.insert(Dot(device: store.device, sequence: segment.last))
      }
    }
    guard losses.snapshot || !wanted.isEmpty else { return true }
    if onlyFromLog {
      audit?.problems.append(
        "the folder lacks what only a snapshot can give it, and this device publishes none "
          + "before it has taken over what the others have; sync, exchange and repair again")
      return false
    }
    guard try await publishSnapshot(covering: wanted, losses, &head, listing, &report) else {
      let reason = "the folder lacks what only a snapshot can give it, and there is none that can "
        + "be published just now; one of the next rounds tries again"
      audit?.problems.append(reason)
      report.problems.append(ExchangeReport.Problem(name: directory, reason: reason))
      return false
    }
    if let name = head.snapshot?.name { audit?.written.append(name) }
    audit?.publishedSnapshot = head.snapshot != nil
    // Only now: until the snapshot is there, the head goes on asking for the files.
    head.segments.removeAll(where: gone.contains)
    for segment in gone {
      audit?.onlyInSnapshot.append(FolderRepair.Range(first: segment.first, last: segment.last))
    }
    return true
  }

  /// Whether a file that listings lack is there all the same: nothing else has its deltas in a form
  /// that another copy of this device could be compared with.
  private func isThere(
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
    audit?.problems.append(
      report.isRejoining
        ? "nothing was put back: another copy of this device has published under its name, which "
          + "this one leaves; sync, exchange and repair again"
        : "nothing was put back: it can't be told just now whether what is there under this "
          + "device's name is its own; the next round tries again")
  }

  // MARK: the snapshot

  /// Publishes the own snapshot so that it has these deltas; false if that can't be done now.
  private func publishSnapshot(
    covering wanted: VersionVector, _ losses: Losses, _ head: inout Head,
    _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    if !losses.snapshot, let there = head.snapshot, there.vector.covers(wanted) { return true }
    let needed = wanted.merged(with: head.snapshot?.vector ?? VersionVector())
    if !(store.snapshotFile()?.vector.covers(needed) ?? false) {
      try wrapped { () throws(StoreError) in _ = try store.compact() }
      try checkOpen()
    }
    // Nothing may be in it that others could not tell whose it is.
    guard let file = store.snapshotFile(), file.vector.covers(needed),
      file.vector[store.device] <= head.last
    else { return false }
    try await publishSnapshot(
      &head, listing, isDamaged: losses.snapshot, isNeeded: !wanted.isEmpty, &report)
    // It was left to another device, which vouches for what is there.
    if losses.snapshot, head.snapshot == nil { return true }
    return head.snapshot?.vector.covers(needed) ?? false
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
