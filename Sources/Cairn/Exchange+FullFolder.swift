internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Own files that are in nobody's use, in a folder that has no room.
extension Exchange {
  /// A round that could not publish everything does not come to its end, where what was replaced
  /// goes; and as long as that takes the room, none ever does. So it goes now, for the next round:
  /// what no head that may be there has named for as long as the grace. The list of replaced
  /// snapshots stays as it is: the next head drops those that no listing has any more.
  func removeReplaced(_ listing: FolderListing, _ report: inout ExchangeReport) async {
    // However often that was refused: rounds that find no room are seldom as it is.
    let (own, mayRemove) = memory.withLock { memory in
      (memory.own, memory.isOwnVerified && memory.own.generation > 0)
    }
    guard mayRemove else { return }
    var named: Set<String> = []
    // A head whose writing failed may be there all the same.
    for head in [own, lastWritten ?? own] {
      named.formUnion(head.segments.map { $0.name(head.device) })
      if let snapshot = head.snapshot { named.insert(snapshot.name) }
    }
    var copy = own
    let snapshots = dropExpired(&copy, own, listing.byName).filter { !named.contains($0) }
    let segments = replacedFiles(listing, own) { name in
      if named.contains(name) { return true }
      // What went up and no head names yet is about to be named.
      return FileName.published(name).map { $0.last > own.last } ?? false
    }
    do throws(CairnError) {
      // A store that was closed since says nothing of what is needed.
      try checkOpen()
      try await remove(snapshots + segments, &report)
    } catch {
      // The first error is the one that says what to do.
    }
  }
}
