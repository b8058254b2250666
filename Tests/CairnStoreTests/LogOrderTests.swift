import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Frames whose checksums are right, and which no opening takes: a check tells what that would.
struct LogOrderTests {
  private static let stranger = DeviceID(rawValue: 77)

  private static func path(_ number: UInt64) -> String {
    StoreDevice.directory + "/log/" + FileName.segment(number)
  }

  /// What is written behind a device's first delta.
  enum Wrong: CaseIterable {
    case gap, onItself, onUnknown, tooLong, ofAnother, packWithGap, packOnUnknown, packsTooLong
    case unknownKind

    /// What a check says of it.
    var words: String {
      switch self {
      case .gap, .onItself, .onUnknown, .packWithGap, .packOnUnknown:
        "a delta before it is missing"
      case .tooLong: "bytes after a delta's end"
      case .ofAnother: "a delta of another device"
      case .packsTooLong: "bytes after the last pack"
      case .unknownKind: "a frame of an unknown kind"
      }
    }

    func planted(in segment: [UInt8], of own: DeviceID) -> [UInt8] {
      let unknown = Dot(device: LogOrderTests.stranger, sequence: 1)
      switch self {
      case .gap: return segment.appendingFrame(sequence: 3, payload: delta([]))
      case .onItself:
        let itself = Dot(device: own, sequence: 2)
        return segment.appendingFrame(sequence: 2, payload: delta([itself]))
      case .onUnknown: return segment.appendingFrame(sequence: 2, payload: delta([unknown]))
      case .tooLong: return segment.appendingFrame(sequence: 2, payload: delta([]) + [0])
      case .ofAnother:
        return segment.appendingFrame(
          device: unknown.device.rawValue, sequence: 2, payload: delta([]))
      case .packWithGap: return segment.packs(packs(first: 2, delta([])))
      case .packOnUnknown:
        return segment.packs(packs(first: 1, delta([Dot(device: own, sequence: 2)])))
      case .packsTooLong: return segment.packs(packs(first: 1, delta([])) + [0])
      case .unknownKind:
        return segment.appendingFrame(kind: 9, sequence: 2, payload: delta([]))
      }
    }

    /// A delta of no records, which a scope begins with that has named no device yet.
    private func delta(_ dependencies: [Dot]) -> [UInt8] {
      var out: [UInt8] = [0]
      out.putVarint(dependencies.count)
      for (number, dot) in dependencies.enumerated() {
        out.putVarint(number)
        out.put(dot.device.rawValue)
        out.putVarint(dot.sequence)
      }
      return out + [0]
    }

    /// One pack with one delta.
    private func packs(first: UInt64, _ delta: [UInt8]) -> [UInt8] {
      var pack: [UInt8] = []
      pack.put(LogOrderTests.stranger.rawValue)
      pack.putVarint(first)
      pack.putVarint(1)
      pack.putBlob(delta)
      var out: [UInt8] = [1]
      out.putVarint(first)
      out.putBlob(pack)
      return out
    }
  }

  /// The first thing that a check has to say of the log.
  private func told(_ device: StoreDevice) throws -> LogError? {
    let inspection = try StoreInspection(StoreDevice.directory, machine: device.machine)
    defer { inspection.close() }
    let segments = try inspection.segments()
    var order = inspection.order(of: segments)
    for segment in segments {
      do { try inspection.deltas(segment, following: &order) { _ in } } catch { return error.log }
    }
    return nil
  }

  /// Why an opening refuses; nil if it does not.
  private func refusal(_ device: StoreDevice) throws -> LogError? {
    do {
      try device.open()
    } catch { return (error as? StoreError)?.log }
    try device.store.close()
    return nil
  }

  /// A closed store of one delta.
  private func sample() throws -> StoreDevice {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["n": 1])
    try device.store.sync()
    try device.store.close()
    return device
  }

  @Test(arguments: Wrong.allCases)
  func `a check stops where an opening does, and says why`(wrong: Wrong) throws {
    let device = try sample()
    let whole = try #require(device.disk.bytes(Self.path(1)))
    #expect(try told(device) == nil)
    try device.disk.setBytes(Self.path(1), wrong.planted(in: whole, of: device.id))
    let stop = try #require(try refusal(device))
    let found = try #require(try told(device))
    #expect(found.path == stop.path && found.reason == stop.reason, "\(found), \(stop)")
    #expect(found.offset == stop.offset)
    #expect(found.offset == UInt64(FrameFormat.padded(whole.count)))
    #expect(found.detail.contains(wrong.words), "\(found)")
  }

  @Test(arguments: [1, 2] as [UInt64])
  func `a delta that is next, or there already, is none`(sequence: UInt64) throws {
    let device = try sample()
    let whole = try #require(device.disk.bytes(Self.path(1)))
    try device.disk.setBytes(
      Self.path(1), whole.appendingFrame(sequence: sequence, payload: [0, 0, 0]))
    #expect(try told(device) == nil)
    #expect(try refusal(device) == nil)
  }

  @Test func `what is behind a snapshot goes on from it, with the deltas of others`() throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2))
    for number in 0..<3 {
      try b.store.insert("b\(number)", ["n": .int(Int64(number))])
      try b.store.sync()
    }
    try a.store.insert("r", ["n": 1])
    try a.store.sync()
    try a.store.sync(packs: [try b.store.pack()])
    _ = try a.store.compact()
    try b.store.insert("late")
    try b.store.sync()
    try a.store.sync(packs: [try b.store.pack()])
    try a.store.insert("q", ["n": 2])
    try a.store.sync()
    try a.store.close()
    #expect(try told(a) == nil)
    #expect(try refusal(a) == nil)
  }

  @Test func `behind what is missing nothing is said of the order`() throws {
    let device = try StoreDevice(1) { $0.segmentBytes = 1 }
    for number in 0..<4 {
      try device.store.insert("r\(number)")
      try device.store.sync()
    }
    try device.store.close()
    try #require(device.disk.bytes(Self.path(3)) != nil)
    for missing in [1, 2] as [UInt64] {
      let disk = device.disk.snapshot()
      try disk.remove(Self.path(missing))
      let inspection = try StoreInspection(
        StoreDevice.directory,
        machine: Machine(disk: disk, clock: device.clock, random: device.random))
      defer { inspection.close() }
      let segments = try inspection.segments()
      let hasProblem = segments.contains { $0.problem != nil }
      #expect(hasProblem || inspection.missingFirst(of: segments) != nil)
      var order = inspection.order(of: segments)
      for segment in segments {
        #expect(throws: Never.self, "without \(missing)") {
          try inspection.deltas(segment, following: &order) { _ in }
        }
      }
    }
  }
}

extension [UInt8] {
  /// A segment with a frame of packs.
  fileprivate func packs(_ payload: [UInt8]) -> [UInt8] {
    appendingFrame(kind: FrameKind.pack.rawValue, device: 0, sequence: 0, payload: payload)
  }
}
