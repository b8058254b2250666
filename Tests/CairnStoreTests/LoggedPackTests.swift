import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A frame of fetched deltas is looked into when a store is opened, whatever its checksum says.
struct LoggedPackTests {
  private static let path = StoreDevice.directory + "/log/" + FileName.segment(1)

  /// A closed store of which the log has one frame, of this payload.
  private func device(_ payload: [UInt8]) throws -> StoreDevice {
    let device = try StoreDevice(1)
    let id = device.id.rawValue
    try device.store.insert("own")
    try device.store.sync()
    try device.store.close()
    try device.disk.remove(Self.path)
    var segment = try ActiveSegment.create(
      directory: StoreDevice.directory + "/log",
      header: SegmentHeader(datastore: StoreDevice.datastore, device: id, number: 1),
      previousChain: 0, disk: device.disk)
    var frame = FrameFormat.emptyHeader + payload
    try segment.append(.pack, device: 0, sequence: 0, frame: &frame, durableThrough: 0)
    try segment.file.sync()
    segment.file.close()
    return device
  }

  /// A pack as the log has it, to be applied up to its second delta.
  private func payload(_ pack: [UInt8]) -> [UInt8] {
    var payload: [UInt8] = []
    payload.putVarint(1 as UInt64)
    payload.putVarint(2 as UInt64)
    payload.putBlob(pack)
    return payload
  }

  /// Of another device, with two deltas.
  private func other() throws -> StoreDevice {
    let other = try StoreDevice(2)
    for id in ["r", "s"] {
      try other.store.insert(id, ["n": 1])
      try other.store.sync()
    }
    return other
  }

  private func failure(_ device: StoreDevice) -> LogError? {
    do {
      try device.open()
      return nil
    } catch { return (error as? StoreError)?.log }
  }

  @Test func `one that is whole shows all of its deltas`() throws {
    let device = try device(payload(try other().store.pack()))
    try device.open()
    #expect(device.store.recovery.isEmpty)
    for id in ["r", "s"] { #expect(try device.store.get(id) == ["n": 1]) }
  }

  @Test func `one that can't be taken apart is damage, and not fewer deltas`() throws {
    let store = try other().store
    let pack = try store.pack()
    let wrong = [
      // The second delta lacks its end.
      payload(Array(pack.dropLast())),
      // The first one is missing.
      payload(try store.pack(after: 1)),
      // Something is left over.
      payload(pack) + [0],
    ]
    for (number, payload) in wrong.enumerated() {
      let error = try #require(failure(try device(payload)), "\(number)")
      #expect(error.path == Self.path, "\(number)")
      #expect(error.offset == UInt64(SegmentHeader.size), "\(number)")
    }
  }
}
