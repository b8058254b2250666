import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Commits that may wait until they are durable: for a later one that comes when it is time, or for
/// the end.
struct PeriodicCommitTests {
  private func device() throws -> StoreDevice {
    try StoreDevice(1) { $0.durability = .periodic(milliseconds: 1000) }
  }

  /// One record more.
  private func add(_ id: String, to device: StoreDevice, bySync: Bool = true) throws {
    try device.store.insert(id)
    if bySync { try device.store.sync() } else { _ = try device.store.commit() }
  }

  /// How many records a power cut would leave now.
  private func kept(_ device: StoreDevice) throws -> Int {
    let left = try StoreDevice.open(
      device.disk.crash(keep: .nothingUnsynced), device.clock, SeededRandom(9), true,
      device.options)
    return try left.count(table: "t")
  }

  @Test(arguments: [true, false])
  func `the first commit after the time makes all before it durable`(bySync: Bool) throws {
    let device = try device()
    try add("a", to: device, bySync: bySync)
    #expect(try kept(device) == 1, "the first of all waits for nothing")
    device.clock.advance(by: 999)
    try add("b", to: device, bySync: bySync)
    #expect(try kept(device) == 1)
    device.clock.advance(by: 1)
    try add("c", to: device, bySync: bySync)
    #expect(try kept(device) == 3)
    // The time begins anew with that one.
    device.clock.advance(by: 999)
    try add("d", to: device, bySync: bySync)
    #expect(try kept(device) == 3)
    device.clock.advance(by: 1)
    try add("e", to: device, bySync: bySync)
    #expect(try kept(device) == 5)
  }

  @Test func `a sync with nothing to commit does so, too`() throws {
    let device = try device()
    try add("a", to: device)
    try add("b", to: device)
    #expect(try device.store.sync().committed == nil)
    #expect(try kept(device) == 1)
    device.clock.advance(by: 1000)
    #expect(try device.store.sync().committed == nil)
    #expect(try kept(device) == 2)
  }

  @Test func `a clock that jumps back makes nobody wait for when it was`() throws {
    let device = try device()
    try add("a", to: device)
    device.clock.advance(by: -86_400_000)
    try add("b", to: device)
    #expect(try kept(device) == 2)
    device.clock.advance(by: 999)
    try add("c", to: device)
    #expect(try kept(device) == 2)
    device.clock.advance(by: 1)
    try add("d", to: device)
    #expect(try kept(device) == 4)
  }

  @Test func `closing makes durable what was committed`() throws {
    let device = try device()
    try add("a", to: device)
    try add("b", to: device)
    try device.store.insert("pending")
    #expect(try kept(device) == 1)
    try device.store.close()
    #expect(try kept(device) == 2)
  }
}
