internal import CairnBytes
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Putting back what the folder has lost of the own files.
extension Exchange {
  /// The own head is not there, or an old or damaged one is.
  func isHeadLost(_ listing: [String: FolderEntry], _ head: Head) -> Bool {
    let name = FileName.head(device: store.device.rawValue)
    return memory.withLock { $0.mustRewriteHead } || listing[name] == nil && head.generation > 0
  }

  /// Own files that the head names and that are not there: told by two listings, since one may lag
  /// behind, or by one if the head is lost as well.
  func missingSegments(
    _ listing: [String: FolderEntry], _ head: Head, isRolledBack: Bool
  ) -> [Head.Segment] {
    let missing = head.segments.filter { listing[$0.name(head.device)]?.size != $0.size }
    let names = Set(missing.map { $0.name(head.device) })
    return memory.withLock { memory in
      let known = memory.missing
      memory.missing = names
      return missing.filter { isRolledBack || known.contains($0.name(head.device)) }
    }
  }

  /// Writes them again from the log; what the log does not have any more is a problem.
  func republish(
    _ missing: [Head.Segment], _ head: inout Head, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    for old in missing {
      let name = old.name(head.device)
      guard let before = try await ownChain(old.first - 1, head, listing, &report),
        let segments = try segments(old, after: before)
      else {
        report.problems.append(
          ExchangeReport.Problem(
            name: name,
            reason: "the folder has lost deltas \(old.first) to \(old.last) of this device, and "
              + "its log does not have them any more: `cairn repair` publishes its state"))
        continue
      }
      var new: [Head.Segment] = []
      for segment in segments { new.append(try await put(segment, &report)) }
      report.republishedFiles += new.count
      if let index = head.segments.firstIndex(of: old) {
        head.segments.replaceSubrange(index...index, with: new)
      }
      memory.withLock { _ = $0.missing.remove(name) }
    }
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
