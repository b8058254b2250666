import CairnBytes
package import CairnLog
import CairnMerge

/// What the frames of a segment say, each decoded to its last byte.
package struct SegmentReading {
  /// A hash for each frame, in order.
  package private(set) var frames: [UInt64] = []
  package let ending: SegmentScan.Ending

  package init(_ scan: SegmentScan, path: String) throws {
    ending = scan.ending
    var decoder = DeltaDecoder()
    var delta = Delta()
    for frame in scan.frames {
      let payload = try frame.payload(scan.bytes)
      switch FrameKind(rawValue: frame.kind) {
      case .delta:
        var reader = ByteReader(payload)
        let dot = Dot(device: DeviceID(rawValue: frame.device), sequence: frame.sequence)
        try decoder.decode(&reader, dot: dot, into: &delta)
      case .pack: try SegmentReading.packs(payload)
      case .seal, nil: throw DecodeError.newer("a frame of an unknown kind")
      }
      frames.append(
        XXH3.hash64(payload, seed: UInt64(frame.kind) ^ frame.device ^ frame.sequence << 8))
    }
  }

  private static func packs(_ payload: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(payload)
    var delta = Delta()
    for _ in 0..<(try reader.count(minimumSize: 8)) {
      let last = try reader.varint()
      var pack = try PackReader(payload, try reader.blob())
      while pack.nextSequence <= last, try pack.next(into: &delta) {}
    }
  }

  package var hash: UInt64 {
    var all: [UInt8] = []
    for frame in frames { all.put(frame) }
    switch ending {
    case .clean: all.put(UInt8(0))
    case .sealed: all.put(UInt8(1))
    case .torn(let bytes): all.put(UInt64(bytes))
    case .corrupt(let end): all.put(UInt64(end))
    }
    return XXH3.hash64(all)
  }
}
