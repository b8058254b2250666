import CairnMerge
import CairnStore
import TestSupport
import Testing

/// How long a log may be beside its snapshot: each record is written anew a few times only, and
/// opening stays quick.
struct CompactionThresholdTests {
  private func add(_ numbers: Range<Int>, _ store: Store) throws {
    for number in numbers {
      let bytes = SeededRandom(UInt64(number)).bytes(500)
      try store.insert("r\(number)", ["b": .bytes(bytes)])
      try store.sync()
    }
  }

  /// A store with 100 kB in its snapshot and nothing behind it, and how long that file is.
  private func filled() throws -> (device: StoreDevice, path: String, length: Int) {
    let device = try StoreDevice(1, isLinked: false) {
      $0.compactsAutomatically = true
      $0.compactsInline = true
      $0.compactFrom = 1000
      $0.replayBytes = 100
    }
    try add(0..<200, device.store)
    _ = try device.store.compact()
    let path = try #require(device.store.snapshotFile()).path
    return (device, path, try #require(device.disk.bytes(path)).count)
  }

  @Test func `a log is folded when it is longer than half of the snapshot, and not before`()
    throws
  {
    let (device, path, length) = try filled()
    try #require(length > 100_000)
    var (most, number) = (0, 200)
    while device.store.snapshotFile()?.path == path, number < 1000 {
      most = device.store.replayBytes
      try add(number..<number + 1, device.store)
      number += 1
    }
    // But for the last commit.
    #expect((length / 2 - 1000...length / 2).contains(most), "\(most) of \(length)")
    #expect(device.store.replayBytes == 0 && device.store.totals.records == number)
  }

  @Test func `closing folds a tail that is longer than a sixty-fourth of the snapshot`() throws {
    let (device, path, length) = try filled()
    // Whoever opens it anew has filled nothing.
    try device.reopen()
    try #require(device.store.snapshotFile()?.path == path)
    try add(200..<207, device.store)
    try #require((length / 64...length / 16).contains(device.store.replayBytes))
    let content = try StoreContent(device.store)
    try device.reopen()
    #expect(device.store.replayBytes == 0 && device.store.snapshotFile()?.path != path)
    #expect(try StoreContent(device.store).differences(from: content) == [])
  }
}
