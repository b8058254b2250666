internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Whether what was published under this device's name was published from here. FORMAT.md has the
/// rule, and which fault leaves which trace.
extension Exchange {
  /// What became of the own head.
  enum OwnHead {
    case ours
    /// It can't be told just now: nothing may be written over it yet.
    case unseen
    /// Somebody else writes under our name.
    case lost(Head, reason: String)
    /// Likewise, and the name is not to be left yet.
    case unsettled
  }

  /// What is in the place of the own head.
  private enum Sight {
    /// What was there when it was last found to be ours.
    case asBefore
    /// It is there, and what is in it can't be had just now.
    case notYet
    case absent
    case unreadable
    case damaged(String)
    case whole(Head)

    var isWhole: Bool { if case .whole = self { true } else { false } }
  }

  /// Our own head must be what we wrote: by its nonce a copy of this device is found out, by its
  /// range a restored backup. An older one of ours comes back with the whole folder. Where it says
  /// nothing, or what a restored backup would believe, the own files are asked, too.
  func checkOwnHead(
    _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> OwnHead {
    let seen = try await lookAtOwnHead(listing, &report)
    let last = store.vector[store.device]
    // After the vector: it was that of an open store.
    try checkOpen()
    switch seen {
    case .asBefore: return .ours
    case .notYet: return .unseen
    case .whole(let head):
      if let reason = strangeness(of: head, last) {
        let isUnsettled = try await claimsUploads(behind: head, listing, &report)
        return isUnsettled ? .unsettled : .lost(head, reason: reason)
      }
    case .absent, .unreadable, .damaged: break
    }
    if let answer = try await judgePast(seen, listing, last, &report) { return answer }
    take(seen, listing, &report)
    return .ours
  }

  private func lookAtOwnHead(
    _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> Sight {
    let name = FileName.head(device: store.device.rawValue)
    let entry = listing[name]
    let isUsed = isNameUsed
    let isKnown = memory.withLock { memory in
      // A listing may lag behind: what is in none is asked for by its name.
      guard memory.isOwnVerified, !isUsed else { return false }
      return entry == nil ? memory.publication == nil : memory.versions[name] == entry?.version
    }
    if isKnown { return .asBefore }
    guard entry?.isPresent ?? true else {
      report.waiting.append(
        ExchangeReport.Waiting(
          name: name, bytes: entry?.size ?? 0,
          reason: "its content is not here yet; until it is, nothing is published"))
      return .notYet
    }
    report.requests += 1
    let before = report
    let file = entry ?? FolderEntry(name: name, size: 0, version: "")
    guard let bytes = try await readFile(file, Head.bytesMax, &report) else {
      // One that stays unreadable is written again; one that has gone since is not listed next.
      if report.problems.count > before.problems.count {
        return isAwaited(file) ? .notYet : .unreadable
      }
      if entry != nil { return .notYet }
      report = before
      return .absent
    }
    try checkOpen()
    do throws(LogError) {
      let head = try Head(bytes, name: name, datastore: store.datastore)
      guard head.device == store.device else {
        throw LogError(.foreign, name, at: 32, "the head of another device")
      }
      return .whole(head)
    } catch {
      guard case .needsNewerVersion = error.reason else { return .damaged("\(error)") }
      report.waiting.append(
        ExchangeReport.Waiting(
          name: name, bytes: UInt64(bytes.count),
          reason: "\(error.detail); until then nothing is published"))
      return .notYet
    }
  }

  /// Why a head of our name is none of ours; nil if it is one.
  private func strangeness(of head: Head, _ last: UInt64) -> String? {
    let publication = memory.withLock { $0.publication }
    guard let publication else { return "it was never published from here" }
    if head.nonce == publication.confirmedNonce || head.nonce == publication.pendingNonce {
      return head.last <= last ? nil : "it has \(head.last) deltas, more than there are here"
    }
    let own = lastWritten ?? memory.withLock { $0.own }
    let known = memory.withLock { $0.histories.chain(head.device, at: head.last) }
    // One of ours from before: the folder was rolled back, and gets what it has lost.
    if head.generation < own.generation, head.last <= own.last, known ?? head.chain == head.chain {
      return nil
    }
    return "it was written by a copy of this device, or before a restore"
  }

  /// Nothing else was published under our name: what is known here counts.
  private func take(
    _ seen: Sight, _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) {
    let name = FileName.head(device: store.device.rawValue)
    switch seen {
    case .asBefore, .notYet, .unreadable: break
    case .absent:
      // Lost in the folder, or never there: the next publication writes it again.
      memory.withLock { $0.isOwnVerified = $0.publication == nil }
    case .damaged(let why):
      // On its way, or half replaced; ours to write again, from what we know.
      report.problems.append(
        ExchangeReport.Problem(name: name, reason: "\(why); it will be written again"))
      memory.withLock { ($0.isOwnVerified, $0.mustRewriteHead) = (false, true) }
    case .whole(let head):
      let isCurrent = memory.withLock { memory in
        guard let publication = memory.publication,
          head.nonce == publication.confirmedNonce || head.nonce == publication.pendingNonce
        else {
          (memory.isOwnVerified, memory.mustRewriteHead) = (false, true)
          return false
        }
        // What this process wrote, and was told to have failed.
        memory.isNameSure = memory.isNameSure || head.last > memory.own.last
        memory.own = head
        memory.isOwnVerified = true
        memory.versions[name] = listing[name]?.version
        memory.publication?.confirmedNonce = head.nonce
        return true
      }
      if isCurrent {
        store.confirmPublished(through: head.last)
        if store.hasRejoined { store.dropOutboxes() }
      }
    }
  }

  // MARK: what the head does not say

  /// Whether more was published under this name than is known here, whatever the head looks like;
  /// nil if nothing says so. A process that has published under its name need not ask while the
  /// head is what it wrote.
  private func judgePast(
    _ seen: Sight, _ listing: [String: FolderEntry], _ last: UInt64,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> OwnHead? {
    let (own, isSure, isDisowned) = memory.withLock { memory in
      let nonces = memory.publication.map { [$0.confirmedNonce, $0.pendingNonce] }
      return (memory.own, memory.isNameSure, nonces == [0, 0] && memory.own.generation > 0)
    }
    if seen.isWhole, isSure { return nil }
    let missing = try await readPast(own, listing, last, &report)
    let past = memory.withLock { $0.past }
    let reach = past.reach(from: own, ours: try ownChains(ifAnyOf: past))
    // A head whose writing failed may have arrived, and others have read it.
    let published = max(own.last, lastWritten?.last ?? 0)
    let word = isSure ? nil : word(beyond: published)
    guard reach.isBeyond || !missing.isEmpty || word != nil || isDisowned && !seen.isWhole else {
      memory.withLock { $0.past.rounds = 0 }
      return nil
    }
    let (rounds, mayPublish) = memory.withLock { memory in
      memory.past.rounds += 1
      return (memory.past.rounds, memory.mayPublish)
    }
    // What may have to be written to find out more waits for a round that writes.
    guard rounds >= Exchange.patience, mayPublish, !reach.isAmbiguous,
      missing.allSatisfy({ $0.isPresent && !isAwaited($0) })
    else {
      report.waiting.append(waitingForPast(missing.first))
      return .unseen
    }
    let mustWrite = reach.head.last > own.last || !seen.isWhole && !isDisowned
    if isDisowned, !mustWrite {
      // Nothing of it is there any more: the numbers are free, unless others have deltas of them
      // that are gone here.
      let kept = memory.withLock {
        $0.histories.last(store.device, after: 0, through: .max)?.sequence ?? 0
      }
      if word == nil || self.word(beyond: kept) == nil { return nil }
      report.waiting.append(waitingForPast(nil))
      return .unseen
    }
    guard let head = try await givenBack(reach.head, listing, &report) else {
      report.waiting.append(waitingForPast(nil))
      return .unseen
    }
    guard mustWrite else {
      // What others have of that name and no file here tells of must not get other bytes.
      if word == nil, try await claimsUploads(behind: head, listing, &report) { return .unsettled }
      return .lost(head, reason: word ?? "files of this device's name have deltas behind it")
    }
    try await publishHead(
      head, listing,
      reason: "it was written again from the device's files, with what this copy of it does not "
        + "know; the next exchange takes that over", &report)
    return .unseen
  }

  private func waitingForPast(_ missing: FolderEntry?) -> ExchangeReport.Waiting {
    let mayBeOwn = missing.map { isAwaited($0) } ?? false
    let reason =
      mayBeOwn
      ? "it may have what this copy of the device does not know; for some rounds, or until the "
        + "folder gives it, nothing is published"
      : "under this device's name more was published than this copy of it knows, "
        + "and the head does not say so; until it does, nothing is published"
    return ExchangeReport.Waiting(
      name: missing?.name ?? FileName.head(device: store.device.rawValue),
      bytes: missing?.size ?? 0, reason: reason)
  }

  /// What is to be compared has to be there: own files that the folder has lost, from the log. Nil
  /// if it can't be told just now whether one is lost.
  private func givenBack(
    _ head: Head, _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> Head? {
    var result = head
    var audit: FolderRepair?
    for segment in head.segments {
      let name = segment.name(head.device)
      if let entry = listing[name], entry.mayBe(size: segment.size) { continue }
      if memory.withLock({ $0.past.files[name] != nil }) { continue }
      if try await isThere(segment, head.device, &audit, &report) {
        // Not given just now: it may be lost, and behind the new head nobody puts it back.
        let entry = FolderEntry(name: name, size: segment.size, version: "")
        if withheldCount(entry) > 0 { return nil }
        continue
      }
      _ = try await republish(segment, &result, listing, &report)
    }
    return result
  }

  /// What is known here of the own deltas, to compare these with.
  private func ownChains(ifAnyOf past: OwnPast) throws(CairnError) -> [UInt64: UInt128] {
    if past.files.isEmpty { return [:] }
    return try ownBranch().chains
  }

  /// Others have deltas of this name that were not published from here, and this process has
  /// published none. That may be told of late, as when the folder was taken back; but before a
  /// second history is there, in which those who build on theirs wait for what may never come.
  private var isNameUsed: Bool {
    let (own, isSure) = memory.withLock { ($0.own.last, $0.isNameSure) }
    if isSure || word(beyond: own) == nil { return false }
    return word(beyond: max(own, lastWritten?.last ?? 0)) != nil
  }

  /// Another device has more of our deltas than we know to have published.
  func word(beyond last: UInt64) -> String? {
    let heads = memory.withLock { $0.sortedHeads }
    guard let head = heads.first(where: { $0.acknowledged[store.device] > last }) else {
      return nil
    }
    return "device \(head.device) has \(head.acknowledged[store.device]) deltas of this device, "
      + "more than were published from here"
  }

  /// Reads own files behind what is known to be published; all of them if the head is about to be
  /// written from them. Those that can't be read and have more than there is here are returned, and
  /// those that a server does not give just now.
  private func readPast(
    _ own: Head, _ listing: [String: FolderEntry], _ last: UInt64,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> [FolderEntry] {
    let after = memory.withLock { $0.past.rounds + 1 < Exchange.patience ? own.last : 0 }
    let entries = listing.values.filter { entry in
      guard let file = FileName.published(entry.name) else { return false }
      return file.device == store.device.rawValue && file.last > after
    }
    var missing: [FolderEntry] = []
    for entry in entries.sorted(by: { $0.name < $1.name })
    where memory.withLock({ $0.past.files[entry.name] == nil }) {
      if let file = try await pastFile(entry, &report) {
        memory.withLock { $0.past.files[entry.name] = file }
      } else if let file = FileName.published(entry.name), file.last > last || isAwaited(entry) {
        missing.append(entry)
      }
    }
    try checkOpen()
    return missing
  }

  /// A server that does not give it just now may do so in a while.
  private func isAwaited(_ entry: FolderEntry) -> Bool {
    entry.isPresent && 1..<Exchange.patience ~= withheldCount(entry)
  }

  /// nil if it can't be had, or is not what its name says: nobody asked for it by that name.
  private func pastFile(
    _ entry: FolderEntry, _ report: inout ExchangeReport
  ) async throws(CairnError) -> OwnPast.File? {
    guard entry.isPresent else { return nil }
    report.requests += 1
    let waiting = report.waiting
    let bytes = try await readFile(
      entry, PublishedSegment.fileBytesMax, mayBreak: true, &report)
    // One that has gone since it was listed is waited for by nobody.
    report.waiting = waiting
    return bytes.flatMap { pastFile(entry.name, $0) }
  }

  /// nil if it is not what its name says.
  func pastFile(_ name: String, _ bytes: [UInt8]) -> OwnPast.File? {
    guard let named = FileName.published(name) else { return nil }
    do throws(LogError) {
      let file = try PublishedSegment(bytes, name: name, datastore: store.datastore)
      guard file.encodedName(bytes) == name else { return nil }
      return OwnPast.File(
        segment: Head.Segment(
          first: file.first, last: file.last, size: UInt64(bytes.count), hash: named.hash),
        before: file.chainBefore, chains: try Exchange.verify(file, name).chains)
    } catch { return nil }
  }

  /// Writes a head from what the files of the device tell, in the name of the copy that has written
  /// the last one: the next round finds it, and that it is not this one's. Nothing of it is noted
  /// at home, so that a crash does not change that.
  func publishHead(
    _ found: Head, _ listing: [String: FolderEntry], reason: String,
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    var head = found
    head.user = user
    // Beyond any that the other copy may have come to.
    head.generation = min(head.generation + Exchange.generationLeap, Head.generationMax)
    head.nonce = machine.random.next()
    if let snapshot = head.snapshot, listing[snapshot.name] == nil, head.gaps.isEmpty {
      head.snapshot = nil
    }
    let bytes = head.encoded()
    let name = FileName.head(device: store.device.rawValue)
    report.requests += 1
    let entry = try await folder.write(directory + "/" + name, bytes)
    guard entry.size == UInt64(bytes.count) else {
      throw CairnError(
        .response, "the folder kept \(entry.size) of \(bytes.count) bytes of \(name)", file: name)
    }
    report.publishedFiles += 1
    report.publishedBytes += UInt64(bytes.count)
    report.waiting.append(
      ExchangeReport.Waiting(name: name, bytes: entry.size, reason: reason))
  }

  fileprivate static let generationLeap: UInt64 = 1 << 32
}

extension Head {
  /// Whether a copy has written it that leaves its name: no other one goes on under that either, as
  /// it is nobody's own head. What it does not tell of is in no file, and is not late.
  var isWrittenAgain: Bool { generation >= Exchange.generationLeap }
}
