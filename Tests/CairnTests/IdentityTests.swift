import CairnDisk
import CairnLog
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Copies of a device that go on by themselves become devices of their own, and nothing that either
/// has acknowledged is lost.
@Suite struct IdentityTests {
  private static let steps = 14

  /// A device that has lived for some steps, and another one that takes part.
  private func life(
    _ seed: UInt64, steps: Int
  ) async throws -> (IdentityBench, IdentityLife, Datastore) {
    let bench = IdentityBench(seed: seed)
    let life = try IdentityLife(bench, "a", seed: seed)
    try await life.begin()
    let other = try bench.open("c")
    for step in 0..<steps {
      try await life.step()
      if step % 4 == 1 { try await other.pull() }
    }
    return (bench, life, other)
  }

  @Test(arguments: 0...steps, [1, 2, 3] as [UInt64])
  func `a clone at any step goes on, and both are there in the end`(
    step: Int, seed: UInt64
  ) async throws {
    let (bench, a, other) = try await life(seed, steps: step)
    bench.clone("a", as: "b")
    let common = a.acknowledged
    let b = try IdentityLife(bench, "b", seed: seed + 100, like: a)
    #expect(a.device.device == b.device.device)
    for _ in 0..<12 {
      try await a.step()
      try await b.step()
    }
    try a.commit()
    try b.commit()
    #expect(try await bench.settle([a.device, b.device, other]))
    #expect(Set([a.device.device, b.device.device, other.device]).count == 3)
    let comment: Comment = "seed \(seed), step \(step)"
    try bench.expectEqual([a.device, b.device, other], comment)
    try IdentityLife.expect([(a, common), (b, common)], common: common, in: other, comment)
    let late = try bench.open("late")
    #expect(try await bench.settle([a.device, b.device, other, late]))
    try bench.expectEqual([a.device, b.device, other, late], comment)
  }

  @Test(arguments: 0...steps, [4, 5, 6] as [UInt64])
  func `a backup of any step can be restored, and what was published since is there`(
    step: Int, seed: UInt64
  ) async throws {
    let (bench, a, other) = try await life(seed, steps: step)
    let backup = bench.disk("a").snapshot()
    let common = a.acknowledged
    for _ in 0..<10 { try await a.step() }
    try a.commit()
    try await a.device.exchange()
    let before = a.device.device
    try a.device.close()
    bench.use(backup, for: "b")
    let b = try IdentityLife(bench, "b", seed: seed + 100)
    for _ in 0..<8 { try await b.step() }
    try b.commit()
    #expect(try await bench.settle([b.device, other]))
    let comment: Comment = "seed \(seed), step \(step)"
    try bench.expectEqual([b.device, other], comment)
    try IdentityLife.expect(
      [(a, common), (b, IdentityLife.Deeds())], common: common, in: other, comment)
    // Unless nothing was published after the backup, it has another name.
    if a.acknowledged != common { #expect(b.device.device != before, comment) }
  }

  /// A device and its copy, which was first in the folder with what it wrote.
  private func twins(_ bench: IdentityBench) async throws -> (a: Datastore, b: Datastore) {
    let a = try bench.open("a")
    try a.add("a")
    try await a.exchange()
    bench.clone("a", as: "b")
    let b = try bench.open("b")
    try b.add("of-b")
    try await b.exchange()
    try a.add("of-a")
    return (a, b)
  }

  @Test func `the app is told of the new name, and nobody is asked for anything`() async throws {
    let bench = IdentityBench()
    let (a, b) = try await twins(bench)
    let old = a.device
    let report = try await a.exchange()
    #expect(report.isRejoining && report.problems == [] && report.waiting == [])
    #expect(report.publishedFiles == 0)
    #expect(a.device == old && a.status.incoming && !a.status.needsReset)
    #expect(try a.ids() == ["a", "of-a"])
    let result = try a.sync()
    #expect(result.newDevice == a.device && a.device != old && b.device == old)
    #expect(result.changedRecords == ["t": ["of-b"]] && result.incorporated == 1)
    #expect(try a.ids() == ["a", "of-a", "of-b"])
    #expect(!a.status.incoming && a.status.uploading)
    #expect(try a.sync().newDevice == nil)
    #expect(try await a.exchange().publishedDeltas == 1)
    try await b.pull()
    #expect(try b.ids() == ["a", "of-a", "of-b"])
    try a.close()
    let again = try bench.open("a")
    #expect(again.device == a.device)
    #expect(try again.ids() == ["a", "of-a", "of-b"])
  }

  /// Snapshots have no device's name, and nobody else knows of one that no head came to name.
  @Test func `since when files are replaced is forgotten with the name that they have`()
    async throws
  {
    let bench = IdentityBench()
    let (a, _) = try await twins(bench)
    #expect(try await a.exchange().isRejoining)
    let exchanger = try #require(a.exchanger)
    let file = a.device + "-1-1-00.seg"
    let snapshot = FileName.sharedSnapshot(7)
    exchanger.memory.withLock { $0.histories.replaced = [file: 5, snapshot: 6] }
    #expect(try a.sync().newDevice != nil)
    let left = exchanger.memory.withLock { $0.histories.replaced }
    #expect(left == [snapshot: 6])
  }

  @Test func `two that notice each other both take a name`() async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.add("a")
    try await a.exchange()
    let old = a.device
    for name in ["b", "d"] { bench.clone("a", as: name) }
    let (b, d) = (try bench.open("b"), try bench.open("d"))
    for (name, device) in [("a", a), ("b", b), ("d", d)] { try device.add("of-" + name) }
    try await d.exchange()
    #expect(try await a.exchange().isRejoining)
    #expect(try await b.exchange().isRejoining)
    #expect(try await bench.settle([a, b, d]))
    #expect(d.device == old && Set([a.device, b.device, d.device]).count == 3)
    try bench.expectEqual([a, b, d])
    #expect(try a.ids() == ["a", "of-a", "of-b", "of-d"])
  }

  /// Two machines that came out of one image draw the same random numbers.
  @Test func `two devices that were born with one name`() async throws {
    let bench = IdentityBench()
    bench.use(SeededRandom(5), for: "a")
    bench.use(SeededRandom(5), for: "b")
    let (a, b, c) = (try bench.open("a"), try bench.open("b"), try bench.open("c"))
    #expect(a.device == b.device)
    try a.add("of-a")
    try b.add("of-b")
    try await c.exchange()
    try await a.exchange()
    // From here on their numbers are other ones.
    try b.close()
    bench.use(SeededRandom(6), for: "b")
    let again = try bench.open("b")
    #expect(again.device == a.device)
    #expect(try await bench.settle([again, a, c]))
    #expect(again.device != a.device)
    try bench.expectEqual([again, a, c])
    #expect(try c.ids() == ["of-a", "of-b"])
  }

  @Test func `what only a clone had is kept aside as it was, too`() async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.add("a")
    try await a.exchange()
    bench.clone("a", as: "b")
    let b = try bench.open("b")
    try b.add("of-b")
    try await b.exchange()
    try a.add("of-a")
    try await a.pull()
    let kept = bench.disk("a").paths().filter { $0.contains("/quarantine/") }
    #expect(kept.count == 2)
    let reason = try #require(kept.first { $0.hasSuffix(".reason") })
    let text = String(decoding: try #require(bench.disk("a").bytes(reason)), as: UTF8.self)
    #expect(text.contains("what only this copy of device \(b.device) had"))
  }

  @Test func `a clone waits until the folder has what it has`() async throws {
    let bench = IdentityBench()
    let (a, c) = (try bench.open("a"), try bench.open("c"))
    try c.add("c")
    try await c.exchange()
    try a.add("a")
    try await a.pull()
    try await a.exchange()
    bench.clone("a", as: "b")
    let b = try bench.open("b")
    try b.add("of-b")
    try await b.exchange()
    let segment = try #require(
      bench.folder.paths().first { $0.contains(c.device + "-") && $0.hasSuffix(".seg") })
    let bytes = try #require(bench.folder.bytes(segment))
    try bench.folder.remove(segment)
    try a.add("of-a")
    for _ in 0..<2 {
      let report = try await a.exchange()
      #expect(report.isRejoining && !report.waiting.isEmpty)
      #expect(try a.sync().newDevice == nil)
      #expect(try a.ids() == ["a", "c", "of-a"] && a.device == b.device)
    }
    try a.close()
    let again = try bench.open("a")
    try again.add("later")
    try bench.folder.setBytes(segment, bytes)
    try await again.exchange()
    #expect(try again.sync().newDevice != nil)
    #expect(try again.ids() == ["a", "c", "of-a", "of-b", "later"])
    #expect(try await bench.settle([again, b, c]))
    try bench.expectEqual([again, b, c])
  }

  @Test func `a clone finds its folder when another device's cairn.json has won`() async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.add("a")
    try await a.exchange()
    try a.close()
    bench.clone("a", as: "b")
    // Another device had made the folder at the same time.
    try bench.folder.setBytes("/folder/cairn.json", FolderIdentity.encode(7))
    let (again, b) = (try bench.open("a"), try bench.open("b"))
    try again.add("of-a")
    try await again.exchange()
    try b.add("of-b")
    #expect(try await bench.settle([again, b]))
    #expect(again.device != b.device)
    try bench.expectEqual([again, b])
    #expect(try b.ids() == ["a", "of-a", "of-b"])
  }

  @Test func `a folder that was left long ago is another one`() async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.add("a")
    try await a.exchange()
    let left = bench.folder.snapshot()
    try left.setBytes("/folder/cairn.json", FolderIdentity.encode(7))
    try a.add("more")
    try await a.exchange()
    try a.close()
    bench.useFolder(left)
    let again = try bench.open("a")
    let error = await #expect(throws: CairnError.self) { try await again.exchange() }
    #expect(error?.code == .disallowed)
  }

  @Test func `a folder in use whose cairn.json is missing is waited for by a new device`()
    async throws
  {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.add("a")
    try await a.exchange()
    let bytes = try #require(bench.folder.bytes("/folder/cairn.json"))
    try bench.folder.remove("/folder/cairn.json")
    let b = try bench.open("b")
    let error = await #expect(throws: CairnError.self) { try await b.exchange() }
    #expect(error?.code == .retryLater && error?.file == "cairn.json")
    #expect(bench.folder.bytes("/folder/cairn.json") == nil)
    try bench.folder.setBytes("/folder/cairn.json", bytes)
    #expect(try await bench.settle([a, b]))
    try bench.expectEqual([a, b])
    #expect(bench.folder.bytes("/folder/cairn.json") == bytes)
  }
}
