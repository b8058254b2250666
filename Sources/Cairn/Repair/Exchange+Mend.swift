internal import CairnBytes
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Giving the folder back what it has lost: from the log as long as that has it, else in a
/// snapshot.
extension Exchange {
  func mend(
    _ losses: Losses, _ head: inout Head, _ listing: [String: FolderEntry],
    _ audit: inout FolderRepair?, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    if losses.isEmpty { return }
    var wanted = losses.wanted
    var gone: [Head.Segment] = []
    if !losses.segments.isEmpty {
      let first = try wrapped { () throws(StoreError) in try store.firstOwnInLog() }
      for run in runs(losses.segments, head) {
        let lost = try await republish(run, from: first ?? .max, &head, &audit, &report)
        gone += lost
        if let last = lost.last { wanted.insert(Dot(device: store.device, sequence: last.last)) }
      }
    }
    guard losses.snapshot || !wanted.isEmpty else { return }
    guard try await publishSnapshot(covering: wanted, losses, &head, listing, &report) else {
      let reason = "the folder lacks what only a snapshot can give it, and there is none that can "
        + "be published just now; the next round tries again"
      audit?.problems.append(reason)
      report.problems.append(ExchangeReport.Problem(name: directory, reason: reason))
      return
    }
    if let name = head.snapshot?.name { audit?.written.append(name) }
    audit?.publishedSnapshot = true
    // Only now: until the snapshot is there, the head goes on asking for the files.
    head.segments.removeAll(where: gone.contains)
    for segment in gone {
      audit?.onlyInSnapshot.append(FolderRepair.Range(first: segment.first, last: segment.last))
    }
  }

  /// Lost segments that follow one another.
  private func runs(_ names: Set<String>, _ head: Head) -> [[Head.Segment]] {
    var runs: [[Head.Segment]] = []
    for segment in head.segments where names.contains(segment.name(head.device)) {
      if let last = runs.last?.last, last.last + 1 == segment.first {
        runs[runs.count - 1].append(segment)
      } else {
        runs.append([segment])
      }
    }
    return runs
  }

  /// Writes the segments again from the log, which begins with own delta `first`; returns those
  /// that it does not have (all of) any more.
  private func republish(
    _ run: [Head.Segment], from first: UInt64, _ head: inout Head, _ audit: inout FolderRepair?,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> [Head.Segment] {
    var lost: [Head.Segment] = []
    for old in run {
      guard old.first >= first, let index = head.segments.firstIndex(of: old) else {
        lost.append(old)
        continue
      }
      var chain = try await chainBefore(index, head, &report)
      let after = try await chainAfter(index, head, &report)
      var new: [Head.Segment] = []
      while new.last?.last ?? 0 < old.last {
        let have = new.last?.last ?? old.first - 1
        let found = try wrapped { () throws(StoreError) in
          try store.ownPack(after: have, through: old.last, limit: Exchange.packBytes)
        }
        guard let found else { break }
        // Files that were merged carry a chain over the parts that they had been.
        let computed = PublishedSegment.chain(chain, found.pack)
        let segment = PublishedSegment(
          datastore: store.datastore, device: store.device.rawValue, first: found.first,
          last: found.last, chainBefore: chain,
          chainAfter: found.last == old.last ? after ?? computed : computed, pack: found.pack)
        new.append(try await put(segment, &report))
        chain = segment.chainAfter
        audit?.written.append(new[new.count - 1].name(store.device))
      }
      head.segments.replaceSubrange(index...index, with: new)
      report.republishedFiles += new.count
    }
    return lost
  }

  /// The chain at a segment's beginning: the end of the file before it.
  private func chainBefore(
    _ index: Int, _ head: Head, _ report: inout ExchangeReport
  ) async throws(CairnError) -> UInt128 {
    guard index > 0 else { return 0 }
    return try await own(head.segments[index - 1], head, &report)?.chainAfter ?? 0
  }

  /// The chain at a segment's end: the beginning of the file behind it, or what the head says.
  private func chainAfter(
    _ index: Int, _ head: Head, _ report: inout ExchangeReport
  ) async throws(CairnError) -> UInt128? {
    if head.segments[index].last == head.last { return head.chain }
    guard index + 1 < head.segments.count else { return nil }
    return try await own(head.segments[index + 1], head, &report)?.chainBefore
  }

  private func own(
    _ segment: Head.Segment, _ head: Head, _ report: inout ExchangeReport
  ) async throws(CairnError) -> PublishedSegment? {
    let name = segment.name(head.device)
    report.requests += 1
    let path = directory + "/" + name
    guard let bytes = try await folder.read(path, limit: PublishedSegment.fileBytesMax) else {
      return nil
    }
    do { return try PublishedSegment(bytes, name: name, datastore: store.datastore) } catch {
      return nil
    }
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
    try await publishSnapshot(&head, listing, isDamaged: losses.snapshot, &report)
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
