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
    let numbers = try withState { guarded throws(StoreError) in
      guarded.tail.segments.filter { $0.lastOwn > sequence }.map(\.number)
    }
    var writer = PackWriter(device: device, first: sequence + 1)
    for number in numbers where writer.byteCount < limit {
      try add(segment: number, through: last, limit: limit, to: &writer)
    }
    guard !writer.isEmpty else {
      throw StoreError(
        .log, "own delta \(sequence + 1) is not in the log of \(directory); was the log restored?")
    }
    return (writer.bytes(), sequence + 1, writer.nextSequence - 1)
  }

  private func add(
    segment number: UInt64, through last: UInt64, limit: Int, to writer: inout PackWriter
  ) throws(StoreError) {
    let path = directory + "/" + FileName.log + "/" + FileName.segment(number)
    do throws(LogError) {
      guard
        let bytes = try DurableFile.read(path, limit: Int(UInt32.max), disk: machine.disk)
      else { throw LogError(.missing, path, "a segment of the log is missing") }
      let scan = try SegmentScan(bytes, path: path)
      var decoder = DeltaDecoder()
      var delta = Delta()
      var map: [UInt32] = []
      for frame in scan.frames where frame.kind == FrameKind.delta.rawValue {
        if frame.sequence > last || writer.byteCount >= limit { return }
        do throws(DecodeError) {
          let payload = try frame.payload(bytes)
          var reader = ByteReader(payload)
          let dot = Dot(device: DeviceID(rawValue: frame.device), sequence: frame.sequence)
          try decoder.decode(&reader, dot: dot, into: &delta)
          guard frame.sequence >= writer.nextSequence else { continue }
          guard frame.sequence == writer.nextSequence, delta.dot.device == device else {
            throw .malformed("an own delta is missing before this one")
          }
          writer.append(delta, heap: payload, names: decoder.records, map: &map)
        } catch { throw LogError(error, path, at: UInt64(frame.offset), "an own delta") }
      }
    } catch { throw StoreError(error) }
  }

  /// The first own delta that is still in the log, nil if none is: the log has all that follow it.
  package func firstOwnInLog() throws(StoreError) -> UInt64? {
    let numbers = try withState { guarded throws(StoreError) in
      guarded.tail.segments.filter { $0.lastOwn > 0 }.map(\.number)
    }
    for number in numbers {
      let path = directory + "/" + FileName.log + "/" + FileName.segment(number)
      do throws(LogError) {
        guard
          let bytes = try DurableFile.read(path, limit: Int(UInt32.max), disk: machine.disk)
        else { continue }
        let scan = try SegmentScan(bytes, path: path)
        let own = scan.frames.first { $0.kind == FrameKind.delta.rawValue }
        if let own { return own.sequence }
      } catch { throw StoreError(error) }
    }
    return nil
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
      guarded.store.vector.isEmpty && !guarded.store.tables.contains(where: \.hasPending)
    }
  }

  /// Makes a snapshot of another device the state of a blank store. The file at `temporary` (in
  /// the store's snapshot directory) is verified to the last byte first, and consumed.
  package func adopt(snapshot temporary: String) throws(StoreError) {
    try compactionTurn.withLock { _ throws(StoreError) in
      do throws(StoreError) {
        _ = try SnapshotCheck.run(temporary, datastore: datastore, disk: machine.disk) { _, _ in }
      } catch {
        remove(temporary)
        throw error
      }
      try makeDirectoriesDurable()
      let number = state.withLock { $0.current.snapshot + 1 }
      let path =
        directory + "/" + FileName.snapshots + "/" + FileName.snapshot(number)
      do throws(DiskError) {
        let file = try machine.disk.open(temporary, .readWrite)
        defer { file.close() }
        try file.sync()
        try machine.disk.rename(temporary, to: path)
        try machine.disk.syncDirectory(directory + "/" + FileName.snapshots)
      } catch {
        remove(temporary)
        throw StoreError(LogError(error))
      }
      let first = try withState { guarded throws(StoreError) -> UInt64 in
        try requireBlank(guarded)
        return guarded.tail.segment?.header.number ?? guarded.tail.nextNumber
      }
      try install(number: number, path: path, firstSegment: first, isAdopted: true)
    }
  }

  /// Where a snapshot that is being fetched is to be written.
  package func temporarySnapshotPath() -> String {
    directory + "/" + FileName.snapshots + "/" + FileName.temporary(machine.random.next())
  }
}
