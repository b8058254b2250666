import CairnBytes
import CairnLog
import CairnMerge

/// Applies the frames of a segment to a state, in order.
struct SegmentReplay {
  let scan: SegmentScan
  let path: String
  private(set) var decoder = DeltaDecoder()
  private(set) var hasRun = false
  private var delta = Delta()
  private var slots: [UInt32] = []
  /// What was wrong below the log, where a frame could not be applied.
  private var cause: LogError?

  init(scan: SegmentScan, path: String) {
    self.scan = scan
    self.path = path
  }

  mutating func run(into state: inout StoreState) throws(LogError) {
    hasRun = true
    // What deltas do to records does not go by rules: only what shows of these does, and what that
    // counts with, and the rules at the end decide all of it anew.
    state.defersRules = true
    defer { state.defersRules = false }
    for frame in scan.frames {
      let offset = UInt64(frame.offset)
      do throws(DecodeError) {
        let payload = try frame.payload(scan.bytes)
        switch FrameKind(rawValue: frame.kind) {
        case .delta: try replayDelta(payload, frame, into: &state)
        case .pack: try replayPacks(payload, into: &state)
        case .seal, nil: throw .newer("a frame of an unknown kind")
        }
      } catch {
        // A disk that refuses to read the snapshot is no damage of this frame.
        if let cause { throw cause }
        throw LogError(error, path, at: offset, "a frame of \(frame.stored.count) bytes")
      }
    }
    do throws(StoreError) { try state.readDeferredRules() } catch {
      throw error.log ?? LogError(.corrupt, path, error.message)
    }
  }

  private mutating func replayDelta(
    _ payload: [UInt8], _ frame: Frame, into state: inout StoreState
  ) throws(DecodeError) {
    var reader = ByteReader(payload)
    let dot = Dot(device: DeviceID(rawValue: frame.device), sequence: frame.sequence)
    try decoder.decode(&reader, dot: dot, into: &delta)
    guard reader.isAtEnd else { throw .malformed("bytes after a delta's end") }
    while slots.count < decoder.records.count { slots.append(0) }
    if state.vector.contains(delta.dot) { return }
    guard state.canApply(delta) else { throw .malformed("a delta before it is missing") }
    do throws(StoreError) {
      try state.apply(delta, heap: payload, names: decoder.records, slots: &slots)
    } catch { throw unreadable(error) }
  }

  /// What a frame stands on could not be read.
  private mutating func unreadable(_ error: StoreError) -> DecodeError {
    cause = error.log
    return .malformed("the snapshot below it can't be read")
  }

  private mutating func replayPacks(
    _ payload: [UInt8], into state: inout StoreState
  ) throws(DecodeError) {
    var delivery = Delivery()
    var reader = ByteReader(payload)
    for _ in 0..<(try reader.count(minimumSize: 8)) {
      let last = try reader.varint()
      let range = try reader.blob()
      try delivery.add(PackReader(payload, range), last: last)
    }
    guard reader.isAtEnd else { throw .malformed("bytes after the last pack") }
    do throws(StoreError) { try delivery.run(into: &state) } catch { throw unreadable(error) }
    if let failure = delivery.failures.values.first { throw failure }
    guard delivery.isFinished else { throw .malformed("a delta before it is missing") }
  }
}
