import CairnDisk
import CairnLog
import Synchronization

extension Store {
  /// Less is not worth a replacement of CURRENT: the next compaction removes it.
  private static let publishedBytesMin = 4 << 20

  /// Removes segments that the snapshot has and that were only kept until they are published, if
  /// the folder has what is in them: own deltas up to here. Each is a file that an opening looks
  /// into, and the next compaction of a large store may be far.
  package func dropPublished(through sequence: UInt64) throws(StoreError) {
    guard isLinked, keptForNothing(sequence) != nil, !isCompacting else { return }
    try withTurn { () throws(StoreError) in
      guard let next = keptForNothing(sequence) else { return }
      try checkPlace()
      do throws(LogError) { try next.write(directory: directory, machine: machine) } catch {
        // What keeps the segments may be what is durable.
        if mayName(next) { doubt(next) }
        throw StoreError(error)
      }
      let gone = try withState { guarded throws(StoreError) in
        guarded.current = next
        return dropSegments(next, &guarded)
      }
      for segment in gone {
        remove(directory + "/" + FileName.log + "/" + FileName.segment(segment))
      }
    }
  }

  /// CURRENT without them; nil if there are too few.
  private func keptForNothing(_ sequence: UInt64) -> CurrentFile? {
    state.withLock { guarded in
      let old = guarded.current
      if old.firstKept == old.firstSegment { return nil }
      var next = old
      next.firstKept = old.firstSegment
      var bytes = 0
      for segment in guarded.tail.segments where segment.number < old.firstSegment {
        if segment.lastOwn > min(sequence, guarded.published) {
          next.firstKept = segment.number
          break
        }
        bytes += segment.bytes
      }
      return bytes >= Store.publishedBytesMin ? next : nil
    }
  }
}
