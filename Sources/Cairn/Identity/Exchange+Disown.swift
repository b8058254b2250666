internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// A log that has lost its end.
extension Exchange {
  /// PUBLISHED tells of more own deltas than there are: the end of the log is gone, as when
  /// somebody removed the newest segment, or the frames of the very last sync have rotted. The next
  /// commits get numbers under which others know other deltas, and soon there are as many as
  /// before. So it is noted, before there is any, that what the folder has is not what this copy
  /// has: the next round finds a head that is not its own, and sets both apart as for a backup.
  static func disownIfShorter(_ memory: inout Memory, _ store: Store) {
    guard let publication = memory.publication, memory.own.last > store.vector[store.device] else {
      return
    }
    var head = Head(datastore: store.datastore, device: store.device)
    (head.generation, head.user) = (memory.own.generation, memory.own.user)
    let disowned = PublicationFile(
      folder: publication.folder, confirmedNonce: 0, pendingNonce: 0, head: head.encoded())
    (memory.own, memory.publication) = (head, disowned)
    do throws(StoreError) {
      // What is known of the deltas that are gone must not count for those to come.
      try store.replaceFile(FileName.chains, memory.histories.encoded())
      try store.replaceFile(FileName.publication, disowned.encoded())
    } catch {
      // This process knows it all the same; a disk that takes no file takes no commit either.
    }
  }
}
