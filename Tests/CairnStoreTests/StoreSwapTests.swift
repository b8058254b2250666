import CairnBytes
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Good files in the wrong place, or come back from the past: none of them counts.
struct StoreSwapTests {
  private static let log = StoreDevice.directory + "/log/"
  private static let snapshots = StoreDevice.directory + "/snap/"

  /// A closed store with a snapshot and several segments behind it, all of one length.
  private func sample(_ seed: UInt64 = 1, compacts: Bool = true) throws -> StoreDevice {
    let device = try StoreDevice(seed) { $0.segmentBytes = 250 }
    for number in 0..<12 {
      try device.store.insert("r\(number)", ["n": .int(Int64(number)), "s": "some text"])
      try device.store.sync()
      if number == 3, compacts { _ = try device.store.compact() }
    }
    try device.store.close()
    return device
  }

  private func files(_ device: StoreDevice, _ directory: String) -> [String] {
    device.disk.paths().filter { $0.hasPrefix(directory) }
  }

  private func expectRefused(
    _ device: StoreDevice, _ file: String, _ reason: LogError.Reason, _ comment: Comment? = nil
  ) {
    let before = device.disk.fingerprint()
    let error = #expect(throws: StoreError.self, comment) { try device.open() }
    #expect(error?.log?.reason == reason, comment)
    #expect(error?.log?.path == file, comment)
    #expect(device.disk.fingerprint() == before, "nothing was changed")
    #expect(device.disk.openFiles == 0 && device.disk.heldLocks == 0)
  }

  @Test func `segments that were exchanged or doubled are refused by name`() throws {
    let device = try sample()
    let segments = files(device, Self.log)
    try #require(segments.count > 3)
    let bytes = try segments.map { try #require(device.disk.bytes($0)) }
    for (first, second) in [(0, 1), (1, 2), (0, segments.count - 1)] {
      try device.disk.setBytes(segments[first], bytes[second])
      expectRefused(device, segments[first], .foreign, "\(second) in the place of \(first)")
      try device.disk.setBytes(segments[second], bytes[first])
      expectRefused(device, segments[first], .foreign, "\(first) and \(second)")
      try device.disk.setBytes(segments[first], bytes[first])
      try device.disk.setBytes(segments[second], bytes[second])
    }
    let next = Self.log + FileName.segment(UInt64(segments.count + 1))
    try device.disk.setBytes(next, bytes[0])
    // No segment begins before the one before it is closed.
    expectRefused(device, segments[segments.count - 1], .truncated)
    try device.disk.remove(next)
    try device.open()
    #expect(try device.store.count(table: "t") == 12)
  }

  @Test func `files of another device's store are refused`() throws {
    let (device, other) = (try sample(), try sample(9))
    let mine = files(device, Self.log)
    #expect(mine == files(other, Self.log), "they have the same names")
    let foreign = try #require(other.disk.bytes(mine[0]))
    let own = try #require(device.disk.bytes(mine[0]))
    try device.disk.setBytes(mine[0], foreign)
    expectRefused(device, mine[0], .foreign)
    try device.disk.setBytes(mine[0], own)
    // Its CURRENT belongs to the same datastore; the segments say whose they are.
    let current = StoreDevice.directory + "/CURRENT"
    let before = try #require(device.disk.bytes(current))
    try device.disk.setBytes(current, try #require(other.disk.bytes(current)))
    expectRefused(device, mine[0], .foreign)
    try device.disk.setBytes(current, before)
    try device.open()
    #expect(try device.store.count(table: "t") == 12)
  }

  @Test func `a snapshot of another datastore is refused`() throws {
    let device = try sample()
    let path = try #require(files(device, Self.snapshots).first)
    let good = try #require(device.disk.bytes(path))
    var foreign = good
    foreign[16] ^= 1
    foreign.set(XXH3.hash64(foreign, 0..<120), at: 120)
    try device.disk.setBytes(path, foreign)
    expectRefused(device, path, .foreign)
    try device.disk.setBytes(path, good)
    try device.open()
  }

  @Test func `a removed segment that comes back is not read, and goes again`() throws {
    let device = try sample(compacts: false)
    let segments = files(device, Self.log)
    try #require(segments.count > 1)
    let old = try segments.map { try #require(device.disk.bytes($0)) }
    try device.open()
    try device.store.delete("r0")
    try device.store.sync()
    device.store.confirmPublished(through: 100)
    _ = try device.store.compact()
    let content = try StoreContent(device.store)
    try device.store.close()
    #expect(segments.allSatisfy { device.disk.bytes($0) == nil })
    for (path, bytes) in zip(segments, old) { try device.disk.setBytes(path, bytes) }
    try device.open()
    #expect(try StoreContent(device.store) == content)
    #expect(device.store.recovery.isEmpty)
    #expect(segments.allSatisfy { device.disk.bytes($0) == nil })
  }

  @Test func `an old snapshot that comes back is not read, and goes with the next compaction`()
    throws
  {
    let device = try sample()
    let old = try #require(files(device, Self.snapshots).first)
    let bytes = try #require(device.disk.bytes(old))
    try device.open()
    try device.store.delete("r0")
    try device.store.sync()
    _ = try device.store.compact()
    let content = try StoreContent(device.store)
    try device.store.close()
    try device.disk.setBytes(old, bytes)
    try device.open()
    #expect(try StoreContent(device.store) == content)
    _ = try device.store.compact()
    #expect(device.disk.bytes(old) == nil)
    #expect(try StoreContent(device.store) == content)
  }

  @Test func `a frame that only a newer version knows is left alone`() throws {
    for (kind, flags): (UInt8, UInt8) in [(9, 0), (1, 2)] {
      let device = try StoreDevice(1)
      try device.store.insert("r")
      try device.store.sync()
      try device.store.close()
      let path = Self.log + FileName.segment(1)
      var bytes = try #require(device.disk.bytes(path))
      let scan = try SegmentScan(bytes, path: path)
      let frame = try #require(scan.frames.first)
      (bytes[frame.offset + 4], bytes[frame.offset + 5]) = (kind, flags)
      let seed = FrameFormat.seed(base: scan.header.seedBase, offset: UInt64(frame.offset))
      bytes.set(
        Frame.checksum(bytes, at: frame.offset, storedLength: frame.stored.count, seed: seed),
        at: frame.offset + FrameFormat.checksumOffset)
      try device.disk.setBytes(path, bytes)
      let error = #expect(throws: StoreError.self) { try device.open() }
      guard case .needsNewerVersion = error?.log?.reason else {
        Issue.record("kind \(kind), flags \(flags): \(error.map { "\($0)" } ?? "it opened")")
        continue
      }
      #expect(device.disk.bytes(path) == bytes && device.disk.heldLocks == 0)
    }
  }

  @Test func `what is in LOCK says nothing but who had it`() throws {
    let device = try sample()
    let path = StoreDevice.directory + "/LOCK"
    for bytes in [[], [0], SeededRandom(1).bytes(4000), [UInt8](repeating: 0xFF, count: 20)] {
      try device.disk.setBytes(path, bytes)
      try device.open()
      #expect(try device.store.count(table: "t") == 12)
      try device.store.close()
    }
    try device.disk.remove(path)
    try device.open()
    #expect(try device.store.count(table: "t") == 12)
  }
}
