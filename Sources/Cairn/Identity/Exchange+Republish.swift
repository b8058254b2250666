internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Putting back what the folder has lost of the own files.
extension Exchange {
  /// The own head is not there, or an old or damaged one is.
  func isHeadLost(_ listing: [String: FolderEntry], _ head: Head) -> Bool {
    let name = FileName.head(device: store.device.rawValue)
    return memory.withLock { memory in
      // A listing may lag behind: one that was read all the same is there.
      memory.mustRewriteHead
        || listing[name] == nil && head.generation > 0 && !memory.isOwnVerified
    }
  }

  /// Writes an own file that is lost again from the log; returns what takes its place, nothing if
  /// the log does not have the deltas any more.
  func republish(
    _ old: Head.Segment, _ head: inout Head, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> [Head.Segment] {
    guard let before = try await ownChain(old.first - 1, head, listing, &report),
      let segments = try segments(old, after: before),
      let index = head.segments.firstIndex(of: old)
    else { return [] }
    var new: [Head.Segment] = []
    for segment in segments {
      try await blobs?.publish(segment.pack, &report)
      new.append(try await put(segment, &report))
    }
    report.republishedFiles += new.count
    head.segments.replaceSubrange(index...index, with: new)
    return new
  }

  /// The deltas of a file anew; nil if the log does not have them as they were.
  private func segments(
    _ old: Head.Segment, after before: UInt128
  ) throws(CairnError) -> [PublishedSegment]? {
    var result: [PublishedSegment] = []
    var (have, chain) = (old.first - 1, before)
    while have < old.last {
      let found: (pack: [UInt8], first: UInt64, last: UInt64)?
      do throws(StoreError) {
        found = try store.ownPack(after: have, through: old.last, limit: tuning.packBytes)
      } catch {
        if store.ending != nil { throw CairnError(error) }
        return nil
      }
      guard let found else { return nil }
      let chains = try chains(of: found.pack, after: chain)
      result.append(
        PublishedSegment(
          datastore: store.datastore, device: store.device.rawValue, first: found.first,
          last: found.last, chainBefore: chain, chainAfter: chains.last ?? chain, pack: found.pack))
      (have, chain) = (found.last, chains.last ?? chain)
    }
    let known = memory.withLock { $0.histories.chain(store.device, at: old.last) }
    return known ?? chain == chain ? result : nil
  }

  /// The chain after an own delta that a file ends with.
  private func ownChain(
    _ sequence: UInt64, _ head: Head, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> UInt128? {
    if let known = memory.withLock({ $0.histories.chain(head.device, at: sequence) }) {
      return known
    }
    guard let before = head.segments.first(where: { $0.last == sequence }) else { return nil }
    return try await files([before], of: head.device, listing, &report).first?.chains.last
  }
}

/// Files that the head of another copy of this device names.
extension Exchange {
  /// Writes those anew of which the folder has nothing, or half, and which the log here makes as
  /// they were: their names tell that. The copy that has written them may never come back, and
  /// without them this one can't tell what both have. `files` are those that are there.
  func giveBack(
    _ head: Head, having files: [PublishedBranch.File], _ staging: Staging,
    _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let (mayPublish, isThorough) = memory.withLock { ($0.mayPublish, $0.isThorough) }
    guard mayPublish, staging.isReturnDue() || isThorough else { return }
    try wrapped { () throws(StoreError) in try store.flush() }
    var chains = try ownBranch().chains
    for file in files { chains[file.last] = file.chains.last }
    let there = Set(files.map(\.first))
    var audit: FolderRepair?
    for segment in head.segments where !there.contains(segment.first) {
      guard let before = chains[segment.first - 1],
        let new = try again(segment, after: before)
      else { continue }
      chains[segment.last] = new.chainAfter
      let name = segment.name(head.device)
      // A placeholder is somewhere, and may still come.
      guard listing[name]?.isPresent ?? true else { continue }
      do throws(CairnError) {
        // An upload over what only the listing lacks could leave half of it.
        if try await isThere(segment, head.device, &audit, &report) { continue }
        try await blobs?.publish(new.pack, &report)
        _ = try await put(new, &report)
        report.republishedFiles += 1
      } catch {
        guard Exchange.canDoWithout(error) || error.code == .sizeLimit,
          !Exchange.endsAtOnce(error)
        else { throw error }
        report.problems.append(
          ExchangeReport.Problem(name: error.file ?? name, reason: error.message))
      }
    }
  }

  /// The very same file; nil if the log has not all of its deltas, or makes other bytes of them.
  private func again(
    _ old: Head.Segment, after before: UInt128
  ) throws(CairnError) -> PublishedSegment? {
    let found: (pack: [UInt8], first: UInt64, last: UInt64)?
    do throws(StoreError) {
      found = try store.ownPack(
        after: old.first - 1, through: old.last, limit: PublishedSegment.rawBytesMax)
    } catch {
      if store.ending != nil { throw CairnError(error) }
      return nil
    }
    guard let found, found.last == old.last else { return nil }
    let chains = try chains(of: found.pack, after: before)
    let new = try withFloor(
      PublishedSegment(
        datastore: store.datastore, device: store.device.rawValue, first: found.first,
        last: found.last, chainBefore: before, chainAfter: chains.last ?? before,
        pack: found.pack))
    return new.encoded().name == old.name(store.device) ? new : nil
  }
}

extension Staging {
  /// Asked once a round in which something is not there: a listing may lag behind, and what can't
  /// be given back now need not be tried in each.
  fileprivate func isReturnDue() -> Bool {
    state.withLock { state in
      state.lacks += 1
      guard state.lacks >= Exchange.patience, state.returns.isDue() else { return false }
      state.returns.fail()
      return true
    }
  }
}

extension Exchange.Memory {
  /// Whether the round that is under way may make the folder one of ours.
  var mayFound: Bool { mayPublish || !isThorough }
}
