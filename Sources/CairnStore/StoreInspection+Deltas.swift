import CairnBytes
import CairnLog
package import CairnMerge

extension StoreInspection {
  /// A delta of the log.
  package struct LoggedDelta: Sendable {
    package var dot: Dot
    package var time: Int64
    package var records: Int
    package var cells: Int
    /// Bytes that it takes, unpacked.
    package var bytes: Int
    package var segment: UInt64
    package var offset: Int
    /// It came from another device.
    package var isFetched: Bool
    package var tables: [String]
  }

  /// Where an opening begins to apply the log: behind the snapshot. Where that can't be read, or
  /// the beginning of the log is missing, it is not known what is there.
  package func order(of segments: [Segment]) -> LogOrder {
    if missingFirst(of: segments) != nil { return .unknown }
    guard let snapshotPath else { return LogOrder(VersionVector()) }
    do {
      let reader = try SnapshotReader(snapshotPath, disk: disk)
      return LogOrder(
        try SnapshotDescription(reader.description, blockCount: reader.blockCount).vector)
    } catch {
      // What is wrong with it another check says.
      return .unknown
    }
  }

  /// Decodes all deltas of a segment, in the order of the log.
  package func deltas(
    _ segment: Segment, _ body: (LoggedDelta) -> Void
  ) throws(StoreError) {
    var order = LogOrder.unknown
    try deltas(segment, following: &order, body)
  }

  /// The same, and throws where an opening would: each delta has to be the next one of its device,
  /// and what it builds on has to be there.
  package func deltas(
    _ segment: Segment, following order: inout LogOrder, _ body: (LoggedDelta) -> Void
  ) throws(StoreError) {
    // Something of it, or before it, may be missing.
    if segment.problem != nil, !segment.isTorn { order = .unknown }
    guard let scan = segment.scan else { return }
    var decoder = DeltaDecoder()
    var delta = Delta()
    for frame in scan.frames {
      do throws(DecodeError) {
        let payload = try frame.payload(scan.bytes)
        switch FrameKind(rawValue: frame.kind) {
        case .delta:
          try decode(payload, frame, &decoder, into: &delta)
          guard frame.device == scan.header.device else {
            throw .malformed("a delta of another device")
          }
          // What is in the snapshot is not applied again.
          if !segment.isFolded { try order.apply([[LogOrder.Step(delta)]]) }
          body(describe(delta, bytes: payload.count, segment, frame, isFetched: false))
        case .pack:
          let steps = try packs(payload, segment, frame, body)
          if !segment.isFolded { try order.apply(steps) }
        case .seal, nil: throw .newer("a frame of an unknown kind")
        }
      } catch {
        // What comes behind it would be said to miss it.
        order = .unknown
        throw StoreError(LogError(error, segment.path, at: UInt64(frame.offset), "a frame"))
      }
    }
  }

  private func decode(
    _ payload: [UInt8], _ frame: Frame, _ decoder: inout DeltaDecoder, into delta: inout Delta
  ) throws(DecodeError) {
    var reader = ByteReader(payload)
    let dot = Dot(device: DeviceID(rawValue: frame.device), sequence: frame.sequence)
    try decoder.decode(&reader, dot: dot, into: &delta)
    guard reader.isAtEnd else { throw .malformed("bytes after a delta's end") }
  }

  private func packs(
    _ payload: [UInt8], _ segment: Segment, _ frame: Frame, _ body: (LoggedDelta) -> Void
  ) throws(DecodeError) -> [[LogOrder.Step]] {
    var reader = ByteReader(payload)
    var delta = Delta()
    var result: [[LogOrder.Step]] = []
    for _ in 0..<(try reader.count(minimumSize: 8)) {
      let last = try reader.varint()
      var pack = try PackReader(payload, try reader.blob())
      var start = pack.offset
      var steps: [LogOrder.Step] = []
      while pack.nextSequence <= min(last, pack.header.last), try pack.next(into: &delta) {
        steps.append(LogOrder.Step(delta))
        body(describe(delta, bytes: pack.offset - start, segment, frame, isFetched: true))
        start = pack.offset
      }
      result.append(steps)
    }
    guard reader.isAtEnd else { throw .malformed("bytes after the last pack") }
    return result
  }

  private func describe(
    _ delta: Delta, bytes: Int, _ segment: Segment, _ frame: Frame, isFetched: Bool
  ) -> LoggedDelta {
    LoggedDelta(
      dot: delta.dot, time: delta.time, records: delta.records.count, cells: delta.tags.count,
      bytes: bytes, segment: segment.number, offset: frame.offset, isFetched: isFetched,
      tables: delta.sections.map(\.table))
  }
}
