internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Finding out what the folder has lost.
extension Exchange {
  /// A file that so many listings in a row do not have is lost, and not merely late: a listing may
  /// lag behind. Acting too early costs work; an own file is asked for by its name before it is
  /// written again, or a snapshot takes its place.
  static let patience = 3
  /// The same for own segments, which are at hand.
  private static let ownPatience = 2

  /// What the folder lacks that this device can give.
  struct Losses {
    /// Own segments, by name.
    var segments: Set<String> = []
    /// The own snapshot is gone, or is not what the head says.
    var snapshot = false
    /// Deltas, of whatever device, that others can only get from a snapshot, and that no snapshot
    /// which is there has.
    var wanted = VersionVector()

    var isEmpty: Bool { segments.isEmpty && !snapshot && wanted.isEmpty }
  }

  /// Counts for how many listings files that heads name have not been there. What the log has of
  /// own ones stays there until they are.
  func noteUnseen(_ listing: FolderListing) {
    let vector = store.vector
    let lacking = memory.withLock { memory -> UInt64? in
      if memory.complete?.isOf(listing, memory) ?? false { return nil }
      var unseen: [String: Int] = [:]
      // Placeholders: they are not lost, and nothing goes from here on the strength of one.
      var elsewhere: Set<String> = []
      func note(_ name: String, _ size: UInt64, after before: Int) {
        if let entry = listing.byName[name], entry.mayBe(size: size) {
          if !entry.isPresent { elsewhere.insert(name) }
          return
        }
        unseen[name] = (memory.unseen[name] ?? before) + 1
      }
      // What an earlier process has published was on its way since then: this one may end after its
      // first round, as that did.
      let missed = memory.isFirstLook && memory.publication != nil ? Exchange.ownPatience - 1 : 0
      for head in memory.sortedHeads + [memory.own] {
        let before = head.device == memory.own.device ? missed : 0
        for segment in head.segments {
          note(segment.name(head.device), segment.size, after: before)
        }
        if let snapshot = head.snapshot { note(snapshot.name, snapshot.size, after: 0) }
      }
      for head in memory.shortHeads(of: vector) {
        let dot = Dot(device: head.device, sequence: vector[head.device])
        if memory.hasSnapshot(with: dot, listing) { continue }
        let name = FileName.head(device: head.device.rawValue)
        unseen[name] = (memory.unseen[name] ?? 0) + 1
      }
      (memory.unseen, memory.isFirstLook) = (unseen, false)
      let isComplete = unseen.isEmpty && elsewhere.isEmpty
      memory.complete = isComplete ? Exchange.Memory.Finding(listing, memory) : nil
      if isComplete { return nil }
      let own = memory.own
      return own.segments.first { segment in
        let name = segment.name(own.device)
        return unseen[name] != nil || elsewhere.contains(name)
      }?.first
    }
    store.noteLacking(from: lacking)
  }

  /// `isRolledBack`: the own head is gone or old as well, so that nothing is merely late. `audit`:
  /// somebody wants to have mended now what is missing now.
  func losses(of head: Head, isRolledBack: Bool, _ audit: FolderRepair?) -> Losses {
    var losses = Losses()
    let bad = Set((audit?.missing ?? []) + (audit?.damaged.map(\.name) ?? []))
    let (vector, cuts) = (store.vector, store.cuts)
    let (unseen, heads, short) = memory.withLock { memory in
      (memory.unseen, memory.sortedHeads, memory.shortHeads(of: vector).map(\.device))
    }
    // Nearly always nothing is, and names are long.
    let isComplete = bad.isEmpty && unseen.isEmpty
    func isLost(_ name: @autoclosure () -> String, after rounds: Int) -> Bool {
      if isComplete { return false }
      let name = name()
      return bad.contains(name) || unseen[name] ?? 0 >= rounds
    }
    let snapshotPatience = audit == nil ? Exchange.patience : 1
    // Its owner comes first, if it is still about.
    let othersPatience = audit == nil ? 2 * Exchange.patience : 1
    let patience = isRolledBack ? 1 : Exchange.ownPatience
    for segment in head.segments where isLost(segment.name(head.device), after: patience) {
      losses.segments.insert(segment.name(head.device))
    }
    if let snapshot = head.snapshot {
      losses.snapshot = isLost(snapshot.name, after: snapshotPatience)
    }
    // One that has what does not count beside a sealed cut is nothing for those who have the cut.
    func isBesideCut(_ snapshot: Head.Snapshot) -> Bool {
      cuts.admitted(of: snapshot.vector).map { !$0.covers(snapshot.vector) } ?? false
    }
    let there = (heads + [head]).compactMap(\.snapshot).filter {
      !isLost($0.name, after: snapshotPatience) && !isBesideCut($0)
    }
    // As many of them as are here: others may never get the rest either.
    func want(_ device: DeviceID, _ deltas: ClosedRange<UInt64>) {
      let dot = Dot(device: device, sequence: min(deltas.upperBound, vector[device]))
      let isThere = there.contains { $0.vector.contains(dot) }
      if deltas.contains(dot.sequence), !isThere { losses.wanted.insert(dot) }
    }
    if let gap = head.gaps.last { want(head.device, gap) }
    for other in heads {
      for segment in other.segments
      where isLost(segment.name(other.device), after: othersPatience) {
        want(other.device, segment.first...segment.last)
      }
      let gap = other.gaps.last { $0.lowerBound <= vector[other.device] }
      if let gap, let snapshot = other.snapshot,
        isLost(snapshot.name, after: othersPatience) || isBesideCut(snapshot)
      {
        want(other.device, gap)
      }
      guard short.contains(other.device) else { continue }
      let name = FileName.head(device: other.device.rawValue)
      if other.isWrittenAgain || isLost(name, after: othersPatience) {
        want(other.device, other.last + 1...vector[other.device])
      }
    }
    return losses
  }

  // MARK: a thorough look

  /// Reads every file that the own head names, if that is asked for.
  func audit(
    _ listing: [String: FolderEntry], _ audit: inout FolderRepair?, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    guard audit != nil else { return }
    let head = memory.withLock { $0.own }
    for segment in head.segments {
      let name = segment.name(head.device)
      guard let bytes = try await lookInto(name, listing, &audit, &report) else { continue }
      if let reason = segment.problem(with: bytes, name, datastore: store.datastore) {
        audit?.damaged.append(FolderRepair.Damage(name: name, reason: reason))
      }
    }
    guard let snapshot = head.snapshot, let entry = present(snapshot.name, listing, &audit) else {
      return
    }
    guard entry.size == snapshot.size else {
      let reason = "it has \(entry.size) bytes instead of \(snapshot.size)"
      audit?.damaged.append(FolderRepair.Damage(name: snapshot.name, reason: reason))
      return
    }
    let noted = report.problems.count
    let content = try await hash(of: entry, &report)
    let isTold = report.problems.dropFirst(noted).contains { $0.name == entry.name }
    // No budget has room for it, or nobody can read so much: what it is nobody knows.
    if content == nil, isTold {
      audit?.unread.append(entry.name)
      return
    }
    audit?.checkedFiles += 1
    audit?.checkedBytes += entry.size
    if content != snapshot.content {
      let reason = content == nil ? "it can't be read" : "its bytes are not what the head says"
      audit?.damaged.append(FolderRepair.Damage(name: snapshot.name, reason: reason))
    }
  }

  /// The entry of a file that can be read; nil if there is none now, which is noted.
  private func present(
    _ name: String, _ listing: [String: FolderEntry], _ audit: inout FolderRepair?
  ) -> FolderEntry? {
    guard let entry = listing[name] else {
      audit?.missing.append(name)
      return nil
    }
    // A placeholder is somewhere, and may still come.
    guard entry.isPresent else {
      audit?.unread.append(name)
      return nil
    }
    return entry
  }

  /// The bytes of a file; nil if it is not there, which is noted.
  private func lookInto(
    _ name: String, _ listing: [String: FolderEntry], _ audit: inout FolderRepair?,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> [UInt8]? {
    guard let entry = present(name, listing, &audit) else { return nil }
    report.requests += 1
    guard let bytes = try await readFile(entry, PublishedSegment.fileBytesMax, &report) else {
      audit?.damaged.append(FolderRepair.Damage(name: name, reason: "it can't be read"))
      return nil
    }
    audit?.checkedFiles += 1
    audit?.checkedBytes += UInt64(bytes.count)
    return bytes
  }
}

extension Exchange.Memory {
  /// Heads that tell of fewer deltas of their devices than are here. The folder was taken back, and
  /// who has the rest may have left its name: others wait for that with all that builds on it. Only
  /// of a history that is known to be the same, or a snapshot would have two in one.
  fileprivate func shortHeads(of vector: VersionVector) -> [Head] {
    sortedHeads.filter { head in
      head.last < vector[head.device] && !forked.contains(head.device)
        && histories.chain(head.device, at: head.last) == head.chain
    }
  }

  fileprivate func hasSnapshot(with dot: Dot, _ listing: FolderListing) -> Bool {
    (sortedHeads + [own]).compactMap(\.snapshot).contains { snapshot in
      snapshot.vector.contains(dot)
        && listing.byName[snapshot.name]?.mayBe(size: snapshot.size) ?? false
    }
  }
}

extension Head.Segment {
  /// What is wrong with the bytes of the file; nil if they are what the head says.
  func problem(with bytes: [UInt8], _ name: String, datastore: UInt128) -> String? {
    guard UInt64(bytes.count) == size else {
      return "it has \(bytes.count) bytes instead of \(size)"
    }
    do throws(LogError) {
      let published = try PublishedSegment(bytes, name: name, datastore: datastore)
      guard published.encodedName(bytes) == name else {
        return "its content belongs under another name"
      }
      try Exchange.verify(published, name)
      return nil
    } catch { return error.detail }
  }
}
