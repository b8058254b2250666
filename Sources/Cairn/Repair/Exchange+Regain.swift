internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Own files of which the head says that they are lost, and that are in the folder all the same:
/// stored late, come back, or from before they were merged into one that is lost.
extension Exchange {
  struct Strays {
    /// When those of one listing are read again: some may be half there, or not given just now.
    var retry = Retry(version: "")
    /// Those that have other deltas than were published from here.
    var others: Set<String> = []
  }

  /// The head names such files again, as far as they have what was published. Only from files can
  /// a copy of this device tell what both have, and a device that gives way how far its sums had
  /// come. Returns whether there are any.
  func regain(
    _ listing: FolderListing, _ head: inout Head, _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    let gaps = head.gaps
    if gaps.isEmpty { return false }
    let others = memory.withLock { $0.strays.others }
    let entries = listing.published[head.device, default: []]
      .filter { !others.contains($0) && gaps.haveSome(of: $0) }.sorted()
      .compactMap { listing.byName[$0] }
      .filter(\.isPresent)
    guard areDue(entries) else { return false }
    var files: [OwnPast.File] = []
    var refusals = 0
    // A folder that refuses them is not asked for all, as what is new waits: those that were
    // refused come last the next time.
    for entry in byRefusals(entries) where refusals < 2 {
      if let file = try await pastFile(of: entry, &report) { files.append(file) }
      if withheldCount(entry) > 0 { refusals += 1 }
    }
    var found: [Head.Segment] = []
    for gap in gaps { found += try await fitting(files, gap, head, listing, &report) }
    head.segments = (head.segments + found).sorted { $0.first < $1.first }
    let wider = files.filter { file in !gaps.contains { $0.hasAll(of: file.segment) } }
    let hasWider = try await takeWider(wider, &head, listing, &report)
    try checkOpen()
    return hasWider || !found.isEmpty
  }

  /// Whether a file may be all that has some of its deltas: those in a gap, or in a file that the
  /// listing lacks.
  func regainable(of head: Head) -> (String) -> Bool {
    let (others, unseen) = memory.withLock { ($0.strays.others, $0.unseen) }
    let lacking =
      unseen.isEmpty ? [] : head.segments.filter { unseen[$0.name(head.device)] != nil }
    let ranges = head.gaps + lacking.map(\.range)
    return { name in
      !ranges.isEmpty && !others.contains(name) && ranges.haveSome(of: name)
    }
  }

  private func byRefusals(_ entries: [FolderEntry]) -> [FolderEntry] {
    entries.map { (withheldCount($0), $0) }.sorted { ($0.0, $0.1.name) < ($1.0, $1.1.name) }
      .map { $0.1 }
  }

  /// All of them are, whenever there is another one: each may go on from what another one has.
  private func areDue(_ entries: [FolderEntry]) -> Bool {
    if entries.isEmpty { return false }
    let all = entries.map { "\($0.name) \($0.size) \($0.version)" }.joined(separator: "\n")
    return memory.withLock { memory in
      if memory.strays.retry.version != all { memory.strays.retry = Retry(version: all) }
      guard memory.strays.retry.isDue() else { return false }
      // Also of one that is named now: where it comes and goes the head is not to do so, too.
      memory.strays.retry.fail()
      return true
    }
  }

  /// What is new must not wait for what is lost: only where nothing can be had this fails.
  private func pastFile(
    of entry: FolderEntry, _ report: inout ExchangeReport
  ) async throws(CairnError) -> OwnPast.File? {
    report.requests += 1
    let waiting = report.waiting
    do throws(CairnError) {
      let bytes = try await readFile(
        entry, PublishedSegment.fileBytesMax, mayBreak: true, &report)
      // Nobody waits for it.
      report.waiting = waiting
      return bytes.flatMap { pastFile(entry.name, $0) }
    } catch {
      guard Exchange.canDoWithout(error), !Exchange.endsAtOnce(error) else { throw error }
      report.problems.append(ExchangeReport.Problem(name: entry.name, reason: error.message))
      return nil
    }
  }

  /// What of these files was published, from the end of a gap on. A chain is of all deltas up to
  /// one, so a file whose last is right has the right ones.
  private func fitting(
    _ files: [OwnPast.File], _ gap: ClosedRange<UInt64>, _ head: Head, _ listing: FolderListing,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> [Head.Segment] {
    let inside = files.filter { gap.hasAll(of: $0.segment) }
    var found: [Head.Segment] = []
    var (end, before) = (gap.upperBound, UInt128?.none)
    for last in Set(inside.map(\.segment.last)).sorted(by: >) where last <= end {
      var known = last == end ? before : nil
      if known == nil { known = try await chain(after: last, head, listing, &report) }
      guard let chain = known else { continue }
      let ending = inside.filter { $0.segment.last == last }
      noteOthers(ending.filter { $0.chains.last != chain }, head.device)
      let right = ending.filter { $0.chains.last == chain }
      guard let file = right.min(by: OwnPast.order) else { continue }
      found.append(file.segment)
      (end, before) = (file.segment.first - 1, file.before)
    }
    return found
  }

  /// One that has more than a gap takes the places of those that it has all of, as if they had been
  /// merged into it. Beside one of which it has a part it can't be named.
  private func takeWider(
    _ files: [OwnPast.File], _ head: inout Head, _ listing: FolderListing,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    var hasTaken = false
    // The widest first, as it may have all of another one.
    for file in files.sorted(by: OwnPast.isWider) {
      let new = file.segment
      guard new.last <= head.last, head.gaps.contains(where: { $0.overlaps(new.range) }),
        let chain = try await chain(after: new.last, head, listing, &report)
      else { continue }
      guard file.chains.last == chain else {
        noteOthers([file], head.device)
        continue
      }
      let shared = head.segments.filter { $0.range.overlaps(new.range) }
      guard shared.allSatisfy({ new.range.hasAll(of: $0) }) else { continue }
      head.segments.removeAll(where: shared.contains)
      head.segments = (head.segments + [new]).sorted { $0.first < $1.first }
      hasTaken = true
    }
    return hasTaken
  }

  /// They are replaced, like any that no head names.
  private func noteOthers(_ files: [OwnPast.File], _ device: DeviceID) {
    if files.isEmpty { return }
    memory.withLock { memory in
      memory.strays.others.formUnion(files.map { $0.segment.name(device) })
      memory.tidy = nil
    }
  }

  /// The chain after a published delta, as far as that is still known.
  private func chain(
    after sequence: UInt64, _ head: Head, _ listing: FolderListing,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> UInt128? {
    if sequence == head.last { return head.chain }
    if let known = memory.withLock({ $0.histories.chain(head.device, at: sequence) }) {
      return known
    }
    let next = head.segments.first { $0.first == sequence + 1 }
    if let file = try await namedFile(next, head.device, listing, &report) { return file.before }
    let same = head.segments.first { $0.last == sequence }
    return try await namedFile(same, head.device, listing, &report)?.chains.last
  }

  private func namedFile(
    _ segment: Head.Segment?, _ device: DeviceID, _ listing: FolderListing,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> OwnPast.File? {
    guard let entry = segment.flatMap({ listing.byName[$0.name(device)] }), entry.isPresent
    else { return nil }
    return try await pastFile(of: entry, &report)
  }
}

extension OwnPast {
  fileprivate static func isWider(_ a: File, _ b: File) -> Bool {
    a.chains.count == b.chains.count ? order(a, b) : a.chains.count > b.chains.count
  }
}

extension Head.Segment {
  fileprivate var range: ClosedRange<UInt64> { first...last }
}

extension ClosedRange<UInt64> {
  fileprivate func hasAll(of segment: Head.Segment) -> Bool {
    contains(segment.first) && contains(segment.last)
  }
}

extension [ClosedRange<UInt64>] {
  /// Whether a published file has, by its name, something that is in one of them. There may be
  /// many, and many files, in each round: a name is taken apart once.
  fileprivate func haveSome(of name: String) -> Bool {
    guard let file = FileName.published(name) else { return false }
    return contains { file.first <= $0.upperBound && file.last >= $0.lowerBound }
  }
}
