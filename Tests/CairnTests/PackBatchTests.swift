import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// How many packs one frame of the log takes.
@Suite struct PackBatchTests {
  private let item = Inbox.Item(name: "p", device: DeviceID(rawValue: 1), first: 1, last: 1)

  @Test func `a batch ends before the pack that it has no room for`() {
    var batch = PackBatch()
    #expect(batch.hasRoom(for: PublishedSegment.rawBytesMax), "the largest one comes by itself")
    batch.add([UInt8](repeating: 0, count: Exchange.batchBytes - 1), item)
    #expect(batch.hasRoom(for: 1))
    #expect(!batch.hasRoom(for: 2))
    batch.add([0], item)
    #expect(!batch.hasRoom(for: 1))
    #expect(batch.packs.map(\.count) == [Exchange.batchBytes - 1, 1] && batch.items.count == 2)
  }

  @Test func `whatever it has room for a frame takes`() {
    // Their number, and with each pack how far it is taken and its length: at most ten bytes each.
    let lengths = 10 + 4096 * 20
    #expect(
      max(PublishedSegment.rawBytesMax, Exchange.batchBytes) + lengths < FrameFormat.rawBytesMax)
  }

  /// One of each of the other devices.
  @Test(arguments: [1, 3])
  func `packs that go into one batch are made durable together`(count: Int) async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.add("of-a")
    try await a.exchange()
    for number in 0..<count {
      let other = try bench.open("b\(number)")
      try other.add("of-b\(number)")
      try await other.exchange()
    }
    try await a.exchange()
    let (disk, syncs) = (bench.disk("a"), Shared(0))
    disk.intercept { step in
      if step.verb == "sync", step.path.contains("/log/") { syncs.withLock { $0 += 1 } }
      return nil
    }
    let result = try a.sync()
    disk.intercept(nil)
    #expect(result.incorporated == count)
    #expect(syncs.withLock { $0 } == 1)
  }
}
