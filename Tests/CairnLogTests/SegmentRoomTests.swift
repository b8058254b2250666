import CairnDisk
import CairnLog
import Synchronization
import TestSupport
import Testing

/// Room that is reserved ahead of the frames, and disks that do not give it.
struct SegmentRoomTests {
  private static let reserving = "reserve space for"

  private final class Steps: Sendable {
    private let verbs = Lock<[String]>([])

    var all: [String] { verbs.withLock { $0 } }

    func add(_ verb: String) { verbs.withLock { $0.append(verb) } }
  }

  /// A segment that has less room than a frame of 10,000 bytes takes.
  private func nearlyFull() throws -> SegmentSample {
    var sample = try SegmentSample()
    try sample.append(SeededRandom(1).bytes(60_000))
    return sample
  }

  /// Makes the next reservation fail, and tells what is done from now on.
  private func fail(_ disk: MemoryDisk, _ reason: DiskError.Reason) -> Steps {
    let (steps, isDone) = (Steps(), Flag())
    disk.intercept { operation in
      steps.add(operation.verb)
      return operation.verb == SegmentRoomTests.reserving && isDone.raise() ? reason : nil
    }
    return steps
  }

  /// EFBIG is how a limit of the process or the file system says it.
  @Test(arguments: [DiskError.Reason.noSpace, .io(errno: 27)])
  func `where there is no room ahead a frame takes what it needs`(
    reason: DiskError.Reason
  ) throws {
    var sample = try nearlyFull()
    let steps = fail(sample.disk, reason)
    try sample.append(SeededRandom(2).bytes(10_000))
    sample.disk.heal()
    // A file system may keep what it had reserved so far: that is given back in between.
    #expect(steps.all == [Self.reserving, "truncate", Self.reserving, "write"])
    #expect(sample.file.count == sample.segment.end)
    #expect(try SegmentScan(sample.file).contents == sample.contents)
    try sample.append([1, 2, 3])
    _ = try sample.segment.seal()
    let scan = try SegmentScan(sample.file)
    #expect(scan.ending == .sealed)
    #expect(try scan.contents == sample.contents)
  }

  @Test(arguments: [DiskError.Reason.io(errno: 5), .readOnly, .denied])
  func `a disk that fails is not asked again, and the segment is as it was`(
    reason: DiskError.Reason
  ) throws {
    var sample = try nearlyFull()
    let (end, before) = (sample.segment.end, sample.file)
    let steps = fail(sample.disk, reason)
    let error = #expect(throws: LogError.self) {
      try sample.segment.append(
        .delta, device: 1, sequence: 9, payload: SeededRandom(2).bytes(10_000), durableThrough: 0)
    }
    sample.disk.heal()
    let told = DiskError(
      reason: reason, operation: Self.reserving, path: SegmentSample.path)
    #expect(error?.reason == .disk(told))
    #expect(steps.all == [Self.reserving])
    #expect(sample.segment.end == end && sample.file == before)
    try sample.append(SeededRandom(3).bytes(10_000))
    #expect(try SegmentScan(sample.file).contents == sample.contents)
  }
}
