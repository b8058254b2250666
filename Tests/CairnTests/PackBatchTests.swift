import CairnLog
import CairnMerge
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
}
