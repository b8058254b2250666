import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// What can be told of the deltas in the log of a closed store.
struct InspectedDeltaTests {
  @Test func `all of them are told in their order, own and fetched ones`() throws {
    let (a, b) = (try StoreDevice(1, time: 1000), try StoreDevice(2, time: 2000))
    try a.store.insert("r", ["n": 1, "s": "some text"])
    try a.store.sync()
    for id in ["x", "y"] {
      try b.store.insert(id, ["n": 1])
      try b.store.sync()
    }
    let pack = try b.store.pack()
    try a.store.sync(packs: [pack])
    try a.store.insert("q", ["n": 2])
    try a.store.insert("p")
    try a.store.sync()
    let (own, other) = (a.id, b.id)
    try a.store.close()
    let inspection = try StoreInspection(StoreDevice.directory, machine: a.machine)
    defer { inspection.close() }
    let segments = try inspection.segments()
    let segment = try #require(segments.first)
    let scan = try #require(segment.scan)
    try #require(segments.count == 1 && scan.frames.count == 3)
    var found: [StoreInspection.LoggedDelta] = []
    try inspection.deltas(segment) { found.append($0) }
    let dots = [(own, 1), (other, 1), (other, 2), (own, 2)] as [(DeviceID, UInt64)]
    #expect(found.map(\.dot) == dots.map { Dot(device: $0.0, sequence: $0.1) })
    try #require(found.count == 4)
    #expect(found.map(\.isFetched) == [false, true, true, false])
    #expect(found.map(\.time) == [1000, 2000, 2001, 1001])
    #expect(found.map(\.records) == [1, 1, 1, 2])
    #expect(found.map(\.cells) == [2, 1, 1, 1])
    #expect(found.map(\.tables) == [["t"], ["t"], ["t"], ["t"]])
    #expect(found.allSatisfy { $0.segment == segment.number })
    // What was fetched together is one frame.
    let frames = [0, 1, 1, 2].map { scan.frames[$0] }
    #expect(found.map(\.offset) == frames.map(\.offset))
    for index in [0, 3] {
      #expect(try found[index].bytes == frames[index].payload(scan.bytes).count)
    }
    // All of a pack but for its header.
    #expect(found[1].bytes + found[2].bytes == pack.count - 10)
  }
}
