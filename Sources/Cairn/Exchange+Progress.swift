internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

extension Exchange {
  /// Says what a round is going to fetch, before it begins: heads know the sizes of everything.
  ///
  /// - Parameter snapshot: It comes first, and saves the deltas that are in it.
  func planFetch(of snapshot: Head.Snapshot?, _ listing: [String: FolderEntry]) {
    let heads = memory.withLock { $0.sortedHeads }
    let vector = store.vector
    var files = 0
    var bytes: UInt64 = 0
    if let snapshot {
      let begun = download.withLock { $0 }
      let isBegun = begun?.content == snapshot.content && begun?.size == snapshot.size
      files += 1
      bytes &+= snapshot.size - (isBegun ? begun?.received ?? 0 : 0)
    }
    for head in heads {
      let start = max(
        vector[head.device], snapshot?.vector[head.device] ?? 0,
        inbox.withLock { $0.incoming?.vector[head.device] ?? 0 })
      if head.last <= start { continue }
      let have = inbox.withLock { $0.reach(head.device, from: start) }
      for segment in head.segments where segment.last > have {
        guard let entry = listing[segment.name(head.device)], entry.isPresent,
          entry.size == segment.size
        else { break }
        files += 1
        bytes &+= segment.size
      }
    }
    if files > 0 { transfers.planFetch(files: files, bytes: bytes) }
  }
}
