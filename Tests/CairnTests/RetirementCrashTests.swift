import CairnDisk
import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// The power fails at every step of the disk while a device cuts, retires another one or returns,
/// and whatever could be left goes on from there. And copies of devices beside a cut.
@Suite struct RetirementCrashTests {
  /// Two devices that have retired a third one, which has edits that nobody has seen.
  private struct Scene {
    let bench = IdentityBench()
    let disks: [String: MemoryDisk]
    let shared: MemoryDisk

    /// `isRetired`: whether that has happened already.
    init(isRetired: Bool) async throws {
      bench.options.segmentBytes = 2000
      let (a, b, away) = (try bench.open("a"), try bench.open("b"), try bench.open("away"))
      try a.table("t").setRule(.sum, field: "n")
      try a.table("t").insert(["n": 10], id: "r")
      for id in ["gone", "kept"] { try a.add(id) }
      try await bench.settle([a, b, away])
      try away.add("published")
      try await away.exchange()
      try away.table("t").record("r")?.set("n", 15)
      try away.table("t").record("gone")?.set("text", "edited")
      try away.add("unpublished")
      try away.close()
      try a.table("t").record("r")?.set("n", 12)
      try a.table("t").record("gone")?.delete()
      try a.sync()
      if isRetired {
        try a.retireDevice(away.device)
        try await bench.settle([a, b])
        #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
      }
      try a.close()
      try b.close()
      disks = Dictionary(
        uniqueKeysWithValues: ["a", "b", "away"].map { [bench] in ($0, bench.disk($0).snapshot()) })
      shared = bench.folder.snapshot()
    }

    func again(seed: UInt64) -> IdentityBench {
      let again = IdentityBench(seed: seed)
      again.options = bench.options
      for (name, disk) in disks { again.use(disk.snapshot(), for: name) }
      again.useFolder(shared.snapshot())
      return again
    }
  }

  private func goOn(
    _ scene: Scene, _ name: String, _ left: MemoryDisk, _ others: IdentityBench,
    _ comment: Comment
  ) async throws {
    let bench = scene.again(seed: 8)
    for other in ["a", "b", "away"] { bench.use(others.disk(other).snapshot(), for: other) }
    bench.use(left, for: name)
    bench.useFolder(others.folder.snapshot())
    let devices = [try bench.open("a"), try bench.open("b"), try bench.open("away")]
    #expect(try await bench.settle(devices), comment)
    try bench.expectEqual(devices, comment)
    #expect(try devices[1].ids() == ["r", "kept", "published", "unpublished"], comment)
    #expect(try devices[1].table("t").record("r")?.int("n") == 17, comment)
  }

  private func crashEverywhere(
    _ scene: Scene, _ name: String, least: Int, _ act: (IdentityBench) async throws -> Void
  ) async throws {
    let whole = scene.again(seed: 7)
    let start = whole.disk(name).operations
    try await act(whole)
    let count = whole.disk(name).operations - start
    #expect(count > least)
    try await goOn(scene, name, whole.disk(name).snapshot(), whole, "no power cut")
    var seen: Set<Int> = []
    for step in 1...(count + 1) {
      let bench = scene.again(seed: 7)
      let disk = bench.disk(name)
      disk.powerOff(before: disk.operations + step)
      do { try await act(bench) } catch { try #require(disk.isOff, "\(error)") }
      for model in [CrashModel.nothingUnsynced, .everything] {
        let left = disk.crash(keep: model)
        let print = left.fingerprint() ^ bench.folder.fingerprint()
        if !seen.insert(print).inserted { continue }
        try await goOn(scene, name, left, bench, "power off before step \(step), \(model)")
      }
    }
    #expect(seen.count > least / 2)
  }

  @Test func `a power cut at any step of cutting and retiring loses nothing`() async throws {
    let scene = try await Scene(isRetired: false)
    let lost = try scene.again(seed: 6).open("away").device
    try await crashEverywhere(scene, "a", least: 40) { bench in
      let (a, b) = (try bench.open("a"), try bench.open("b"))
      defer { try? b.close() }
      // Nobody is retired who was never heard of.
      try await a.exchange()
      try a.retireDevice(lost, givingUp: true)
      try a.sync()
      try await a.exchange()
      try await b.pull()
      try await b.exchange()
      try await a.pull()
      try a.sync()
      try await a.exchange()
      try a.compact()
    }
  }

  @Test func `a power cut at any step of a return loses nothing`() async throws {
    let scene = try await Scene(isRetired: true)
    try await crashEverywhere(scene, "away", least: 60) { bench in
      let away = try bench.open("away")
      for _ in 0..<3 { try await away.pull() }
      try await away.exchange()
      try away.compact()
    }
  }

  // MARK: copies

  @Test func `a backup that is put back beside a cut keeps what it had, once`() async throws {
    let bench = IdentityBench()
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.table("t").setRule(.sum, field: "n")
    try a.table("t").insert(["n": 1], id: "r")
    try await bench.settle([a, b])
    try b.close()
    bench.clone("b", as: "backup")
    let again = try bench.open("b")
    try again.table("t").record("r")?.set("n", 11)
    try again.add("of-b")
    try await bench.settle([a, again])
    try a.askToForget()
    try await bench.settle([a, again])
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    // It has not seen the cut, and neither has what it writes now.
    let backup = try bench.open("backup")
    try backup.table("t").record("r")?.set("n", 101)
    try backup.add("of-backup")
    #expect(try await bench.settle([backup, a, again]))
    #expect(backup.device != again.device)
    try bench.expectEqual([a, again, backup])
    #expect(try a.ids() == ["r", "of-b", "of-backup"])
    #expect(try a.table("t").record("r")?.int("n") == 111)
    // The other copy's name is not retired for it.
    #expect(a.store.retired.isEmpty)
  }

  @Test func `a clone that knows the cut goes on like any clone`() async throws {
    let bench = IdentityBench()
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.add("begin")
    try b.add("begin-b")
    try await bench.settle([a, b])
    try a.askToForget()
    try await bench.settle([a, b])
    #expect(b.store.cuts.cuts.map(\.isSealed) == [true])
    try b.close()
    bench.clone("b", as: "clone")
    let (again, clone) = (try bench.open("b"), try bench.open("clone"))
    try again.add("of-b")
    try await again.exchange()
    try clone.add("of-clone")
    #expect(try await bench.settle([clone, a, again]))
    try bench.expectEqual([a, again, clone])
    #expect(try a.ids() == ["begin", "begin-b", "of-b", "of-clone"])
  }
}
