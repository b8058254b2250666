import CairnBytes
import CairnDisk
import CairnLog
package import CairnMerge
import Synchronization

extension Store {
  /// Own deltas after `sequence`, as a pack of about `limit` bytes: nil if there are none. Only
  /// what `flush` has made durable may be asked for: nothing may be published that a power cut
  /// could still take back.
  package func ownPack(
    after sequence: UInt64, through last: UInt64, limit: Int
  ) throws(StoreError) -> (pack: [UInt8], first: UInt64, last: UInt64)? {
    guard last > sequence else { return nil }
    let sources = try withState { guarded throws(StoreError) in ownSources(sequence, guarded) }
    return try ownPack(sources, after: sequence, through: last, limit: limit)
  }

  /// Throws `missing` if `ownPack` does not have all of these. What it has goes on to the end, but
  /// for one gap that there may be between what is still in the outbox and the log, of what was
  /// published: so the first one is asked for, and the first one behind the outbox.
  package func checkOwnDeltas(
    after sequence: UInt64, through last: UInt64
  ) throws(StoreError) {
    _ = try ownPack(after: sequence, through: last, limit: 1)
    let end = try outboxEnd()
    if end > sequence { _ = try ownPack(after: end, through: last, limit: 1) }
  }

  /// Where own deltas are.
  struct OwnSources {
    /// The outbox, nil if there is none.
    var outbox: String?
    var segments: [Segment]

    struct Segment {
      var number: UInt64
      /// Where its frames end, nil if it grows no more.
      var end: Int?
    }
  }

  func ownSources(_ sequence: UInt64, _ guarded: Guarded) -> OwnSources {
    let rejoinings = guarded.current.rejoinings
    let active = guarded.tail.segment
    return OwnSources(
      outbox: rejoinings > 0 ? directory + "/" + FileName.outbox(rejoinings) : nil,
      segments: guarded.tail.segments.filter { $0.lastOwn > sequence }.map { info in
        let end = active?.header.number == info.number ? active?.end : nil
        return OwnSources.Segment(number: info.number, end: end)
      })
  }

  func ownPack(
    _ sources: OwnSources, after sequence: UInt64, through last: UInt64, limit: Int
  ) throws(StoreError) -> (pack: [UInt8], first: UInt64, last: UInt64)? {
    guard last > sequence else { return nil }
    var writer = PackWriter(device: device, first: sequence + 1)
    if let outbox = sources.outbox {
      try add(outbox: outbox, through: last, limit: limit, to: &writer)
    }
    // Two at once: the second one starts anew.
    var frames = publishing.withLock { $0.take() }
    for segment in sources.segments where writer.byteCount < limit && writer.nextSequence <= last {
      try add(segment, frames: &frames, through: last, limit: limit, to: &writer)
    }
    publishing.withLock { $0 = frames }
    guard !writer.isEmpty else {
      throw StoreError(
        LogError(
          .missing, sources.outbox ?? directory + "/" + FileName.log,
          "own delta \(sequence + 1), which is not published yet, is not there; were these files "
            + "restored from another time? `cairn repair` makes the datastore whole"))
    }
    return (writer.bytes(), sequence + 1, writer.nextSequence - 1)
  }

  /// `frames` is where the last call has stopped, and then where this one does.
  private func add(
    _ segment: OwnSources.Segment, frames: inout OwnFrames?, through last: UInt64, limit: Int,
    to writer: inout PackWriter
  ) throws(StoreError) {
    do throws(LogError) {
      var reader: OwnFrames
      if let kept = frames.take(), kept.segment == segment.number, kept.device == device,
        kept.last < writer.nextSequence
      {
        reader = kept
      } else {
        let path = directory + "/" + FileName.log + "/" + FileName.segment(segment.number)
        reader = try OwnFrames(segment.number, path: path, device: device, disk: machine.disk)
      }
      var map: [UInt32] = []
      var isGap = false
      try reader.forEach(through: last, end: segment.end, disk: machine.disk) {
        own throws(DecodeError) in
        guard own.last >= writer.nextSequence else { return true }
        guard own.last == writer.nextSequence else {
          isGap = true
          return false
        }
        writer.append(own.delta, heap: own.payload, names: own.records, map: &map)
        return writer.byteCount < limit
      }
      // A compaction drops what was published.
      if isGap {
        throw LogError(
          .missing, reader.path, "own delta \(writer.nextSequence) is not in the log any more")
      }
      frames = reader
    } catch { throw StoreError(error) }
  }

  /// The snapshot that the store stands on, for publishing: its file and what is in it.
  package func snapshotFile() -> (path: String, vector: VersionVector, fence: VersionVector)? {
    state.withLock { guarded in
      guard let base = guarded.store.ground.base else { return nil }
      return (base.reader.path, base.description.vector, base.description.fence)
    }
  }

  /// Log bytes behind the snapshot.
  package var replayBytes: Int { state.withLock { $0.tail.replayBytes } }

  /// Whether nothing was ever written or merged here: such a store may take a snapshot as it is.
  package var isBlank: Bool {
    state.withLock { guarded in
      guarded.store.vector.isEmpty && !guarded.store.hasPending
    }
  }

  /// Makes a snapshot of another device the state of a blank store. The file at `temporary` (in
  /// the store's snapshot directory) is verified to the last byte first, and consumed.
  package func adopt(snapshot temporary: String) throws(StoreError) {
    try checkProcess()
    // Nothing is there any more if it has got its own name.
    defer { remove(temporary) }
    try tellingOfItsEnd { () throws(StoreError) in
      try withTurn { () throws(StoreError) in try adoptInTurn(temporary) }
    }
  }

  private func adoptInTurn(_ temporary: String) throws(StoreError) {
    _ = try SnapshotCheck.run(
      temporary, datastore: datastore, disk: machine.disk, isOthers: true
    ) { _, _ in }
    try makeDirectoriesDurable()
    let (number, first) = try withState { guarded throws(StoreError) in
      try requireBlank(guarded)
      let first = guarded.tail.segment?.header.number ?? guarded.tail.nextNumber
      return (nextSnapshot(guarded.current), first)
    }
    let path =
      directory + "/" + FileName.snapshots + "/" + FileName.snapshot(number)
    do throws(DiskError) {
      let file = try machine.disk.open(temporary, .readWrite)
      defer { file.close() }
      try file.sync()
      try machine.disk.rename(temporary, to: path)
      try machine.disk.syncDirectory(directory + "/" + FileName.snapshots)
    } catch {
      remove(path)
      throw StoreError(LogError(error))
    }
    try install(number: number, path: path, firstSegment: first, isAdopted: true)
  }

  /// Where a snapshot that is being fetched is to be written. No compaction removes it until
  /// another path is asked for.
  package func incomingSnapshotPath() -> String {
    let path = temporarySnapshotPath()
    incoming.withLock { $0 = path }
    return path
  }

  /// A snapshot that was fetched waits for somebody's consent: no compaction removes it either,
  /// until another one waits, or none does.
  package func keepIncoming(_ path: String?) { waiting.withLock { $0 = path } }

  /// Where a snapshot may be written that this call alone knows of.
  package func temporarySnapshotPath() -> String {
    directory + "/" + FileName.snapshots + "/" + FileName.temporary(machine.random.next())
  }
}
