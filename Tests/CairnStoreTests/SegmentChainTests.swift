import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Segments are good, each by itself, and are not those that were written one after the other.
struct SegmentChainTests {
  private static func path(_ number: UInt64) -> String {
    StoreDevice.directory + "/log/" + FileName.segment(number)
  }

  /// A commit for each value, in a segment of its own.
  private func write(_ values: ClosedRange<Int64>, _ store: Store) throws {
    for value in values {
      try store.set("r", ["n": .int(value)])
      try store.sync()
    }
  }

  /// A closed store of four segments, and the disk of a copy that went on from the first of them.
  private func sample() throws -> (device: StoreDevice, copy: MemoryDisk) {
    let device = try StoreDevice(1) { $0.segmentBytes = 1 }
    try device.store.insert("r", ["n": 1])
    try device.store.sync()
    let copy = device.disk.snapshot()
    let other = try StoreDevice.open(copy, device.clock, SeededRandom(7), true, device.options)
    try write(2...4, device.store)
    try device.store.close()
    try write(22...24, other)
    try other.close()
    return (device, copy)
  }

  private func problems(_ device: StoreDevice) throws -> [LogError?] {
    let inspection = try StoreInspection(StoreDevice.directory, machine: device.machine)
    defer { inspection.close() }
    return try inspection.segments().map { $0.problem }
  }

  @Test func `a segment of a copy is found out by the one behind it`() throws {
    let (device, copy) = try sample()
    let good: [LogError.Reason?] = [nil, nil, nil, nil]
    #expect(try problems(device).map { $0?.reason } == good)
    let own = try #require(device.disk.bytes(Self.path(2)))
    let foreign = try #require(copy.bytes(Self.path(2)))
    #expect(foreign != own)
    try device.disk.setBytes(Self.path(2), foreign)
    let found = try problems(device)
    let wanted: [LogError.Reason?] = [nil, nil, .foreign, nil]
    #expect(found.map { $0?.reason } == wanted)
    #expect(found.compactMap { $0?.path } == [Self.path(3)])
    #expect(found.compactMap { $0?.detail.contains("chain") } == [true])
    try device.disk.setBytes(Self.path(2), own)
    #expect(try problems(device).map { $0?.reason } == good)
  }

  @Test func `a segment that is gone is named by the one behind it`() throws {
    let (device, _) = try sample()
    try device.disk.remove(Self.path(2))
    let found = try problems(device)
    let wanted: [LogError.Reason?] = [nil, .missing, nil]
    #expect(found.map { $0?.reason } == wanted)
    #expect(found.compactMap { $0?.path } == [Self.path(3)])
    #expect(found.compactMap { $0?.detail.contains(FileName.hex(2 as UInt64)) } == [true])
  }
}
