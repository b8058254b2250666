import Cairn
import CairnDisk
import TestSupport
import Testing

/// The power fails at every step of the disk while a device takes its new name, and whatever could
/// be left goes on from there.
@Suite struct RejoinCrashTests {
  /// A device that has a twin, and has not noticed yet.
  private struct Scene {
    let bench = IdentityBench()
    let home: MemoryDisk
    let shared: MemoryDisk
    let twin: MemoryDisk

    init() async throws {
      bench.options.segmentBytes = 2000
      let a = try bench.open("a")
      try a.table("t").setRule(.sum, field: "n")
      try a.table("t").insert(["n": 1, "l": .list(["x"])], id: "r")
      try a.sync()
      try await a.exchange()
      bench.clone("a", as: "b")
      let b = try bench.open("b")
      try b.table("t").record("r")?.set("n", 11)
      try b.table("t").record("r")?.list("l").append("of-b")
      try b.add("of-b")
      try await b.exchange()
      try b.close()
      for index in 0..<3 {
        try a.table("t").record("r")?.set("n", .int(Int64(101 + 100 * index)))
        try a.table("t").record("r")?.list("l").append(.string("of-a\(index)"))
        try a.add("of-a\(index)")
        if index == 1 { try a.compact() }
      }
      try a.close()
      home = bench.disk("a").snapshot()
      shared = bench.folder.snapshot()
      twin = bench.disk("b").snapshot()
    }
  }

  /// What happens on the disk that fails.
  private func rejoin(_ a: Datastore) async throws {
    try await a.exchange()
    try a.add("pending")
    try await a.exchange()
    try a.sync()
    try a.compact()
  }

  @Test func `a power cut at any step of a rejoin loses nothing`() async throws {
    let scene = try await Scene()
    let whole = IdentityBench(seed: 7)
    whole.options = scene.bench.options
    whole.use(scene.home.snapshot(), for: "a")
    whole.useFolder(scene.shared.snapshot())
    let a = try whole.open("a")
    let opened = whole.disk("a").operations
    try await rejoin(a)
    let count = whole.disk("a").operations - opened
    #expect(count > 60)
    var seen: Set<Int> = []
    for step in 1...(count + 1) {
      let bench = IdentityBench(seed: 7)
      bench.options = scene.bench.options
      bench.use(scene.home.snapshot(), for: "a")
      bench.useFolder(scene.shared.snapshot())
      let a = try bench.open("a")
      let disk = bench.disk("a")
      disk.powerOff(before: disk.operations + step)
      do { try await rejoin(a) } catch { try #require(disk.isOff, "\(error)") }
      let folder = bench.folder.snapshot()
      for model in [CrashModel.nothingUnsynced, .everything, .subset(3), .torn(4)] {
        let left = disk.crash(keep: model)
        if !seen.insert(left.fingerprint() ^ folder.fingerprint()).inserted { continue }
        let comment: Comment = "power off before step \(step), \(model)"
        try await goOn(left, folder.snapshot(), scene, comment)
      }
    }
    #expect(seen.count > count)
  }

  private func goOn(
    _ left: MemoryDisk, _ folder: MemoryDisk, _ scene: Scene, _ comment: Comment
  ) async throws {
    let bench = IdentityBench(seed: 8)
    bench.options = scene.bench.options
    bench.use(left, for: "a")
    bench.use(scene.twin.snapshot(), for: "b")
    bench.useFolder(folder)
    let (a, b, c) = (try bench.open("a"), try bench.open("b"), try bench.open("c"))
    #expect(try await bench.settle([a, b, c]), comment)
    #expect(a.device != b.device, comment)
    try bench.expectEqual([a, b, c], comment)
    #expect(try c.ids().isSuperset(of: ["of-a0", "of-a1", "of-a2", "of-b"]), comment)
    let record = try #require(try c.table("t").record("r"))
    #expect(try record.int("n") == 311, comment)
    #expect(try Set(record.list("l").values) == ["x", "of-b", "of-a0", "of-a1", "of-a2"], comment)
    try a.close()
    let again = try bench.open("a")
    #expect(try content(again) == content(c), comment)
  }

  @Test func `a disk that fails a step of a rejoin, and then goes on`() async throws {
    let scene = try await Scene()
    var strikes = 0
    for step in stride(from: 1, through: 140, by: 3) {
      let bench = IdentityBench(seed: 9)
      bench.options = scene.bench.options
      bench.use(scene.home.snapshot(), for: "a")
      bench.use(scene.twin.snapshot(), for: "b")
      bench.useFolder(scene.shared.snapshot())
      var a = try bench.open("a")
      let disk = bench.disk("a")
      disk.failAt(operation: disk.operations + step, reason: .noSpace)
      do { try await rejoin(a) } catch {}
      if disk.strikeCount > 0 { strikes += 1 }
      disk.heal()
      // Whether it goes on or has to be opened again, it says so.
      do throws(CairnError) { try a.sync() } catch {
        #expect(error.code == .syncFailed, "step \(step)")
        try? a.close()
        a = try bench.open("a")
      }
      let b = try bench.open("b")
      #expect(try await bench.settle([a, b]), "step \(step)")
      try bench.expectEqual([a, b], "step \(step)")
      #expect(try b.table("t").record("r")?.int("n") == 311, "step \(step)")
      #expect(try b.ids().isSuperset(of: ["of-a0", "of-a1", "of-a2", "of-b"]), "step \(step)")
    }
    #expect(strikes >= 20)
  }

  @Test func `a read that fails while a device takes its new name leaves it one of the two`()
    async throws
  {
    let scene = try await Scene()
    var failures = 0
    var read = 0
    while true {
      read += 1
      let bench = IdentityBench(seed: 9)
      bench.options = scene.bench.options
      bench.use(scene.home.snapshot(), for: "a")
      bench.use(scene.twin.snapshot(), for: "b")
      bench.useFolder(scene.shared.snapshot())
      var a = try bench.open("a")
      try await a.exchange()
      try await a.exchange()
      let disk = bench.disk("a")
      disk.failAt(read: disk.reads + read, reason: .io(errno: 5))
      do {
        try a.sync()
        if disk.strikeCount == 0 { break }
      } catch { failures += 1 }
      disk.heal()
      // It goes on in the same process, and forgets what it takes for published.
      for index in 0..<2 {
        try a.sync()
        try await a.exchange()
        try a.add("later\(index)")
      }
      try a.compact()
      try await a.exchange()
      try a.compact()
      try a.close()
      a = try bench.open("a")
      let (b, c) = (try bench.open("b"), try bench.open("c"))
      let comment: Comment = "read \(read)"
      #expect(try await bench.settle([a, b, c]), comment)
      try bench.expectEqual([a, b, c], comment)
      #expect(try c.table("t").record("r")?.int("n") == 311, comment)
      #expect(try c.ids().isSuperset(of: ["of-a2", "of-b", "later0", "later1"]), comment)
    }
    #expect(failures > 20 && read > failures)
  }
}
