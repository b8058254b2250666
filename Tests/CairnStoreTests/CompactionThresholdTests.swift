import CairnDisk
import CairnMerge
import CairnStore
import Synchronization
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

  /// Each try seals a segment, and writes as much of the snapshot as there is room for.
  @Test func `one that can't be folded is tried again only when it has grown`() throws {
    let device = try StoreDevice(1, isLinked: false) {
      $0.compactsAutomatically = true
      $0.compactsInline = true
      $0.compactFrom = 1000
    }
    let begun = Lock(0)
    device.disk.intercept { operation in
      guard operation.path.contains("/snap/"), operation.path.hasSuffix(".tmp") else { return nil }
      if operation.verb == "create" { begun.withLock { $0 += 1 } }
      return operation.verb == "write" ? .noSpace : nil
    }
    var (expected, next, isSealed) = (0, 1001, false)
    for number in 0..<100 {
      try add(number..<number + 1, device.store)
      let length = device.store.replayBytes
      isSealed = length >= next
      if isSealed {
        expected += 1
        next = length + max(1000, length / 8)
      }
      let tries = begun.withLock { $0 }
      #expect(tries == expected, "\(length) bytes")
    }
    #expect((15...30).contains(expected) && device.store.compactionFailure != nil)
    let segments = device.disk.paths().filter { $0.hasSuffix(".seg") }
    #expect(segments.count == expected + (isSealed ? 0 : 1))
    // Somebody who asks does not wait.
    #expect(refusal { _ = try device.store.compact() } != nil)
    let tries = begun.withLock { $0 }
    #expect(tries == expected + 1)
    device.disk.heal()
    _ = try device.store.compact()
    #expect(device.store.replayBytes == 0 && device.store.compactionFailure == nil)
    #expect(device.store.totals.records == 100)
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
