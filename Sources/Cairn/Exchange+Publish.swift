internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// From the log into the folder: segments, then a snapshot, then the head.
extension Exchange {
  /// `onlyMends`: publishes nothing new. `audit`: what a thorough look has found, and what is done
  /// about it.
  func publish(
    _ found: FolderListing, onlyMends: Bool = false, _ audit: inout FolderRepair?,
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let listing = found.byName
    // Everything that is told to others must be safe here first.
    let vector = store.vector
    try checkOpen()
    let before = memory.withLock { $0.own }
    forgetUploads(listing, before)
    var head = resumed(before)
    let isRegained = try await regain(found, &head, &report)
    let isWithdrawn = withdrawSnapshot(from: &head)
    let isTakenBack = withdrawWords(from: &head)
    let mayRemove = memory.withLock { $0.removals.isDue() }
    let isLost = isHeadLost(listing, head)
    let losses = losses(of: head, isRolledBack: isLost, audit)
    let hasNews =
      head != before || vector[store.device] > head.last || vector != head.acknowledged
      || hasSuperseded(head, mayRemove: mayRemove) || isSnapshotDue(head)
      || !unnamedSnapshots(listing, head).isEmpty
    // What a head that may have arrived names is never told otherwise: it goes up even then.
    let isInDoubt = head.last > before.last
    let isAmended = isRegained || isWithdrawn || isTakenBack
    guard isLost || isInDoubt || isAmended || !losses.isEmpty || hasNews && !onlyMends else {
      try dropPublished(found, before)
      return try await remove(mayRemove ? replacedFiles(found, before) : [], &report)
    }
    try wrapped { () throws(StoreError) in try store.flush() }
    // Nobody was told of the rest before.
    report.publishedDeltas += head.last - before.last
    if !onlyMends {
      try await publishBacklog(&head, listing, through: vector[store.device], &report)
    }
    let failure = try await tend(losses, onlyMends: onlyMends, &head, listing, &audit, &report)
    if !onlyMends {
      head.acknowledged = vector
      head.acknowledgedAt = vector[store.device]
      let cuts = store.cuts
      head.fence = cuts.fence.meet(vector)
      head.retired = Exchange.retiredToTell(cuts.retired, vector)
      supersedeUnnamed(listing, &head)
    }
    head.user = user
    let expired = mayRemove && failure == nil ? dropExpired(&head, before, listing) : []
    // What goes is named by no head that is there.
    let named = expired.isEmpty ? nil : lastWritten?.snapshot?.name
    if head != before || isLost || named.map({ expired.contains($0) }) ?? false {
      try await write(&head, &report)
    }
    if let failure { throw failure }
    try await remove(mayRemove ? expired + replacedFiles(found, head) : [], &report)
  }

  /// A snapshot that may be of a history which has lost is nobody's to begin with. It goes before
  /// the store is another one: what is only in memory then would be there again after a restart.
  private func withdrawSnapshot(from head: inout Head) -> Bool {
    guard let snapshot = head.snapshot, head.gaps.isEmpty,
      memory.withLock({ !$0.forked.isEmpty })
    else { return false }
    head.superseded.append(Head.Superseded(name: snapshot.name, time: machine.clock.now()))
    head.snapshot = nil
    return true
  }

  /// What is acknowledged of a history that has lost would tell the device of the other one that
  /// more was published than it knows. It would publish nothing more, or leave its name, and what
  /// was published from here on top waits for the deltas that it has not published. So no more is
  /// acknowledged than what both have, once all that the device's head tells is compared.
  private func withdrawWords(from head: inout Head) -> Bool {
    let (forked, heads, known) = memory.withLock { ($0.forked, $0.heads, $0.histories) }
    guard !forked.isEmpty, let staged else { return false }
    let found = staged.memory.withLock { $0.histories }
    let before = head.acknowledged
    for device in forked {
      guard let other = heads[device], other.last > 0,
        found.chain(device, at: other.last) == other.chain
      else { continue }
      let agreed = known.agreement(with: found, on: device)
      head.acknowledged[device] = min(before[device], agreed)
    }
    return head.acknowledged != before
  }

  /// What others can do without for a while. The head fits after each step of it, so what ends it
  /// half-way keeps nobody from what is published: it is returned, and ends the round once the head
  /// is written. What has been published and is in no head would be sent again with each round.
  private func tend(
    _ losses: Losses, onlyMends: Bool, _ head: inout Head, _ listing: [String: FolderEntry],
    _ audit: inout FolderRepair?, _ report: inout ExchangeReport
  ) async throws(CairnError) -> CairnError? {
    var failure: CairnError?
    var isTooLarge = false
    do throws(CairnError) {
      isTooLarge = try await mendIfDue(
        losses, onlyFromLog: onlyMends, &head, listing, &audit, &report)
    } catch {
      if Exchange.endsAtOnce(error) { throw error }
      failure = error
    }
    if onlyMends || failure.map(Exchange.isOfConnection) == true { return failure }
    do throws(CairnError) {
      try await mergeIfRoom(&head, &report)
      if !isTooLarge, isSnapshotDue(head) {
        try await publishSnapshotIfRoom(&head, listing, &report)
      }
    } catch {
      if Exchange.endsAtOnce(error) { throw error }
      failure = failure ?? error
    }
    return failure
  }

  /// Somebody wants the round to end, or nothing more may be written.
  static func endsAtOnce(_ error: CairnError) -> Bool {
    [.closed, .deleted, .shutdown, .cancelled, .syncFailed].contains(error.code)
  }

  /// What a head said whose writing failed counts, as its files went up before it. It may have
  /// arrived, and told others of them: one that takes that back would make what they know a sign of
  /// another copy. A process that begins anew goes on from it, too.
  func resumed(_ own: Head) -> Head {
    guard var failed = lastWritten, failed.last > own.last else { return own }
    // Those whose grace was over are still to be removed.
    failed.superseded += own.superseded.filter { old in
      !failed.superseded.contains { $0.name == old.name }
    }
    return failed
  }

  /// What the folder was just seen to have, in segments and in the own snapshot, which would put
  /// back any of these that it loses, need not be in the log any longer.
  private func dropPublished(_ listing: FolderListing, _ head: Head) throws(CairnError) {
    guard let snapshot = head.snapshot,
      memory.withLock({ $0.isOwnVerified && ($0.complete?.isOf(listing, $0) ?? false) })
    else { return }
    let last = min(head.last, snapshot.vector[store.device])
    try wrapped { () throws(StoreError) in try store.dropPublished(through: last) }
  }

  /// Where nothing may be removed it stays: it is in nobody's way, and tried ever more seldom.
  func remove(
    _ names: [String], _ report: inout ExchangeReport
  ) async throws(CairnError) {
    if names.isEmpty { return }
    var refusals = 0
    var refused = memory.withLock { $0.refusedRemoval }
    // Behind the one that was refused last: two that never go keep no other one.
    let next = names.firstIndex { $0 == refused }.map { $0 + 1 } ?? 0
    for name in names[next...] + names[..<next] where refusals < 2 {
      report.requests += 1
      do throws(CairnError) { try await folder.remove(directory + "/" + name) } catch {
        // One that somebody has locked is tried again like the others.
        guard [.auth, .server, .request, .readOnly, .fileIO, .retryLater].contains(error.code)
        else { throw error }
        refusals += 1
        refused = name
        report.problems.append(
          ExchangeReport.Problem(name: name, reason: "it can't be removed: \(error.message)"))
      }
    }
    memory.withLock { memory in
      memory.refusedRemoval = refused
      if refusals > 0 { memory.removals.fail() } else { memory.removals = Retry(version: "") }
    }
  }

  /// Own segments that the head does not name (any more), once their grace has ended. It counts
  /// from when they were first seen so, which CHAINS keeps for the next process: a list of them in
  /// the head would make each head as long as the history. What has deltas that no other file has
  /// just now is not replaced.
  ///
  /// - Parameter isSpared: Whether one is not replaced yet: its grace has not begun.
  func replacedFiles(
    _ listing: FolderListing, _ head: Head, isSpared: (String) -> Bool = { _ in false }
  ) -> [String] {
    if memory.withLock({ $0.tidy?.isOf(listing, $0) ?? false }) { return [] }
    let now = machine.clock.now()
    let current = Set(head.segments.map { $0.name(store.device) })
    let mayRegain = regainable(of: head)
    let unnamed = listing.published[store.device, default: []].filter {
      !current.contains($0) && !mayRegain($0)
    }
    let own = unnamed.filter { !isSpared($0) }
    return memory.withLock { memory in
      memory.tidy = unnamed.isEmpty ? Exchange.Memory.Finding(listing, memory) : nil
      let known = memory.histories.replaced
      memory.histories.dropReplaced()
      // By a clock that was put back since it counts from now on.
      for name in own { memory.histories.replaced[name] = min(known[name] ?? now, now) }
      let seen = memory.histories.replaced
      return own.filter { seen[$0] ?? now <= now - graceMilliseconds }.sorted()
    }
  }

  /// Of a backlog that takes more than one round others hear as far as it has come: there may never
  /// be one that has room for all of it, and what is damaged here may stay so.
  private func publishBacklog(
    _ head: inout Head, _ listing: [String: FolderEntry], through last: UInt64,
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let before = head.last
    do throws(CairnError) {
      try await publishSegments(&head, listing, through: last, &report)
    } catch {
      let mayLast =
        BlobExchange.saysFull(error) || [.corrupt, .fileIO, .sizeLimit].contains(error.code)
      guard head.last > before, mayLast else { throw error }
      head.user = user
      // All else in it stays as it was, for the round that comes to its end.
      try await write(&head, &report)
      throw error
    }
  }

  private func publishSegments(
    _ head: inout Head, _ listing: [String: FolderEntry], through last: UInt64,
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let snapshot = isSnapshotDue(head) ? snapshotBytes() : nil
    defer { transfers.expectLater(files: 0, bytes: 0) }
    let before = head.last
    // What has room in an hour, once that is known.
    var roomiest = Int.max
    var limit = packLimit(head)
    var next = try nextPack(after: before, through: last, limit)
    while let found = next {
      limit = min(roomiest, packLimit(head))
      // One ahead, so that nobody takes the pause between two files for the end.
      var failure: CairnError?
      do throws(CairnError) { next = try nextPack(after: found.last, through: last, limit) } catch {
        // Not before what can be published is.
        (next, failure) = (nil, error)
      }
      transfers.expectLater(
        files: (next == nil ? 0 : 1) + (snapshot == nil ? 0 : 1),
        bytes: UInt64(next?.pack.count ?? 0) + (snapshot ?? 0))
      try await blobs?.publish(found.pack, &report)
      let chains = try chains(of: found.pack, after: head.chain)
      let segment = PublishedSegment(
        datastore: store.datastore, device: store.device.rawValue, first: found.first,
        last: found.last, chainBefore: head.chain, chainAfter: chains.last ?? head.chain,
        pack: found.pack)
      // No hour may have room for as much at once.
      let smaller = max(Exchange.packBytesMin, min(limit, found.pack.count) / 2)
      let isDivisible =
        found.first < found.last && smaller < limit && smaller < found.pack.count
      let isFirst = head.last == before
      let need = isFirst && !isDivisible ? BudgetNeed.indivisible : .waits
      switch await tryPut(segment, need, there: listing, &report) {
      case .success(let new): head.segments.append(new)
      case .failure(let error):
        // Too large for what is left of an hour, or for the server.
        let isTooLarge = error.code == .quota || error.code == .sizeLimit
        guard isTooLarge, isFirst, isDivisible else { throw error }
        (limit, roomiest) = (smaller, smaller)
        next = try nextPack(after: before, through: last, limit)
        continue
      }
      head.last = found.last
      head.chain = segment.chainAfter
      memory.withLock { $0.histories.note(head.device, first: found.first, chains) }
      report.publishedDeltas += found.last - found.first + 1
      if let failure { throw failure }
    }
  }

  /// A file may have an eighth of what is published already: each look reads the names of all, so
  /// that a long history is not to have many; and who is new here sends none that are large.
  private func packLimit(_ head: Head) -> Int {
    let published = head.segments.reduce(0) { $0 + $1.size }
    return max(tuning.packBytes, min(tuning.packBytesMax, Int(clamping: published / 8)))
  }

  /// Own deltas that are not published yet, as far as one file goes; nil if there are no more.
  private func nextPack(
    after: UInt64, through last: UInt64, _ limit: Int
  ) throws(CairnError) -> (pack: [UInt8], first: UInt64, last: UInt64)? {
    if after >= last { return nil }
    return try wrapped { () throws(StoreError) in
      try store.ownPack(after: after, through: last, limit: limit)
    }
  }

  /// The first file of a round is not made smaller than that for want of room.
  private static let packBytesMin = 64 << 10

  private func snapshotBytes() -> UInt64? {
    guard let file = store.snapshotFile() else { return nil }
    // If it can't be asked now that is told when it is read.
    do { return try machine.disk.info(file.path)?.size } catch { return nil }
  }

  /// The chain after each delta of a pack of ours.
  func chains(of pack: [UInt8], after before: UInt128) throws(CairnError) -> [UInt128] {
    do throws(DecodeError) { return try DeltaChain.values(of: pack, after: before) } catch {
      throw CairnError(LogError(error, store.directory, at: 0, "own deltas"))
    }
  }

  private func tryPut(
    _ segment: PublishedSegment, _ need: BudgetNeed, there listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async -> Result<Head.Segment, CairnError> {
    do throws(CairnError) {
      return .success(try await put(segment, need: need, there: listing, &report))
    } catch { return .failure(error) }
  }

  /// A segment as it is written: who does not know of cuts must not read them.
  func withFloor(_ segment: PublishedSegment) throws(CairnError) -> PublishedSegment {
    var segment = segment
    do throws(DecodeError) {
      if try CutTable.occurs(in: segment.pack) { segment.floor = FormatVersion.cuts }
    } catch { throw CairnError(LogError(error, store.directory, at: 0, "own deltas")) }
    return segment
  }

  /// Writes a segment, unless it is `there`: then a round has written it that did not come to its
  /// head. Nobody else has files of that name, which says what is in them.
  func put(
    _ segment: PublishedSegment, need: BudgetNeed = .waits,
    there: [String: FolderEntry] = [:], _ report: inout ExchangeReport
  ) async throws(CairnError) -> Head.Segment {
    let (bytes, name) = try withFloor(segment).encoded()
    let result = Head.Segment(
      first: segment.first, last: segment.last, size: UInt64(bytes.count),
      hash: XXH3.hash128(bytes, 0..<(bytes.count - 16)))
    if let old = there[name], old.isPresent, old.size == result.size { return result }
    report.requests += 1
    transfers.planPublish(files: 1, bytes: UInt64(bytes.count))
    let entry = try await folder.write(directory + "/" + name, bytes, need: need)
    guard entry.size == UInt64(bytes.count) else {
      throw CairnError(
        .response, "the folder kept \(entry.size) of \(bytes.count) bytes of \(name)", file: name)
    }
    transfers.notePublished(files: 1, bytes: UInt64(bytes.count))
    report.publishedFiles += 1
    report.publishedBytes += UInt64(bytes.count)
    return result
  }

  /// Whether there are replaced snapshots for which something may be to be done in this round.
  private func hasSuperseded(_ head: Head, mayRemove: Bool) -> Bool {
    if mayRemove { return !head.superseded.isEmpty }
    let now = machine.clock.now()
    return head.superseded.contains { $0.time > now - graceMilliseconds }
  }

  /// Names of the replaced snapshots that are to go, as their grace has ended. The head forgets one
  /// when no listing has it any more: nothing else tells the next round of a file that stayed.
  func dropExpired(
    _ head: inout Head, _ before: Head, _ listing: [String: FolderEntry]
  ) -> [String] {
    let now = machine.clock.now()
    let current = head.snapshot?.name
    // What others still vouch for is not only ours.
    let others = memory.withLock { memory in
      Set(memory.heads.values.compactMap { $0.snapshot?.name })
    }
    let known = Set(before.superseded.map(\.name))
    var expired: [String] = []
    // By a clock that was put back since it counts from now on.
    for index in head.superseded.indices {
      head.superseded[index].time = min(head.superseded[index].time, now)
    }
    head.superseded.removeAll { old in
      // Not the difference: the head lies in a folder that others can write to.
      guard old.time <= now - graceMilliseconds else { return false }
      // One that was replaced just now may be in no listing yet.
      let mayBeThere = listing[old.name] != nil || !known.contains(old.name)
      // Whatever a head says.
      guard FileName.sharedSnapshot(old.name) != nil, old.name != current,
        !others.contains(old.name), mayBeThere
      else { return true }
      expired.append(old.name)
      return false
    }
    return expired
  }

  // MARK: the head

  private func write(
    _ head: inout Head, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    // The last one may have arrived although nobody said so, and the folder may show it later.
    // (Only a forged one is at the end: whoever reads goes by the version of the file then.)
    head.generation = min(
      max(head.generation, lastWritten?.generation ?? 0) + 1, Head.generationMax)
    head.nonce = machine.random.next()
    let bytes = head.encoded()
    let name = FileName.head(device: store.device.rawValue)
    try Exchange.checkHeadSize(bytes.count, name)
    var publication = memory.withLock { memory in
      PublicationFile(
        folder: memory.folderIdentity ?? 0,
        confirmedNonce: memory.publication?.confirmedNonce ?? 0, pendingNonce: head.nonce,
        head: bytes)
    }
    try save(publication)
    memory.withLock { $0.publication = publication }
    report.requests += 1
    let entry: FolderEntry
    do throws(CairnError) {
      entry = try await folder.write(directory + "/" + name, bytes, need: .naming)
      guard entry.size == UInt64(bytes.count) else {
        throw CairnError(
          .response, "the folder kept \(entry.size) of \(bytes.count) bytes of \(name)", file: name)
      }
    } catch {
      // Half of it may be there, and nobody writes it again once the name is left. What is refused
      // is not there, and may be refused for ever.
      if ![.quota, .readOnly, .auth].contains(error.code) { forgetPlan(onlyIfLeaving: true) }
      throw error
    }
    publication.confirmedNonce = head.nonce
    // It is there, even if that can't be kept now: what is kept next says so, too.
    memory.withLock { $0.publication = publication }
    // For the next process, which need not look into the folder then.
    try save(publication)
    let written = head
    memory.withLock { memory in
      memory.isNameSure = memory.isNameSure || written.last > memory.own.last
      memory.own = written
      memory.histories.forgetUploads(namedBy: written)
      memory.isOwnVerified = true
      memory.past = OwnPast()
      memory.mustRewriteHead = false
      memory.versions[name] = entry.version
    }
    store.confirmPublished(through: head.last)
    if store.hasRejoined { store.dropOutboxes() }
    report.publishedFiles += 1
    report.publishedBytes += UInt64(bytes.count)
  }

  /// So many retired devices a head tells of.
  static let retiredMost = 4096

  /// Which retired devices the head tells of: where there are too many, those of which something is
  /// here. A record is enough to retire a device that never was, and there may be millions.
  static func retiredToTell(_ retired: Set<DeviceID>, _ vector: VersionVector) -> [DeviceID] {
    if retired.count <= retiredMost { return retired.sorted() }
    return Array(retired.filter { vector[$0] > 0 }.sorted().prefix(retiredMost))
  }

  /// Longer than others read, it would hide all that its device publishes; and PUBLISHED, which has
  /// it, could not be read here.
  static func checkHeadSize(_ count: Int, _ name: String) throws(CairnError) {
    guard count > Head.bytesMax else { return }
    throw CairnError(
      .sizeLimit, "the head of this device has \(count) bytes, \(Head.bytesMax) at most are read "
        + "by others: the one in the folder stays as it was", file: name)
  }

  /// The head as it was last written, or was to be: it may be in the folder or not.
  var lastWritten: Head? {
    let bytes = memory.withLock { $0.publication?.head ?? [] }
    do throws(LogError) {
      return try Head(bytes, name: directory, datastore: store.datastore)
    } catch { return nil }
  }

  /// Keeps PUBLISHED, durably: what this device knows of its own head.
  func save(_ publication: PublicationFile) throws(CairnError) {
    // Somebody else may have the datastore open by now.
    try checkOpen()
    do throws(StoreError) {
      try store.replaceFile(FileName.publication, publication.encoded())
    } catch { throw CairnError(error) }
  }
}
