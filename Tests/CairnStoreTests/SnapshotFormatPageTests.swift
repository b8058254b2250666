import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

struct SnapshotFormatPageTests {
  private static let device = DeviceID(rawValue: 0x8877_6655_4433_2211)

  /// The record of the page, as the page's first delta inserted it.
  private func rows() -> [SampleRow] {
    let first = Stamp(dot: Dot(device: Self.device, sequence: 1), time: 1_700_000_000_000)
    return [
      SampleRow(
        .text("milk"), presence: first,
        [("done", .bool(false), first), ("name", .string("Milk"), first)])
    ]
  }

  private func description() -> SnapshotDescription {
    var description = SnapshotDescription()
    description.vector = VersionVector([Dot(device: Self.device, sequence: 1)])
    description.contexts = [Self.device: description.vector]
    description.modified = 1_700_000_000_000
    description.size = 1_304
    return description
  }

  @Test func `a snapshot`() throws {
    let bytes = try FormatPage.example("snapshot")
    let written = try BlockSample.snapshot(
      [("tasks", rows())], datastore: SnapshotFileTests.datastore, description: description())
    #expect(written == bytes)
    let disk = MemoryDisk()
    try disk.setBytes("/s.snap", bytes)
    _ = try SnapshotCheck.run("/s.snap", datastore: SnapshotFileTests.datastore, disk: disk) {
      _, _ in
    }
    var base = try BaseSnapshot(
      number: 1, reader: try SnapshotReader("/s.snap", disk: disk), budget: 0)
    #expect(base.description.vector == description().vector)
    #expect(base.description.size == 1_304)
    let place = try #require(try base.find(.text("milk"), table: 0))
    let block = try base.block(Int(place.block))
    #expect(block.content(0, base.fields) == ["done": .bool(false), "name": .string("Milk")])
    #expect(block.presence(0).dot.sequence == 1)
  }
}
