import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// What comes after a join builds on the snapshot that it has made, and on no earlier one.
struct JoinAgainTests {
  private func join(
    _ other: StoreDevice, into device: StoreDevice, mayDelete: Bool = true
  ) throws -> SyncOutcome? {
    _ = try other.store.compact()
    let path = device.store.temporarySnapshotPath()
    try device.disk.setBytes(path, try #require(other.snapshotBytes()))
    return try device.store.join(snapshot: path) { _ in mayDelete }
  }

  private func commit(_ id: String, _ device: StoreDevice) throws {
    try device.store.insert(id, ["n": 1])
    try device.store.sync()
  }

  /// Two devices, of which the first has joined what the second had.
  private func joined() throws -> (a: StoreDevice, b: StoreDevice) {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2))
    try commit("a", a)
    try commit("b", b)
    #expect(try join(b, into: a)?.appliedCount == 1)
    return (a, b)
  }

  @Test func `a join that is not done leaves the snapshot of the one before it`() throws {
    let (a, b) = try joined()
    let content = try StoreContent(a.store)
    let bytes = try #require(a.snapshotBytes())
    try commit("c", b)
    #expect(try join(b, into: a, mayDelete: false) == nil)
    #expect(a.snapshotBytes() == bytes)
    try a.reopen()
    #expect(try StoreContent(a.store) == content)
    #expect(try join(b, into: a)?.appliedCount == 1)
    try a.reopen()
    for id in ["a", "b", "c"] { #expect(try a.store.get(id) == ["n": 1], "\(id)") }
  }

  /// CURRENT names the old one until the new one is whole.
  @Test func `the snapshot of the next compaction is another file`() throws {
    let (a, _) = try joined()
    let before = try #require(a.store.snapshotFile()?.path)
    try commit("c", a)
    _ = try a.store.compact()
    let after = try #require(a.store.snapshotFile()?.path)
    #expect(after != before)
    let snapshots = a.disk.paths().filter { $0.hasPrefix(StoreDevice.directory + "/snap/") }
    #expect(snapshots == [after])
  }

  private func segments(_ device: StoreDevice) throws -> Int {
    try device.disk.list(StoreDevice.directory + "/log").count
  }

  /// 45 deltas of 100 kilobytes that can't be packed, a segment each.
  @Test(arguments: [false, true])
  func `segments that were kept over a join go when they are published`(isFolded: Bool) throws {
    let (a, b) = (try StoreDevice(1) { $0.segmentBytes = 64 << 10 }, try StoreDevice(2))
    let bytes = SeededRandom(6).bytes(100_000)
    for number in 0..<45 {
      try a.store.insert("r\(number)", ["bytes": .bytes(bytes)])
      try a.store.sync()
    }
    if isFolded { _ = try a.store.compact() }
    try commit("b", b)
    #expect(try join(b, into: a)?.appliedCount == 1)
    try commit("later", a)
    let content = try StoreContent(a.store)
    #expect(try segments(a) > 45)
    a.store.confirmPublished(through: 46)
    try a.store.dropPublished(through: 46)
    #expect(try segments(a) == 1)
    try a.reopen()
    #expect(a.store.recovery.isEmpty)
    #expect(try StoreContent(a.store) == content)
  }
}
