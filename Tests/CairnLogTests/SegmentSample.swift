import CairnBytes
import CairnDisk
import CairnLog
import TestSupport

/// A small log segment, made the way a store makes one.
struct SegmentSample {
  static let header = SegmentHeader(
    datastore: 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100, device: 0x8877_6655_4433_2211, number: 1)
  static let path = "/log/0000000000000001.seg"

  /// What a reader should find of a frame.
  struct Content: Equatable {
    var kind: FrameKind
    var device: UInt64
    var sequence: UInt64
    var payload: [UInt8]
    var durableThrough: Int
  }

  var disk = MemoryDisk()
  var segment: ActiveSegment
  var contents: [Content] = []
  var offsets: [Int] = []

  init(
    header: SegmentHeader = SegmentSample.header, previousChain: UInt128 = 0
  ) throws {
    try disk.createDirectory("/log")
    segment = try ActiveSegment.create(
      directory: "/log", header: header, previousChain: previousChain, disk: disk)
  }

  /// Three frames; each is on the disk for good before the next one is written, if `isSynced`.
  static func three(isSynced: Bool) throws -> SegmentSample {
    var sample = try SegmentSample()
    for (index, count) in [12, 40, 21].enumerated() {
      let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + index + 1) }
      try sample.append(payload, durableThrough: isSynced ? sample.segment.end : 0)
    }
    return sample
  }

  mutating func append(
    _ payload: [UInt8], kind: FrameKind = .delta, durableThrough: Int = 0
  ) throws {
    let content = Content(
      kind: kind, device: segment.header.device, sequence: UInt64(contents.count + 1),
      payload: payload, durableThrough: durableThrough)
    offsets.append(segment.end)
    try segment.append(
      kind, device: content.device, sequence: content.sequence, payload: payload,
      durableThrough: durableThrough)
    contents.append(content)
  }

  /// The whole file, with the zeros behind the last frame.
  var file: [UInt8] { disk.bytes(segment.file.path) ?? [] }

  /// The file up to the last frame.
  var bytes: [UInt8] { Array(file[..<segment.end]) }
}

extension SegmentScan {
  init(_ bytes: [UInt8]) throws { try self.init(bytes, path: SegmentSample.path) }

  var contents: [SegmentSample.Content] {
    get throws {
      try frames.map {
        SegmentSample.Content(
          kind: FrameKind(rawValue: $0.kind) ?? .seal, device: $0.device, sequence: $0.sequence,
          payload: try $0.payload(bytes), durableThrough: Int($0.durableThrough))
      }
    }
  }

  var isCorrupt: Bool { if case .corrupt = ending { true } else { false } }
  var isTorn: Bool { if case .torn = ending { true } else { false } }
}

extension [UInt8] {
  /// With one bit the other way round.
  func flipping(bit: Int) -> [UInt8] {
    var copy = self
    copy[bit / 8] ^= 1 << UInt8(bit % 8)
    return copy
  }
}

/// The reason of the `LogError` that `body` throws; nil if it throws none.
func logFailure(_ body: () throws -> Void) -> LogError.Reason? {
  do {
    try body()
    return nil
  } catch { return (error as? LogError)?.reason }
}
