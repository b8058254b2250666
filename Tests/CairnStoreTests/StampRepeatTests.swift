import CairnDisk
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// A delta has one stamp, however many cells it wrote.
struct StampRepeatTests {
  @Test func `a stamp that comes several times in a row has one number`() {
    var stamps = StampTable()
    let a = Stamp(dot: Dot(device: DeviceID(rawValue: 1), sequence: 5), time: 100)
    let b = Stamp(dot: Dot(device: DeviceID(rawValue: 2), sequence: 5), time: 100)
    let numbers = [a, a, a, b, b].map { stamps.add($0) }
    #expect(numbers == [1, 1, 1, 2, 2])
    #expect(stamps.count == 2)
    #expect(numbers.map { stamps[$0] } == [a, a, a, b, b])
    let settled = stamps.add(.settled)
    let again = stamps.add(b)
    #expect(settled == StampTable.settled && again == 2 && stamps.count == 2)
  }

  @Test func `changing all that one delta has left in the snapshot takes no stamp each`() throws {
    let device = try StoreDevice(1)
    for number in 0..<100 { try device.store.insert("r\(number)", ["n": 0]) }
    try device.store.sync()
    _ = try device.store.compact()
    try device.reopen()
    for number in 0..<100 { try device.store.set("r\(number)", ["n": 1]) }
    #expect(try device.store.withState { $0.store.ground.stamps.count } <= 2)
    try device.store.rollBack()
    #expect(try device.store.get("r99") == ["n": 0])
  }
}
