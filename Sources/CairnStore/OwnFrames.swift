import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge

/// Own deltas of one segment, read one after the other.
///
/// It is kept from one publication to the next: a segment's dictionary begins with its first frame,
/// so whoever starts anew has to decode all that was committed since. It reads to where the caller
/// knows frames to be, never into what is being written.
struct OwnFrames {
  let segment: UInt64
  let path: String
  let device: DeviceID
  private let seedBase: UInt64
  /// Where the next frame starts in the file.
  private var offset = SegmentHeader.size
  private var decoder = DeltaDecoder()
  private(set) var delta = Delta()
  /// What `delta` points into.
  private(set) var payload: [UInt8] = []
  /// The delta last read; 0 before the first.
  private(set) var last: UInt64 = 0

  init(
    _ segment: UInt64, path: String, device: DeviceID, disk: any Disk
  ) throws(LogError) {
    self.segment = segment
    self.path = path
    self.device = device
    let bytes = try OwnFrames.read(path, from: 0, count: SegmentHeader.size, disk)
    seedBase = try SegmentHeader(bytes, path: path).seedBase
  }

  /// The records of the segment so far, which `delta` names by their numbers.
  var records: [RecordName] { decoder.records }

  /// Hands out the own deltas up to `last`, in order, while `body` asks for more; the frames end
  /// at `end`, or where the file does.
  mutating func forEach(
    through last: UInt64, end: Int?, disk: any Disk,
    _ body: (borrowing OwnFrames) throws(DecodeError) -> Bool
  ) throws(LogError) {
    if self.last >= last { return }
    let base = offset
    let bytes = try OwnFrames.read(path, from: base, count: end.map { $0 - base }, disk)
    while let frame = Frame(bytes, at: offset - base, base: base, seedBase: seedBase) {
      guard frame.kind != FrameKind.seal.rawValue else { return }
      if frame.kind == FrameKind.delta.rawValue {
        if frame.sequence > last { return }
        do throws(DecodeError) {
          guard frame.device == device.rawValue else {
            throw .malformed("a delta of another device")
          }
          payload = try frame.payload(bytes)
          var reader = ByteReader(payload)
          let dot = Dot(device: device, sequence: frame.sequence)
          try decoder.decode(&reader, dot: dot, into: &delta)
          self.last = frame.sequence
          offset = base + frame.end
          guard try body(self) else { return }
        } catch { throw LogError(error, path, at: UInt64(base + frame.offset), "an own delta") }
      } else {
        offset = base + frame.end
      }
    }
    // Frames go on to `end`, and a segment that grows no more ends with its seal.
    if self.last < last, end.map({ offset < $0 }) ?? true {
      throw LogError(
        .corrupt, path, at: UInt64(offset),
        "a frame with own deltas that are not published yet is damaged; `cairn repair` keeps what "
          + "can be read")
    }
  }

  private static func read(
    _ path: String, from offset: Int, count: Int?, _ disk: any Disk
  ) throws(LogError) -> [UInt8] {
    do throws(DiskError) {
      let file = try disk.open(path, .read)
      defer { file.close() }
      let rest = Int(min(try file.size(), UInt64(UInt32.max))) - offset
      return try file.read(at: UInt64(offset), count: max(0, min(count ?? rest, rest)))
    } catch {
      if error.reason == .notFound {
        throw LogError(.missing, path, "a segment of the log is missing")
      }
      throw LogError(error)
    }
  }
}
