import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

struct ActiveSegmentTests {
  @Test func `large payloads are packed, grow the file, and come back`() throws {
    var sample = try SegmentSample()
    let random = SeededRandom(12)
    let text = Array(String(repeating: "the same again and again ", count: 9_000).utf8)
    for payload in [text, random.bytes(100_000), text, random.bytes(150)] {
      try sample.append(payload, durableThrough: sample.segment.end)
    }
    let scan = try SegmentScan(sample.file)
    #expect(try scan.contents == sample.contents)
    #expect(scan.frames.map(\.flags) == [1, 0, 1, 0])
    #expect(scan.ending == .clean)
    #expect(sample.file.count > 200_000)
  }

  @Test func `a payload that no reader would take is refused`() throws {
    var sample = try SegmentSample()
    let reason = logFailure { try sample.append([]) }
    #expect(reason == .limit)
    let tooLong = [UInt8](repeating: 0, count: FrameFormat.rawBytesMax + 1)
    #expect(logFailure { try sample.append(tooLong) } == .limit)
    try sample.append([1])
    #expect(try SegmentScan(sample.file).frames.count == 1)
  }

  @Test func `no frame lies where an offset could not say it`() throws {
    let sample = try SegmentSample()
    var segment = ActiveSegment(
      header: SegmentSample.header, file: sample.segment.file, end: Int(UInt32.max) - 47,
      allocated: Int(UInt32.max), items: [], previousChain: 0)
    let before = sample.file
    let reason = logFailure {
      try segment.append(.delta, device: 1, sequence: 1, payload: [1, 2, 3], durableThrough: 0)
    }
    #expect(reason == .limit)
    #expect(sample.file == before)
  }

  @Test(arguments: [40_000, 3 << 20])
  func `a nearly full disk takes what it has room for`(size: Int) throws {
    var sample = try SegmentSample()
    let random = SeededRandom(5)
    while sample.segment.end < size {
      try sample.append(random.bytes(min(30_000, size)))
    }
    // Less than is reserved ahead, and enough for more commits and the seal.
    let rest = 80_000
    sample.disk.capacity = sample.disk.usedBytes + rest
    let before = sample.contents.count
    do { while true { try sample.append(random.bytes(5000)) } } catch {
      guard case .disk(let error)? = (error as? LogError)?.reason else { throw error }
      #expect(error.reason == .noSpace)
    }
    #expect(sample.contents.count - before >= rest / 5048)
    let scan = try SegmentScan(sample.file)
    #expect(try scan.contents == sample.contents)
    sample.disk.capacity = sample.disk.usedBytes + 4000
    _ = try sample.segment.seal()
    #expect(try SegmentScan(sample.file).ending == .sealed)
  }

  @Test func `after a write that failed the next frame takes its place`() throws {
    var sample = try SegmentSample()
    try sample.append([1, 2, 3])
    sample.disk.failAt(operation: sample.disk.operations + 1, reason: .noSpace)
    let end = sample.segment.end
    #expect(throws: LogError.self) {
      try sample.segment.append(
        .delta, device: 1, sequence: 9, payload: [UInt8](repeating: 9, count: 90),
        durableThrough: 0)
    }
    #expect(sample.segment.end == end)
    try sample.append([4, 5])
    #expect(try SegmentScan(sample.file).contents == sample.contents)
  }

  @Test func `after a seal that failed the segment takes frames, and can be sealed`() throws {
    for step in 1...2 {
      var sample = try SegmentSample.three(isSynced: true)
      sample.disk.failAt(operation: sample.disk.operations + step, reason: .noSpace)
      #expect(throws: LogError.self) { try sample.segment.seal() }
      try sample.append([8, 8, 8])
      let scan = try SegmentScan(sample.file)
      #expect(try scan.contents == sample.contents, "step \(step)")
      _ = try sample.segment.seal()
      #expect(try SegmentScan(sample.file).ending == .sealed)
    }
  }

  @Test func `a segment that could not be created leaves no file`() throws {
    for step in 1...5 {
      let disk = MemoryDisk()
      try disk.createDirectory("/log")
      disk.failAt(operation: disk.operations + step, reason: .noSpace)
      #expect(throws: LogError.self, "step \(step)") {
        _ = try ActiveSegment.create(
          directory: "/log", header: SegmentSample.header, previousChain: 0, disk: disk)
      }
      #expect(disk.paths().isEmpty)
    }
  }

  @Test func `trimming takes the room and leaves the frames`() throws {
    var sample = try SegmentSample.three(isSynced: true)
    try sample.segment.trim()
    #expect(sample.file.count == sample.segment.end)
    try sample.append([UInt8](repeating: 1, count: 500))
    #expect(try SegmentScan(sample.file).contents == sample.contents)
  }

  @Test func `a recovered segment goes on behind its last good frame`() throws {
    var sample = try SegmentSample.three(isSynced: true)
    let scan = try SegmentScan(sample.file)
    sample.segment = ActiveSegment(
      header: scan.header, file: sample.segment.file, end: scan.end,
      allocated: scan.bytes.count, items: scan.items, previousChain: 0)
    try sample.append([9])
    _ = try sample.segment.seal()
    let again = try SegmentScan(sample.file)
    #expect(again.ending == .sealed)
    #expect(try again.contents == sample.contents)
  }

  @Test func `a newer floor is refused and a newer version is not`() throws {
    var bytes = SegmentSample.header.encoded()
    func resum() { bytes.set(XXH3.hash64(bytes, 0..<56), at: 56) }
    bytes[8] = 9
    resum()
    #expect(try SegmentHeader(bytes, path: "x") == SegmentSample.header)
    bytes[10] = 2
    resum()
    #expect(try SegmentHeader(bytes, path: "x").floor == FormatVersion.cuts)
    bytes[10] = 3
    resum()
    #expect(logFailure { _ = try SegmentHeader(bytes, path: "x") } == .needsNewerVersion(3))
  }
}
