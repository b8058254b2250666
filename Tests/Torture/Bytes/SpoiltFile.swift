import CairnBytes
import CairnFuzzEntries
import CairnLog
import CairnMerge
import CairnStore

/// A whole file, and what may come of it when it is spoilt.
struct SpoiltFile {
  enum Outcome: String, CaseIterable {
    /// It reads as before.
    case same
    /// A typed error with a place.
    case refused
    /// Frames at the end that nothing vouches for are gone; all before them are as they were.
    case shorter
  }

  let path: String
  let kind: FileKind
  let whole: [UInt8]
  /// What a log is: its frames with the seal, and its scan.
  private let frames: [Frame]
  private let scan: SegmentScan?
  private let hash: UInt64
  private let datastore: UInt128?

  init(_ path: String, _ kind: FileKind, _ whole: [UInt8]) throws {
    self.path = path
    self.kind = kind
    self.whole = whole
    hash = try kind.read(whole, path)
    datastore =
      kind == .published || kind == .snapshot || kind == .head
      ? UInt128(whole.u64(at: 24)) << 64 | UInt128(whole.u64(at: 16)) : nil
    guard kind == .segment else {
      (frames, scan) = ([], nil)
      return
    }
    let scan = try SegmentScan(whole, path: path)
    let seal = Frame(whole, at: scan.end, seedBase: scan.header.seedBase)
    frames = scan.frames + (seal.map { [$0] } ?? [])
    self.scan = scan
  }

  /// Whether a byte means nothing and no checksum covers it: what fills a frame up to the next
  /// multiple of eight, where the segment has no footer that covers all (and behind the footer's
  /// own); and the check of cairn.json itself, without which the file reads the same.
  func isUncovered(_ place: Int) -> Bool {
    if kind == .identity { return place >= whole.count - 29 }
    let covered = scan?.ending == .sealed ? frames.suffix(1) : frames[...]
    return covered.contains { ($0.stored.upperBound..<$0.end).contains(place) }
  }

  /// Where its frames are, the seal not among them.
  var frameRanges: [Range<Int>] { (scan?.frames ?? []).map { $0.offset..<$0.end } }

  /// Reads spoilt bytes of this file. Throws if they are taken for something else.
  func outcome(_ bytes: [UInt8]) throws -> Outcome {
    if let scan { return try outcome(ofSegment: bytes, scan) }
    do {
      guard try kind.read(bytes, path, datastore: datastore) == hash else {
        throw TortureFailure("it reads as something else")
      }
      return .same
    } catch let failure as TortureFailure {
      throw failure
    } catch {
      return try checked(error)
    }
  }

  private func checked(_ error: any Error) throws -> Outcome {
    let log = error as? LogError ?? (error as? StoreError)?.log
    if kind == .published, error is DecodeError { return .refused }
    guard let log, log.path == path, !log.detail.isEmpty else {
      throw TortureFailure("an error without a place: \(error)")
    }
    return .refused
  }

  /// Frames are compared byte by byte, so that none has to be decoded.
  private func outcome(ofSegment bytes: [UInt8], _ whole: SegmentScan) throws -> Outcome {
    let found: SegmentScan
    do { found = try SegmentScan(bytes, path: path) } catch { return try checked(error) }
    guard found.header == whole.header else { throw TortureFailure("another header") }
    guard found.frames.count <= whole.frames.count else { throw TortureFailure("more frames") }
    for (frame, known) in zip(found.frames, whole.frames) {
      let range = frame.offset..<frame.stored.upperBound
      guard frame == known, bytes.equal(range, self.whole, range) else {
        throw TortureFailure("another frame at \(frame.offset)")
      }
    }
    switch found.ending {
    case .corrupt: return .refused
    case .sealed:
      guard whole.ending == .sealed, found.frames.count == whole.frames.count,
        found.footer == whole.footer
      else { throw TortureFailure("sealed with \(found.frames.count) frames") }
      return .same
    case .clean, .torn:
      // A frame that is still there, and says that more was durable, must have been heard.
      for frame in frames[found.frames.count...]
      where Int(frame.durableThrough) > found.end && frame.end <= bytes.count {
        let range = frame.offset..<frame.end
        if bytes.equal(range, self.whole, range) {
          throw TortureFailure(
            "the frame at \(frame.offset) says that \(frame.durableThrough) bytes were durable, "
              + "and the file is taken to end at \(found.end)")
        }
      }
      return found.ending == whole.ending && found.frames.count == whole.frames.count
        ? .same : .shorter
    }
  }
}
