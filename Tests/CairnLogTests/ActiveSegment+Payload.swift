import CairnLog

extension ActiveSegment {
  /// Writes a payload that has no room before it yet.
  mutating func append(
    _ kind: FrameKind, device: UInt64, sequence: UInt64, payload: [UInt8], durableThrough: Int
  ) throws(LogError) {
    var frame = FrameFormat.emptyHeader + payload
    try append(
      kind, device: device, sequence: sequence, frame: &frame, durableThrough: durableThrough)
  }
}
