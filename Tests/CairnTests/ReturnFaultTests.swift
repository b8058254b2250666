import Cairn
import CairnDisk
import TestSupport
import Testing

/// The disk fails while a device comes back that the others have retired.
@Suite struct ReturnFaultTests {
  /// Such a device, which has written what only it has, and not heard of it. (One that has heard
  /// of it first, and then writes, is back under its name.)
  private struct Scene {
    let home: MemoryDisk
    let shared: MemoryDisk
    let other: MemoryDisk
    let name: String

    init() async throws {
      let bench = IdentityBench()
      let (a, b) = (try bench.open("a"), try bench.open("b"))
      try a.add("first")
      #expect(try await bench.settle([a, b]))
      name = a.device
      try b.retireDevice(name, givingUp: true)
      for _ in 0..<2 {
        try b.sync()
        try await b.exchange()
      }
      try a.add("only-here")
      try a.close()
      try b.close()
      (home, shared, other) = (
        bench.disk("a").snapshot(), bench.folder.snapshot(), bench.disk("b").snapshot()
      )
    }

    func fresh() -> IdentityBench {
      let bench = IdentityBench(seed: 5)
      bench.use(home.snapshot(), for: "a")
      bench.use(other.snapshot(), for: "b")
      bench.useFolder(shared.snapshot())
      return bench
    }
  }

  @discardableResult
  private func comeBack(
    _ a: Datastore, _ bench: IdentityBench, rounds: Int
  ) async throws -> String {
    var report = ""
    for _ in 0..<rounds {
      bench.clock.advance(by: 7)
      report = "\(try await a.exchange())"
      try a.sync()
    }
    return report
  }

  @Test func `a read that fails on the way back is told, or holds nothing up`() async throws {
    let scene = try await Scene()
    let place = scene.fresh()
    let whole = try place.open("a")
    var rounds = 0
    var report = ""
    while whole.device == scene.name {
      rounds += 1
      try #require(rounds < 9, "\(report)")
      report = try await comeBack(whole, place, rounds: 1)
    }
    var read = 0
    var failures = 0
    while true {
      read += 1
      let comment: Comment = "read \(read)"
      let bench = scene.fresh()
      let a = try bench.open("a")
      let disk = bench.disk("a")
      disk.failAt(read: disk.reads + read, reason: .io(errno: 5), forever: true)
      var isTold = false
      do { try await comeBack(a, bench, rounds: rounds) } catch { isTold = true }
      let isOver = disk.strikeCount == 0
      disk.heal()
      if isOver { break }
      if isTold { failures += 1 } else { #expect(a.device != scene.name, comment) }
      #expect(try a.ids() == ["first", "only-here"], comment)
      let b = try bench.open("b")
      #expect(try await bench.settle([a, b]), comment)
      #expect(a.device != scene.name, comment)
      try bench.expectEqual([a, b], comment)
      #expect(try b.ids() == ["first", "only-here"], comment)
    }
    #expect(failures > 20 && read > failures)
  }
}
