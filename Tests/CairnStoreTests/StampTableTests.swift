import CairnDisk
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

/// A compaction forgets the stamps that no cell refers to any more, and no others.
struct StampTableTests {
  private func stamps(_ device: StoreDevice) throws -> Int {
    try device.store.withState { $0.store.ground.stamps.count }
  }

  @Test func `stamps of what was folded are forgotten, and those that are needed are not`() throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2))
    try a.store.insert("r", ["n": 0])
    try a.store.insert("s", ["n": 0])
    try a.store.sync()
    for number in 1...2000 {
      try a.store.set("r", ["n": .int(Int64(number))])
      try a.store.sync()
    }
    _ = try b.store.sync(packs: [try a.store.pack()])
    #expect(try stamps(b) > 1900)
    // Pending changes are carried over, with what a roll-back would bring back.
    try b.store.set("r", ["n": -1])
    try b.store.insert("new", ["n": 1])
    _ = try b.store.compact()
    #expect(try stamps(b) <= 4)
    try b.store.rollBack()
    #expect(try b.store.get("r") == ["n": 2000])
    // Its stamp is the right one: what has not seen it competes with it, what has replaces it.
    try a.store.set("r", ["n": 2001])
    try a.store.sync()
    try b.store.set("s", ["n": 5])
    try b.store.sync()
    try a.store.set("s", ["n": 6])
    try a.store.sync()
    let packs = [try a.store.pack(), try b.store.pack()]
    var outcome = SyncOutcome()
    for device in [a, b] { outcome = try device.store.sync(packs: packs) }
    #expect(outcome.conflicts.map(\.id.text) == ["s"])
    #expect(try a.store.get("r") == ["n": 2001])
    let content = try StoreContent(a.store)
    #expect(try StoreContent(b.store) == content)
    for device in [a, b] { _ = try device.store.compact() }
    #expect(a.snapshotBytes() == b.snapshotBytes())
    #expect(try stamps(a) <= 2 && stamps(b) <= 2)
  }

  @Test func `devices have their numbers, however many there are`() {
    let devices = (0..<40).map { DeviceID(rawValue: 1000 - UInt64($0)) }
    var table = StampTable()
    for (number, device) in devices.enumerated() {
      #expect(table.known(device) == nil)
      let new = table.device(device)
      #expect(new == number)
      let again = devices[...number].map { table.device($0) }
      #expect(again == Array(0...number))
    }
    let next = table.emptied
    let kept = devices.map { next.known($0) }
    #expect(kept == Array(0..<40))
    #expect(next.known(DeviceID(rawValue: 1)) == nil)
    #expect(next.allDevices == devices)
  }

  @Test func `numbers that move keep what they stand for`() {
    var old = StampTable()
    let devices = (1...3).map { DeviceID(rawValue: UInt64($0)) }
    for device in devices { _ = old.device(device) }
    let stamps = (0..<30).map { index in
      Stamp(
        dot: Dot(device: devices[index % 3], sequence: UInt64(index + 1)), time: Int64(index))
    }
    let numbers = stamps.map { old.add($0) }
    var new = old.emptied
    #expect(new.count == 0)
    #expect(devices.map { new.known($0) } == [0, 1, 2])
    var moved = MovedStamps(old)
    for index in [7, 3, 7, 29, 3] {
      let number = moved.number(numbers[index], in: &new)
      #expect(new[number] == stamps[index])
      #expect(new.isSeen(number, by: [100, 100, 100]))
      #expect(!new.isSeen(number, by: [0, 0, 0]))
    }
    #expect(new.count == 3)
    for special in [StampTable.settled, StampTable.pending] {
      #expect(moved.number(special, in: &new) == special)
    }
  }
}
