import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Damage to the files of a closed store: told apart from crashes, named with file and offset;
/// never a trap, never another value, and never more lost than what nobody vouches for.
struct StoreDamageTests {
  private static let segment = StoreDevice.directory + "/log/0000000000000001.seg"
  private static let second = StoreDevice.directory + "/log/0000000000000002.seg"
  private static let current = StoreDevice.directory + "/CURRENT"

  /// Four commits, all in one segment.
  private func sample(_ configure: (inout StoreOptions) -> Void = { _ in }) throws -> StoreDevice {
    let device = try StoreDevice(1, configure: configure)
    for number in 0..<4 {
      try device.store.insert("r\(number)", ["n": .int(Int64(number)), "s": "some text"])
      try device.store.sync()
    }
    try device.store.close()
    return device
  }

  /// So many commits that the second segment has begun; open.
  private func withTwoSegments() throws -> StoreDevice {
    let device = try StoreDevice(1) { $0.segmentBytes = 200 }
    for number in 0..<10_000 where device.disk.bytes(Self.second) == nil {
      try device.store.insert("r\(number)")
      try device.store.sync()
    }
    return device
  }

  private func failure(_ device: StoreDevice) -> LogError? {
    do {
      try device.open()
      return nil
    } catch { return (error as? StoreError)?.log }
  }

  /// Where the frames of the log begin.
  private func offsets(_ device: StoreDevice) throws -> [Int] {
    let bytes = try #require(device.disk.bytes(Self.segment))
    return try SegmentScan(bytes, path: Self.segment).frames.map(\.offset)
  }

  @Test func `a torn tail is cut off, kept aside and reported`() throws {
    let device = try sample()
    let whole = try #require(device.disk.bytes(Self.segment))
    let last = try #require(try offsets(device).last)
    for length in (last + 1)..<whole.count {
      try device.disk.setBytes(Self.segment, Array(whole[..<length]))
      try device.open()
      #expect(try device.store.count(table: "t") == 3)
      let isZero = whole[last..<length].allSatisfy { $0 == 0 }
      #expect(device.store.recovery.count == (isZero ? 0 : 1))
      if let note = device.store.recovery.first {
        #expect(note.path == Self.segment && note.offset == UInt64(last))
        #expect(note.message.contains("torn"))
      }
      try device.reopen()
      #expect(device.store.recovery.isEmpty, "it is cut only once")
      try device.store.close()
    }
    // Each of them, though all were cut off at the same place.
    let kept = device.disk.paths().filter { $0.contains("/quarantine/") }
    var tails = Set(((last + 1)..<whole.count).map { Self.tail(whole[last..<$0]) })
    tails.remove([])
    #expect(kept.count == tails.count)
    let isSame = Set(kept.compactMap { device.disk.bytes($0) }) == tails
    #expect(isSame)
  }

  /// Zeros behind the last byte that is none are room, and not part of a tail.
  private static func tail(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    Array(bytes[..<((bytes.lastIndex { $0 != 0 } ?? bytes.startIndex - 1) + 1)])
  }

  @Test func `a torn tail that can't be kept whole is not cut off`() throws {
    let device = try sample()
    let whole = try #require(device.disk.bytes(Self.segment))
    let last = try #require(try offsets(device).last)
    let torn = Array(whole[..<(last + 30)])
    try device.disk.setBytes(Self.segment, torn)
    device.disk.tearFailedWrites(seed: 5)
    device.disk.intercept { step in
      step.verb == "write" && step.path.contains("/quarantine/") ? .noSpace : nil
    }
    #expect(failure(device)?.path.contains("/quarantine/") == true)
    #expect(device.disk.bytes(Self.segment) == torn)
    device.disk.heal()
    try device.open()
    let note = try #require(device.store.recovery.first)
    let kept = device.disk.paths().filter { $0.contains("/quarantine/") }
    #expect(kept.count == 1 && note.message.hasSuffix("kept in \(kept.joined())"))
    #expect(kept.map { device.disk.bytes($0) } == [Self.tail(torn[last...])])
    #expect(device.disk.bytes(Self.segment)?.count == last)
  }

  @Test func `no power cut while a torn tail is cut off takes it`() throws {
    let whole = try sample().disk
    let bytes = try #require(whole.bytes(Self.segment))
    var count = 0
    for step in 1...100 {
      let device = try sample()
      let last = try #require(try offsets(device).last)
      try device.disk.setBytes(Self.segment, Array(bytes[..<(last + 30)]))
      let disk = device.disk.crash(keep: .everything)
      disk.powerOff(before: disk.operations + step)
      device.leave(disk)
      let isDone = failure(device) == nil
      for model in CrashModel.all(seeds: 1..<4) {
        let left = disk.crash(keep: model)
        let tail = Self.tail(bytes[last..<(last + 30)])
        let isThere = left.bytes(Self.segment).map { $0.count >= last + tail.count } == true
        let isKept = left.paths().contains { path in
          path.contains("/quarantine/") && left.bytes(path) == tail
        }
        #expect(isThere || isKept, "step \(step), \(model)")
        count += 1
      }
      if isDone { break }
    }
    #expect(count > 30)
  }

  /// Cutting its first frame off leaves a header, as a crash before the first frame does.
  @Test func `opening a segment with nothing in it changes no byte, and a commit is durable`()
    throws
  {
    let device = try sample()
    let whole = try #require(device.disk.bytes(Self.segment))
    try device.disk.setBytes(Self.segment, Array(whole[..<(try offsets(device)[0] + 20)]))
    try device.open()
    #expect(device.store.recovery.count == 1)
    let bytes = device.disk.imageHash()
    for _ in 0..<2 {
      try device.reopen()
      #expect(device.store.recovery.isEmpty)
      #expect(try device.store.count(table: "t") == 0)
      #expect(device.disk.imageHash() == bytes)
    }
    try device.store.insert("new")
    try device.store.sync()
    try device.crash(.nothingUnsynced)
    #expect(try device.store.get("new") != nil)
  }

  @Test func `a frame in a torn tail never comes back`() throws {
    // So that no frame vouches for the one before it.
    let device = try sample { $0.durability = .none }
    let offsets = try offsets(device)
    var bytes = try #require(device.disk.bytes(Self.segment))
    bytes.replaceSubrange(
      offsets[2]..<offsets[3], with: repeatElement(0, count: offsets[3] - offsets[2]))
    try device.disk.setBytes(Self.segment, bytes)
    try device.open()
    #expect(device.store.recovery.count == 1)
    #expect(try device.store.count(table: "t") == 2)
    // Fills the hole to the byte: what was behind it would be next.
    try device.store.insert("r2", ["n": 2, "s": "some text"])
    try device.store.sync()
    try device.crash(.everything)
    #expect(try self.offsets(device) == Array(offsets[..<3]))
    #expect(try device.store.count(table: "t") == 3)
    #expect(device.store.recovery.isEmpty, "it is cut only once")
  }

  @Test func `a header that a crash tore in two is no damage, as nothing was behind it`() throws {
    let device = try withTwoSegments()
    let count = try device.store.count(table: "t")
    let whole = try #require(device.disk.bytes(Self.second))
    try device.store.close()
    for length in 0..<SegmentHeader.size {
      var bytes = [UInt8](repeating: 0, count: 1000)
      bytes.replaceSubrange(0..<length, with: whole[0..<length])
      try device.disk.setBytes(Self.second, bytes)
      try device.open()
      #expect(
        try device.store.count(table: "t") == count - 1, "\(length) bytes of the header")
      try device.store.close()
    }
  }

  @Test func `a newest segment that is shorter than its header is reported`() throws {
    let device = try sample()
    let whole = try #require(device.disk.bytes(Self.segment))
    for length in [0, 1, 63] {
      try device.disk.setBytes(Self.segment, Array(whole[..<length]))
      try device.open()
      let note = try #require(device.store.recovery.first)
      #expect(note.path == Self.segment && note.offset == 0)
      #expect(note.message.contains("\(length) bytes"))
      try device.reopen()
      #expect(device.store.recovery.isEmpty, "it is said once")
      try device.store.close()
    }
  }

  @Test func `a disk that refuses to read the snapshot is no damage of the log`() throws {
    let device = try StoreDevice(1) { $0.cacheBytes = 0 }
    for number in 0..<40 { try device.store.insert("r\(number)", ["s": "some text"]) }
    try device.store.sync()
    _ = try device.store.compact()
    for number in 0..<40 {
      try device.store.update(
        table: "t", id: RecordName("r\(number)"), [("n", .int(Int64(number)))])
      try device.store.sync()
    }
    try device.store.close()
    let before = device.disk.reads
    try device.open()
    let reads = device.disk.reads - before
    try device.store.close()
    var failures = 0
    for read in 1...reads {
      device.disk.failAt(read: device.disk.reads + read, reason: .io(errno: 5))
      if let error = failure(device) {
        guard case .disk = error.reason else {
          Issue.record("read \(read) of \(reads): \(error)")
          return
        }
        failures += 1
      } else {
        try device.store.close()
      }
      device.disk.heal()
    }
    #expect(failures > reads / 2)
  }

  @Test func `a closed segment that has lost its end is damage, with nothing behind it, too`()
    throws
  {
    let device = try withTwoSegments()
    try device.store.close()
    // As a crash leaves it before the first frame: no delta says what was before it.
    let header = try #require(device.disk.bytes(Self.second)).prefix(SegmentHeader.size)
    try device.disk.setBytes(Self.second, Array(header))
    let whole = try #require(device.disk.bytes(Self.segment))
    let last = try #require(try offsets(device).last)
    try device.disk.setBytes(Self.segment, Array(whole[..<last]))
    let error = failure(device)
    #expect(error?.path == Self.segment && error?.reason == .truncated)
    #expect(device.disk.bytes(Self.segment) == Array(whole[..<last]))
  }

  @Test func `a header of zeros before frames is damage, and the frames stay`() throws {
    let device = try sample()
    var bytes = try #require(device.disk.bytes(Self.segment))
    for place in 0..<SegmentHeader.size { bytes[place] = 0 }
    try device.disk.setBytes(Self.segment, bytes)
    let error = failure(device)
    #expect(error?.path == Self.segment && error?.reason == .foreign)
    #expect(device.disk.bytes(Self.segment) == bytes)
    #expect(device.disk.heldLocks == 0)
  }

  @Test func `a damaged frame that a later one vouches for is corruption, and is left alone`()
    throws
  {
    let device = try sample()
    let whole = try #require(device.disk.bytes(Self.segment))
    let offsets = try offsets(device)
    for (index, offset) in offsets.dropLast().enumerated() {
      let end = offsets[index + 1]
      // Padding between frames holds nothing.
      for place in stride(from: offset, to: end - 8, by: 7) {
        var bytes = whole
        bytes[place] ^= 0x10
        try device.disk.setBytes(Self.segment, bytes)
        let error = failure(device)
        guard error?.reason == .corrupt, error?.path == Self.segment else {
          // The last frame but one is vouched for only if its sync was known when the last came.
          Issue.record("byte \(place): \(error.map { "\($0)" } ?? "it opened")")
          return
        }
        #expect(error?.offset == UInt64(offset))
        #expect(device.disk.bytes(Self.segment) == bytes, "evidence is not touched")
      }
    }
    try device.disk.setBytes(Self.segment, whole)
    #expect(failure(device) == nil)
    #expect(try device.store.count(table: "t") == 4)
  }

  /// Every bit of every file of a store with a snapshot, sealed and growing segments. What opens
  /// shows the content, or is shorter by what nothing vouches for.
  @Test func `no flipped bit gives another value`() throws {
    let device = try StoreDevice(1) { $0.segmentBytes = 250 }
    var states = [StoreContent()]
    for number in 0..<8 {
      try device.store.insert("r\(number)", ["n": .int(Int64(number)), "s": "some text"])
      states.append(try StoreContent(device.store))
      try device.store.sync()
      if number == 3 { _ = try device.store.compact() }
    }
    try device.store.close()
    for path in device.disk.paths() where !path.hasSuffix("LOCK") {
      let whole = try #require(device.disk.bytes(path))
      for place in 0..<whole.count {
        let disk = device.disk.snapshot()
        try disk.corrupt(path, place, xor: 1 << UInt8(place % 8))
        let content: StoreContent
        do {
          let store = try StoreDevice.open(
            disk, device.clock, device.random, true, device.options)
          content = try StoreContent(store)
          try store.close()
        } catch {
          let log = (error as? StoreError)?.log
          #expect(log != nil && log?.path != "", "\(path) \(place): \(error)")
          continue
        }
        let isLastFrame = content == states[7]
        guard content == states[8] || isLastFrame else {
          Issue.record("\(path) byte \(place): \(content.differences(from: states[8]))")
          return
        }
      }
    }
  }

  @Test func `no truncation of any file gives another value or a trap`() throws {
    let device = try StoreDevice(1) { $0.segmentBytes = 400 }
    var states = [StoreContent()]
    for number in 0..<6 {
      try device.store.insert("r\(number)", ["n": .int(Int64(number))])
      states.append(try StoreContent(device.store))
      try device.store.sync()
      if number == 2 { _ = try device.store.compact() }
    }
    try device.store.close()
    for path in device.disk.paths() where !path.hasSuffix("LOCK") {
      let whole = try #require(device.disk.bytes(path))
      for length in stride(from: 0, to: whole.count, by: 3) {
        let disk = device.disk.snapshot()
        try disk.setBytes(path, Array(whole[..<length]))
        guard
          let store = try? StoreDevice.open(
            disk, device.clock, device.random, true, device.options)
        else { continue }
        let content = try StoreContent(store)
        #expect(states.dropFirst(3).contains(content), "\(path) cut to \(length)")
        try store.close()
      }
    }
  }

  @Test func `a missing segment or snapshot is named`() throws {
    let device = try StoreDevice(1) { $0.segmentBytes = 250 }
    for number in 0..<8 {
      try device.store.insert("r\(number)", ["n": .int(Int64(number)), "s": "some text"])
      try device.store.sync()
      if number == 3 { _ = try device.store.compact() }
    }
    try device.store.close()
    let segments = device.disk.paths().filter { $0.hasSuffix(".seg") }
    #expect(segments.count > 3)
    for path in segments.dropLast() {
      let disk = device.disk.snapshot()
      try disk.remove(path)
      let error = #expect(throws: StoreError.self) {
        try StoreDevice.open(disk, device.clock, device.random, true, device.options)
      }
      #expect(error?.log?.reason == .missing, "\(path): \(error.map { "\($0)" } ?? "")")
    }
    let snapshot = try #require(device.disk.paths().first { $0.hasSuffix(".snap") })
    let disk = device.disk.snapshot()
    try disk.remove(snapshot)
    let error = #expect(throws: StoreError.self) {
      try StoreDevice.open(disk, device.clock, device.random, true, device.options)
    }
    #expect(error?.message.contains(snapshot) == true)
    #expect(disk.openFiles == 0 && disk.heldLocks == 0)
  }

  @Test func `a lost CURRENT is not taken for a new datastore`() throws {
    let device = try sample()
    try device.disk.remove(Self.current)
    #expect(failure(device)?.reason == .missing)
    #expect(device.disk.bytes(Self.current) == nil)
  }

  @Test func `nor is one whose log is all in the snapshot`() throws {
    let device = try StoreDevice(1, isLinked: false)
    try device.store.insert("r")
    try device.store.sync()
    _ = try device.store.compact()
    let snapshot = try #require(device.store.snapshotFile()?.path)
    try device.store.close()
    #expect(try device.disk.list(StoreDevice.directory + "/log").isEmpty)
    let bytes = try #require(device.disk.bytes(snapshot))
    try device.disk.remove(Self.current)
    let error = failure(device)
    #expect(error?.reason == .missing && error?.path == Self.current)
    #expect(device.disk.bytes(Self.current) == nil)
    #expect(device.disk.bytes(snapshot) == bytes)
    #expect(device.disk.heldLocks == 0)
  }

  @Test func `a newer format is left alone`() throws {
    let device = try sample()
    let bytes = try #require(device.disk.bytes(Self.current))
    var file = try CurrentFile(bytes, path: Self.current).encoded()
    // A floor above ours, and the checksum to go with it.
    file[10] = 0xFF
    var body = Array(file.prefix(88))
    body.put(XXH3.hash64(body))
    try device.disk.setBytes(Self.current, body)
    guard case .needsNewerVersion = failure(device)?.reason else {
      Issue.record("\(failure(device).map { "\($0)" } ?? "it opened")")
      return
    }
    #expect(device.disk.bytes(Self.current) == body)
  }

  @Test func `a segment of another store is refused`() throws {
    let (device, other) = (try sample(), try StoreDevice(9))
    try other.store.insert("x")
    try other.store.sync()
    try other.store.close()
    let foreign = try #require(other.disk.bytes(Self.segment))
    try device.disk.setBytes(Self.segment, foreign)
    // Its frames are seeded with its own device, so it reads well; it is just not ours.
    #expect(failure(device) != nil)
  }

  @Test func `absurd lengths and garbage in the log never trap`() throws {
    let device = try sample()
    let whole = try #require(device.disk.bytes(Self.segment))
    let offsets = try offsets(device)
    for seed in UInt64(0)..<200 {
      let random = SeededRandom(seed)
      var bytes = whole
      let start = offsets[random.below(offsets.count)]
      let garbage = [
        Array(repeating: UInt8(0xFF), count: 24), random.bytes(64),
        [UInt8](repeating: 0, count: 40),
      ][random.below(3)]
      for (index, byte) in garbage.enumerated() where start + index < bytes.count {
        bytes[start + index] = byte
      }
      let disk = device.disk.snapshot()
      try disk.setBytes(Self.segment, bytes)
      if let store = try? StoreDevice.open(
        disk, device.clock, device.random, true, device.options)
      {
        let count = try store.count(table: "t")
        #expect(start == offsets.last ? count >= 3 : count == 4, "seed \(seed)")
      }
    }
  }

  @Test func `a pack with wrong bytes changes nothing, and the others are applied`() throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2))
    try a.store.insert("a", ["s": "text that is long enough to be bent somewhere"])
    try a.store.sync()
    try b.store.insert("b")
    try b.store.sync()
    let (good, whole) = (try b.store.pack(), try a.store.pack())
    for length in 0..<whole.count {
      let c = try StoreDevice(3)
      let outcome = try c.store.sync(packs: [Array(whole[..<length]), good])
      #expect(outcome.failures.keys.sorted() == [0], "cut to \(length)")
      #expect(outcome.appliedCount == 1)
      #expect(try StoreContent(c.store).tables == ["t": ["b": [:]]])
    }
    for bit in 0..<(whole.count * 8) {
      var bent = whole
      bent[bit / 8] ^= 1 << UInt8(bit % 8)
      let c = try StoreDevice(3)
      // Packs carry no checksum of their own; here only the structure is asked.
      _ = try c.store.sync(packs: [bent, good])
      try c.reopen()
      #expect(try c.store.get("b") == [:])
      #expect(c.store.recovery.isEmpty)
    }
  }
}
