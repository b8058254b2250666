import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// A device goes by its own clock. That of another one may be years ahead: what comes from there
/// decides nothing of when this one writes, however it came and wherever it is kept.
struct OwnTimeTests {
  private static let now: Int64 = 1_700_000_000_000
  private static let tenYears: Int64 = 10 * 365 * 86_400_000

  /// How what another device has written comes here.
  enum Way: CaseIterable { case pack, joined, adopted }

  /// The times of the own deltas.
  private func times(_ store: Store) throws -> [Int64] {
    var reader = try PackReader(try store.pack())
    var delta = Delta()
    var times: [Int64] = []
    while try reader.next(into: &delta) { times.append(delta.time) }
    return times
  }

  private func write(_ device: StoreDevice, _ id: String) throws {
    try device.store.insert(id)
    try device.store.sync()
  }

  private func fold(_ device: StoreDevice) throws {
    _ = try device.store.compact()
    try device.reopen()
  }

  @Test(arguments: Way.allCases)
  func `a clock that is ten years ahead is nobody else's`(way: Way) throws {
    let future = try StoreDevice(1, time: Self.now + Self.tenYears)
    try write(future, "future")
    _ = try future.store.compact()
    let device = try StoreDevice(2, time: Self.now)
    if way != .adopted { try write(device, "first") }
    let path = device.store.temporarySnapshotPath()
    let bytes = try #require(future.snapshotBytes())
    switch way {
    case .pack: _ = try device.store.sync(packs: [try future.store.pack()])
    case .joined:
      try device.disk.setBytes(path, bytes)
      #expect(try device.store.join(snapshot: path)?.appliedCount == 1)
    case .adopted:
      try device.disk.setBytes(path, bytes)
      try device.store.adopt(snapshot: path)
    }
    var expected = way == .adopted ? [] : [Self.now]
    for round in 0..<4 {
      device.clock.advance(by: 1000)
      try write(device, "r\(round)")
      expected.append(Self.now + 1000 * Int64(round + 1))
      #expect(try times(device.store) == expected, "round \(round)")
      if round == 2 { try device.reopen() } else { try fold(device) }
    }
    #expect(device.store.modified == Self.now + Self.tenYears)
    #expect(device.store.recovery.isEmpty)
    // The snapshots are the same all the same.
    _ = try future.store.sync(packs: [try device.store.pack()])
    for device in [device, future] { _ = try device.store.compact() }
    #expect(device.snapshotBytes() == future.snapshotBytes())
  }

  /// CURRENT says what the own last time was. One of an early version does not: then it is that of
  /// the last delta of anybody.
  @Test(arguments: [false, true])
  func `own times never go back, whatever becomes of the own clock`(isKnown: Bool) throws {
    let future = try StoreDevice(1, time: Self.now + 2 * Self.tenYears)
    try write(future, "future")
    let device = try StoreDevice(2, time: Self.now + Self.tenYears)
    try write(device, "ahead")
    _ = try device.store.sync(packs: [try future.store.pack()])
    device.clock.set(Self.now)
    try write(device, "behind")
    _ = try device.store.compact()
    try device.store.close()
    let path = StoreDevice.directory + "/" + FileName.current
    var current = try CurrentFile(try #require(device.disk.bytes(path)), path: path)
    #expect(current.lastOwnTime == Self.now + Self.tenYears + 1)
    if !isKnown {
      current.lastOwnTime = nil
      #expect(Array(current.encoded()[72..<88]) == [UInt8](repeating: 0, count: 16))
      try device.disk.setBytes(path, current.encoded())
    }
    try device.open()
    try write(device, "again")
    let last = isKnown ? Self.now + Self.tenYears + 2 : Self.now + 2 * Self.tenYears + 1
    #expect(
      try times(device.store) == [Self.now + Self.tenYears, Self.now + Self.tenYears + 1, last])
    try fold(device)
    try write(device, "once-more")
    #expect(try times(device.store).last == last + 1)
  }

  @Test func `the own last time is that of its snapshot`() throws {
    var current = CurrentFile(
      flags: 0, datastore: 7, device: 1, snapshot: 3, firstSegment: 2, firstKept: 1)
    #expect(current.lastOwnTime == nil)
    current.lastOwnTime = 5000
    let read = try CurrentFile(current.encoded(), path: "CURRENT")
    #expect(read == current && read.lastOwnTime == 5000)
    // Whoever knows nothing of it names another snapshot.
    current.snapshot = 4
    #expect(try CurrentFile(current.encoded(), path: "CURRENT").lastOwnTime == nil)
    current.lastOwnTime = 0
    #expect(current.lastOwnTime == nil)
  }

  /// Put together anew from what others have published, under another name.
  @Test func `a device that takes another name keeps its own clock`() throws {
    let (future, device) = (
      try StoreDevice(1, time: Self.now + Self.tenYears), try StoreDevice(2, time: Self.now)
    )
    try write(future, "future")
    try write(device, "first")
    let name = device.id
    let staged = try Store.open(
      StoreDevice.directory + "/rejoin", datastore: StoreDevice.datastore, isLinked: true,
      options: device.options, machine: device.machine)
    try staged.sync(packs: [try future.store.pack()])
    let plan = Rejoining(
      staged: staged, device: staged.device, common: CommonBranch(name))
    #expect(try device.store.rejoin(plan) { _ in } != nil)
    try staged.close()
    #expect(device.id != name)
    device.clock.advance(by: 1000)
    try fold(device)
    try write(device, "later")
    #expect(device.store.modified == Self.now + Self.tenYears)
    let own = try #require(
      try device.store.ownPack(
        after: 0, through: device.store.vector[device.id], limit: 1 << 20))
    var reader = try PackReader(own.pack)
    var delta = Delta()
    var last: Int64 = 0
    while try reader.next(into: &delta) { last = max(last, delta.time) }
    #expect(last == Self.now + 1000)
  }
}
