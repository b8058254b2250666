import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// What a device says of a name that it has left.
struct EarlierNameTests {
  private let left = DeviceID(rawValue: 77)
  private let e = DeviceID(rawValue: 78)
  private let f = DeviceID(rawValue: 79)

  private func note(_ next: DeviceID, moved: [UInt64], in device: StoreDevice) throws {
    let name = EarlierName(left, next: next, common: 1)
    try device.store.note([name], moved: [left: moved])
    try device.reopen()
    #expect(device.store.cuts.earlierNames == [left: name])
  }

  /// An older backup of the device comes back, and has nothing behind what all have.
  @Test func `which deltas are there once more is said of one next name only`() throws {
    let device = try StoreDevice(1)
    try note(e, moved: [5, 6], in: device)
    #expect(device.store.cuts.moved == [left: [5, 6]])
    try note(f, moved: [], in: device)
    #expect(device.store.cuts.moved == [:], "those are there under another name")
    try note(f, moved: [7], in: device)
    #expect(device.store.cuts.moved == [left: [7]])
  }
}
