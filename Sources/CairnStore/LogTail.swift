import CairnDisk
import CairnLog
import CairnMerge

/// The end of the local log: the segment that grows, and what it takes to write to it.
struct LogTail {
  var segment: ActiveSegment?
  var encoder = DeltaEncoder()
  var nextNumber: UInt64 = 1
  var chain: UInt128 = 0
  /// A write failed after names were given numbers: the segment's dictionary can't be trusted.
  var mustRotate = false
  /// Log bytes that an open would have to replay.
  var replayBytes = 0
  /// Segments on disk: number and first own sequence that they may hold.
  var segments: [SegmentInfo] = []
  /// The frame that is made: room for its header, then the payload.
  var scratch: [UInt8] = []
  /// The memory of the delta that was committed last.
  var draft = Delta()
  static let draftCellsKept = 1024
  static let scratchKept = 4 << 20

  /// Leaves room for a header in the scratch, and nothing behind it.
  mutating func beginFrame() {
    if scratch.count < FrameFormat.headerSize {
      scratch = FrameFormat.emptyHeader
    } else {
      scratch.removeLast(scratch.count - FrameFormat.headerSize)
    }
  }

  /// Writes the scratch as a frame, if there is a segment.
  mutating func append(
    _ kind: FrameKind, _ dot: Dot, durableThrough: Int
  ) throws(LogError) {
    let written = try segment?.append(
      kind, device: dot.device.rawValue, sequence: dot.sequence, frame: &scratch,
      durableThrough: durableThrough)
    hasWritten = true
    replayBytes += written ?? 0
    segments[segments.count - 1].note(written ?? 0, kind, dot)
  }

  /// Empties the scratch if it takes more memory than is worth keeping for the next frame.
  mutating func giveBackScratch() { if scratch.capacity > LogTail.scratchKept { scratch = [] } }

  /// This process has written to the log.
  var hasWritten = false
  /// What an earlier process wrote and nothing vouches for.
  var doubt: Doubt?
  /// An earlier process made CURRENT, the first one or one with another content than that before:
  /// its name may be one that no sync makes durable any more.
  var doubtsCurrent = false

  /// The end of a recovered segment. It may be in the system's memory only, since its writer was
  /// killed before the sync; or, after a sync that failed, on its way nowhere, whatever later syncs
  /// say. Written once more before anything builds on it, it is like any other write.
  struct Doubt {
    var file: any DiskFile
    var offset: Int
    var bytes: [UInt8]
  }

  struct SegmentInfo {
    var number: UInt64
    /// Highest own sequence in it, 0 if it has none.
    var lastOwn: UInt64 = 0
    var bytes = 0

    /// A frame was written.
    mutating func note(_ written: Int, _ kind: FrameKind, _ dot: Dot) {
      bytes += written
      // Others' deltas come in packs.
      if case .delta = kind { lastOwn = dot.sequence }
    }
  }
}

/// A place in the log: what has to be durable for a commit to be.
struct LogPosition: Comparable {
  var segment: UInt64
  var end: Int

  static func < (a: LogPosition, b: LogPosition) -> Bool {
    a.segment != b.segment ? a.segment < b.segment : a.end < b.end
  }

  static let start = LogPosition(segment: 0, end: 0)
}
