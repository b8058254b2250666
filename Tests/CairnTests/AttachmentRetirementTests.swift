import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Contents and objects where a device was retired: it keeps nothing back, unless it returns.
@Suite struct AttachmentRetirementTests {
  private let bench = IdentityBench(seed: 31)

  /// Three devices that have a photo; then `c` is away, and `a` has deleted the record.
  private func threeDevices() async throws -> (a: Datastore, b: Datastore, c: Datastore) {
    let (a, b, c) = (try bench.open("a"), try bench.open("b"), try bench.open("c"))
    try a.addPhoto("r", sample(1))
    try await bench.settle([a, b, c])
    // Each has said what it knows, and has something that the others wait for.
    try b.add("of-b")
    try c.add("of-c")
    #expect(try await bench.settle([a, b, c]))
    try a.table("t").record("r")?.delete()
    try a.sync()
    #expect(try await bench.settle([a, b]))
    return (a, b, c)
  }

  @Test func `a retired device keeps no content in the folder, once the others have agreed`()
    async throws
  {
    let (a, b, c) = try await threeDevices()
    #expect(try await a.collectAttachments(graceSeconds: 0).unacknowledged == 1)
    try a.retireDevice(c.device)
    try a.sync()
    try await a.exchange()
    // B may still have something of it that counts.
    #expect(a.store.cuts.cuts.map(\.isSealed) == [false])
    #expect(try await a.collectAttachments(graceSeconds: 0).unacknowledged == 1)
    #expect(try await bench.settle([a, b]))
    let result = try await a.collectAttachments(graceSeconds: 0)
    #expect(result.removedInFolder == 1 && result.unacknowledged == 0)
    for device in [a, b, c] { try device.close() }
  }

  @Test(arguments: [false, true])
  func `a head that a lost device never mends keeps no content`(isHalf: Bool) async throws {
    let (first, second, c) = try await threeDevices()
    let path = "/folder/p-notes/\(c.device).head"
    try first.retireDevice(c.device)
    #expect(try await bench.settle([first, second]))
    var bytes = try #require(bench.folder.bytes(path))
    if isHalf { bytes = Array(bytes.prefix(20)) } else { bytes[40] ^= 1 }
    for device in [first, second, c] { try device.close() }
    bench.clock.advance(by: 60_000)
    try bench.folder.setBytes(path, bytes)
    let a = try bench.open("a")
    // What is only half there may still be on its way.
    let early = try await a.collectAttachments(graceSeconds: 0)
    #expect(early.unacknowledged == (isHalf ? 1 : 0))
    for _ in 0..<3 { try await a.exchange() }
    let late = try await a.collectAttachments(graceSeconds: 0)
    #expect(early.removedInFolder + late.removedInFolder == 1)
    #expect(late.unacknowledged == 0)
    try a.close()
  }

  @Test func `a retired device that is back is asked again`() async throws {
    let (a, b, c) = try await threeDevices()
    try a.retireDevice(c.device)
    #expect(try await bench.settle([a, b]))
    // It has nothing to say, and has the others' agreement.
    #expect(try await bench.settle([c, a, b]))
    #expect(a.store.retired.count == 1)
    try b.addPhoto("s", sample(2))
    #expect(try await bench.settle([a, b, c]))
    // Once it was looked at in use, it is not kept any more for having been attached just now.
    _ = try await b.collectAttachments(graceSeconds: 0)
    try b.table("t").record("s")?.delete()
    try b.sync()
    #expect(try await bench.settle([a, b]))
    #expect(try await b.collectAttachments(graceSeconds: 0).unacknowledged == 1)
    #expect(try await bench.settle([a, b, c]))
    #expect(try await b.collectAttachments(graceSeconds: 0).removedInFolder == 1)
    for device in [a, b, c] { try device.close() }
  }

  @Test func `a photo of a retired device that returns is there with its record`() async throws {
    let (a, b, c) = try await threeDevices()
    try c.addPhoto("mine", sample(3))
    try await c.exchange()
    try c.addPhoto("late", sample(4))
    let old = c.device
    try a.retireDevice(old)
    #expect(try await bench.settle([a, b]))
    #expect(try await bench.settle([c, a, b]), "\(bench.unrest)")
    #expect(c.device != old)
    for device in [a, b, c] {
      try await device.pullAll()
      #expect(try device.content(of: "mine") == sample(3))
      #expect(try device.content(of: "late") == sample(4))
    }
    // What is in use stays.
    _ = try await a.collectAttachments(graceSeconds: 0)
    _ = try await c.collectAttachments(graceSeconds: 0)
    let new = try bench.open("new")
    #expect(try await bench.settle([new, a, b, c]))
    #expect(try new.content(of: "mine") == sample(3))
    #expect(try new.content(of: "late") == sample(4))
    for device in [a, b, c, new] { try device.close() }
  }
}
