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
