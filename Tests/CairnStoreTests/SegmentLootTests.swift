import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// What a repair says of a delta whose frame is there and makes no sense any more.
struct SegmentLootTests {
  private static let scratch = "/scratch"
  private static let segment = StoreDevice.directory + "/log/" + FileName.segment(1)

  /// A closed store of three deltas, of which the second one's content is spoilt and its header is
  /// not; and where its frame is.
  private func spoilt(isFolded: Bool) throws -> (device: StoreDevice, offset: Int) {
    let device = try StoreDevice(1)
    for number in 0..<3 {
      try device.store.insert("r\(number)", ["n": .int(Int64(number))])
      try device.store.sync()
    }
    if isFolded { _ = try device.store.compact() }
    try device.store.close()
    var bytes = try #require(device.disk.bytes(Self.segment))
    let frames = try SegmentScan(bytes, path: Self.segment).frames
    try #require(frames.count == 3 && frames[1].flags == 0)
    for place in frames[1].stored { bytes[place] = 0xFF }
    try device.disk.setBytes(Self.segment, bytes)
    return (device, frames[1].offset)
  }

  @Test(arguments: [false, true])
  func `a delta that can't be decoded any more is a loss, by its number and place`(
    isFolded: Bool
  ) throws {
    let (device, offset) = try spoilt(isFolded: isFolded)
    try device.disk.createDirectory(Self.scratch)
    let salvage = try StoreSalvage(
      StoreDevice.directory, datastore: StoreDevice.datastore, isLinked: true,
      scratch: Self.scratch, machine: device.machine)
    let told = salvage.losses.filter { $0.message.hasPrefix("delta 2 is ") }
    #expect(told.map(\.path) == [Self.segment] && told.map(\.offset) == [UInt64(offset)])
    let folded =
      "damaged; it was folded into the snapshot, and only own deltas that were not published yet "
      + "may be lost"
    let rest = isFolded ? folded : "damaged and lost"
    #expect(told.map(\.message) == ["delta 2 is " + rest])
    #expect(salvage.deltas == 2)
    #expect(try salvage.store.get("r0") == ["n": 0])
    let second: [String: FieldValue]? = isFolded ? ["n": 1] : nil
    #expect(try salvage.store.get("r1") == second)
    #expect(try salvage.store.get("r2") == ["n": 2])
    try salvage.store.close()
  }
}
