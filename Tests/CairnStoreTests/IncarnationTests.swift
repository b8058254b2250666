import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// A record whose incarnations were all deleted, each by somebody who knew no other: what somebody
/// wrote who had seen them all is alive, without any insert.
@Suite struct IncarnationTests {
  @Test func `a record that only a value keeps alive is there after a compaction, too`() throws {
    let devices = try (1...7).map { try StoreDevice(UInt64($0)) }
    let (origin, x, z, author, t, s, reader) = (
      devices[0], devices[1], devices[2], devices[3], devices[4], devices[5], devices[6])
    try origin.store.insert("r", ["a": 1])
    try origin.store.sync()
    let first = try origin.store.pack()
    for (device, field) in [(x, "b"), (z, "c")] {
      try device.store.sync(packs: [first])
      try device.store.delete("r")
      try device.store.insert("r", [field: 1])
      try device.store.sync()
    }
    let (px, pz) = (try x.store.pack(), try z.store.pack())
    try author.store.sync(packs: [first, px, pz])
    try author.store.set("r", ["u": 1])
    try author.store.sync()
    for (device, pack) in [(t, px), (s, pz)] {
      try device.store.sync(packs: [first, pack])
      try device.store.delete("r")
      try device.store.sync()
    }
    let all = [first, px, pz] + (try [author, t, s].map { try $0.store.pack() })
    try reader.store.sync(packs: all)
    #expect(try reader.store.get("r") == ["u": 1])
    let before = try StoreContent(reader.store)
    _ = try reader.store.compact()
    #expect(try reader.store.get("r") == ["u": 1])
    #expect(try reader.store.exists(table: "t", id: RecordName("r")))
    #expect(try StoreContent(reader.store) == before)
    try reader.reopen()
    #expect(try StoreContent(reader.store) == before)
    #expect(try reader.store.count(table: "t") == 1)
  }
}
