import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// What a repair says of segments that lack something: that goes by their place in the log.
struct SegmentSalvageLossTests {
  enum Place: CaseIterable {
    /// Only the newest may be without its end, and without anything.
    case newest
    /// One that has to be replayed, with a successor.
    case closed
    /// One whose content is in the snapshot, kept until it is published.
    case folded
  }

  enum Rest: CaseIterable { case nothing, zeros, header, room, frames }

  private struct Sample {
    var device: StoreDevice
    var paths: [Place: String] = [:]
  }

  private func segments(_ device: StoreDevice) -> [String] {
    device.disk.paths().filter { $0.hasPrefix(StoreDevice.directory + "/log/") }
  }

  private func bytes(_ device: StoreDevice, _ path: String) throws -> [UInt8] {
    try #require(device.disk.bytes(path))
  }

  private func scan(_ device: StoreDevice, _ path: String) throws -> SegmentScan {
    try SegmentScan(bytes(device, path), path: path)
  }

  /// A closed store that has a segment at each place, with some frames in it.
  private func sample() throws -> Sample {
    let device = try StoreDevice(1) { $0.segmentBytes = 900 }
    var number = 0
    func insert() throws {
      try device.store.insert("r\(number)", ["s": .string("some text of number \(number)")])
      try device.store.sync()
      number += 1
    }
    for _ in 0..<20 { try insert() }
    _ = try device.store.compact()
    let folded = Set(segments(device))
    try #require(folded.count > 1)
    for _ in 0..<20 { try insert() }
    while try scan(device, try #require(segments(device).last)).frames.count < 2 { try insert() }
    try device.store.close()
    let behind = segments(device).filter { !folded.contains($0) }
    try #require(behind.count > 1)
    var sample = Sample(device: device)
    sample.paths[.folded] = segments(device).first
    sample.paths[.closed] = behind.first
    sample.paths[.newest] = behind.last
    return sample
  }

  /// What a repair would say, and how many deltas it would find.
  private func salvage(
    _ device: StoreDevice, _ path: String, _ bytes: [UInt8]
  ) throws -> (losses: [SalvageLoss], deltas: Int) {
    let disk = device.disk.snapshot()
    try disk.setBytes(path, bytes)
    try disk.createDirectory("/scratch")
    let salvage = try StoreSalvage(
      StoreDevice.directory, datastore: StoreDevice.datastore, isLinked: true,
      scratch: "/scratch",
      machine: Machine(disk: disk, clock: device.clock, random: device.random))
    try salvage.store.close()
    return (salvage.losses, salvage.deltas)
  }

  @Test func `a log that is whole has lost nothing`() throws {
    let sample = try sample()
    for place in Place.allCases {
      let path = try #require(sample.paths[place])
      let scan = try scan(sample.device, path)
      #expect(scan.ending == (place == .newest ? .clean : .sealed))
      let (losses, deltas) = try salvage(sample.device, path, scan.bytes)
      #expect(losses == [] && deltas >= 40)
    }
  }

  @Test(arguments: Place.allCases, Rest.allCases)
  func `a segment that lacks its end has lost something unless it is the newest`(
    place: Place, rest: Rest
  ) throws {
    let sample = try sample()
    let path = try #require(sample.paths[place])
    let scan = try scan(sample.device, path)
    try #require(scan.frames.count > 1)
    let header = Array(scan.bytes[..<SegmentHeader.size])
    let end = scan.frames[scan.frames.count - 1].offset
    let left: [UInt8] =
      switch rest {
      case .nothing: []
      case .zeros: [UInt8](repeating: 0, count: 4096)
      case .header: header
      case .room: header + [UInt8](repeating: 0, count: (64 << 10) - header.count)
      case .frames: Array(scan.bytes[..<end])
      }
    let (losses, _) = try salvage(sample.device, path, left)
    guard place != .newest else {
      #expect(losses == [])
      return
    }
    let told = losses.filter { $0.path == path }
    #expect(told.count == 1)
    let loss = try #require(told.first)
    let isFolded = loss.message.contains("folded into the snapshot")
    #expect(isFolded == (place == .folded) && loss.message.contains("lost"))
    switch rest {
    case .nothing, .zeros: #expect(loss.offset == 0)
    case .header, .room: #expect(loss.offset == UInt64(SegmentHeader.size))
    case .frames:
      #expect(loss.offset == UInt64(end))
      #expect(loss.message.contains("lost its end, from offset \(end) on"))
    }
    // What is folded has no gap behind it.
    if place == .folded { #expect(losses == told) }
  }

  @Test func `half a header of the newest segment is no loss`() throws {
    let sample = try sample()
    for place in Place.allCases {
      let path = try #require(sample.paths[place])
      let half = Array(try bytes(sample.device, path)[..<40])
      for rest in [0, 4096] {
        let left = half + [UInt8](repeating: 0, count: rest)
        let (losses, _) = try salvage(sample.device, path, left)
        #expect(losses.contains { $0.path == path } == (place != .newest))
      }
    }
  }

  @Test func `a header that is gone from a newest segment with frames is no silence`() throws {
    let sample = try sample()
    let path = try #require(sample.paths[.newest])
    var left = try bytes(sample.device, path)
    for place in 0..<left.count { left[place] ^= 0x5A }
    let (losses, _) = try salvage(sample.device, path, left)
    #expect(losses.map(\.path) == [path])
    #expect(losses.first?.message.contains("nothing in this segment can be read") == true)
  }

  @Test func `a torn tail is called so in the newest segment alone`() throws {
    let sample = try sample()
    for place in Place.allCases {
      let path = try #require(sample.paths[place])
      let scan = try scan(sample.device, path)
      // In place of a seal there is what no sync has covered.
      let left = scan.bytes[..<scan.end] + [UInt8](repeating: 0xAA, count: 30)
      let (losses, _) = try salvage(sample.device, path, Array(left))
      let told = losses.filter { $0.path == path }
      guard place == .newest else {
        #expect(told.contains { $0.message.contains("lost its end") })
        #expect(!told.contains { $0.message.contains("torn") })
        continue
      }
      #expect(losses == told && told.map(\.offset) == [UInt64(scan.end)])
      #expect(told.first?.message.contains("a torn tail of 30 bytes") == true)
      #expect(told.first?.message.contains("lost") == false)
    }
  }

  @Test func `damage that a later frame vouches for is no torn tail`() throws {
    let sample = try sample()
    let path = try #require(sample.paths[.newest])
    let scan = try scan(sample.device, path)
    let first = try #require(scan.frames.first)
    try #require(scan.frames.contains { Int($0.durableThrough) > first.offset })
    var left = scan.bytes
    for place in 0..<20 { left[first.offset + 30 + place] ^= 0x5A }
    let (losses, _) = try salvage(sample.device, path, left)
    #expect(losses.contains { $0.path == path && $0.message.contains("lost") })
    #expect(!losses.contains { $0.message.contains("torn") })
  }

  @Test func `a missing segment that is folded has its content in the snapshot`() throws {
    let sample = try sample()
    for place in [Place.closed, .folded] {
      let path = try #require(sample.paths[place])
      let disk = sample.device.disk.snapshot()
      try disk.remove(path)
      try disk.createDirectory("/scratch")
      let salvage = try StoreSalvage(
        StoreDevice.directory, datastore: StoreDevice.datastore, isLinked: true,
        scratch: "/scratch",
        machine: Machine(disk: disk, clock: sample.device.clock, random: sample.device.random))
      try salvage.store.close()
      let loss = try #require(salvage.losses.first { $0.path == path })
      #expect(loss.message.contains("the segment is missing"))
      #expect(loss.message.contains("folded into the snapshot") == (place == .folded))
    }
  }

  @Test func `a newest segment of another datastore is named`() throws {
    let sample = try sample()
    let path = try #require(sample.paths[.newest])
    let header = try scan(sample.device, path).header
    let other = SegmentHeader(datastore: 0xBAD, device: header.device, number: header.number)
    let (losses, _) = try salvage(sample.device, path, other.encoded())
    #expect(losses.map(\.path) == [path])
    #expect(losses.first?.message.contains("belongs to another datastore") == true)
  }
}
