import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Folders that go back to an older state, or lose files: what they have lost is published again.
@Suite struct RollbackTests {
  @Test(arguments: 1..<8)
  func `a folder that was rolled back to any state gets back what it had`(step: Int) async throws {
    let bench = IdentityBench()
    let (a, c) = (try bench.open("a"), try bench.open("c"))
    var old = bench.folder.snapshot()
    for index in 0..<8 {
      if index == step { old = bench.folder.snapshot() }
      try a.add("a\(index)")
      try await a.exchange()
      try await c.pull()
      if index % 3 == 1 { try c.add("c\(index)") }
      try await c.exchange()
      try await a.pull()
    }
    let names = (a.device, c.device)
    let before = try content(a)
    bench.clear(bench.folder)
    for path in old.paths() { try bench.folder.setBytes(path, old.bytes(path) ?? []) }
    var republished = 0
    for _ in 0..<4 {
      for device in [a, c] {
        let report = try await device.pull()
        #expect(!report.isRejoining && report.problems == [])
        republished += report.republishedFiles
      }
    }
    #expect((a.device, c.device) == names && republished > 0)
    #expect(try content(a) == before && content(c) == before)
    let late = try bench.open("late")
    #expect(try await bench.settle([a, c, late]))
    try bench.expectEqual([a, c, late])
  }

  /// A device that has lost its last delta, which is published.
  private func loser(_ bench: IdentityBench) async throws -> Datastore {
    let first = try bench.open("a")
    for id in ["kept", "lost"] {
      try first.add(id)
      try await first.exchange()
    }
    try first.close()
    // The frame of the last sync, which nothing else vouches for: it looks like a torn tail.
    let path = try #require(bench.disk("a").paths().last { $0.hasSuffix(".seg") })
    let count = try #require(bench.disk("a").bytes(path)).count
    try bench.disk("a").corrupt(path, count - 20, xor: 1)
    let a = try bench.open("a")
    #expect(a.recoveryNotes.count == 1)
    #expect(try a.ids() == ["kept"])
    return a
  }

  @Test func `what the own log has lost comes back from the folder`() async throws {
    let bench = IdentityBench()
    let (a, b) = (try await loser(bench), try bench.open("b"))
    #expect(try await bench.settle([a, b]))
    #expect(try a.ids() == ["kept", "lost"])
    try a.add("next")
    #expect(try await bench.settle([a, b]))
    #expect(try b.ids() == ["kept", "lost", "next"])
    try bench.expectEqual([a, b])
  }

  @Test func `a commit over what the own log has lost is published, too`() async throws {
    let bench = IdentityBench()
    let (a, b) = (try await loser(bench), try bench.open("b"))
    try a.add("next")
    #expect(try await bench.settle([a, b]))
    #expect(try a.ids() == ["kept", "lost", "next"])
    try bench.expectEqual([a, b])
  }

  @Test func `a lost file is written again under its name, byte for byte`() async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    for index in 0..<3 {
      try a.add("a\(index)")
      try await a.exchange()
    }
    let segments = bench.folder.paths().filter { $0.hasSuffix(".seg") }
    let bytes = try #require(bench.folder.bytes(segments[1]))
    try bench.folder.remove(segments[1])
    // A listing may lag behind: it has to be missing twice.
    #expect(try await a.exchange().republishedFiles == 0)
    #expect(try await a.exchange().republishedFiles == 1)
    #expect(bench.folder.bytes(segments[1]) == bytes)
    #expect(bench.folder.paths().filter { $0.hasSuffix(".seg") } == segments)
    #expect(try await a.exchange().isIdle)
  }

  @Test func `what the log does not have any more is given back in a snapshot`() async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.add("a")
    try await a.exchange()
    try a.compact()
    let segment = try #require(bench.folder.paths().first { $0.hasSuffix(".seg") })
    try bench.folder.remove(segment)
    try await a.exchange()
    let report = try await a.exchange()
    #expect(report.publishedSnapshot && report.problems.isEmpty)
    #expect(try a.ids() == ["a"])
    let b = try bench.open("b")
    try await b.exchange()
    try b.sync()
    #expect(try b.ids() == ["a"])
  }

  @Test func `an older head of ours is no clone`() async throws {
    let bench = IdentityBench()
    var a = try bench.open("a")
    try a.add("a")
    try await a.exchange()
    let head = try #require(bench.folder.paths().first { $0.hasSuffix(".head") })
    let old = try #require(bench.folder.bytes(head))
    for index in 0..<3 {
      try a.add("a\(index)")
      try await a.exchange()
    }
    for reopens in [false, true] {
      if reopens {
        try a.close()
        a = try bench.open("a")
      }
      let device = a.device
      try bench.folder.setBytes(head, old)
      let report = try await a.pull()
      #expect(!report.isRejoining && a.device == device && bench.folder.bytes(head) != old)
    }
    let late = try bench.open("late")
    try await late.pull()
    #expect(try late.ids() == ["a", "a0", "a1", "a2"])
  }

  // MARK: while a device is restored

  /// A folder that was taken back to before the first deltas of a device, and so was the device, as
  /// "b". "c" has read them, and written on top of them.
  private func takenBack(_ bench: IdentityBench) async throws -> (c: Datastore, old: String) {
    let c = try bench.open("c")
    try await c.pull()
    try bench.open("a").close()
    bench.clone("a", as: "b")
    let a = try bench.open("a")
    for number in 0..<2 { try a.add("a\(number)") }
    try await a.exchange()
    try await c.pull()
    try c.add("c0")
    let old = a.device
    try a.close()
    for path in bench.folder.paths() where path.contains("/\(old)") {
      try bench.folder.remove(path)
    }
    return (c, old)
  }

  private func meet(_ bench: IdentityBench, _ devices: [Datastore], rounds: Int) async throws {
    for _ in 0..<rounds {
      for device in devices {
        bench.clock.advance(by: 7)
        try await device.pull()
      }
    }
  }

  /// The head that is written for the old name tells of nothing, and nobody goes on under that.
  /// Simulation seed 43827.
  @Test(arguments: [false, true])
  func `what only others' words tell of is given by one of them`(isReopened: Bool) async throws {
    let bench = IdentityBench()
    var (c, old) = try await takenBack(bench)
    try await c.exchange()
    let b = try bench.open("b")
    try #require(b.device == old)
    try b.add("b0")
    try await meet(bench, [b], rounds: 6)
    try #require(try b.device != old && b.ids() == ["b0"])
    // Without that, both would be different and have nothing to say.
    #expect(try await b.exchange().waiting.contains { $0.reason.hasPrefix("it builds on") })
    if isReopened {
      try c.close()
      c = try bench.open("c")
    }
    try await meet(bench, [c, b], rounds: 3)
    let late = try bench.open("late")
    #expect(try await bench.settle([b, c, late]), "\(bench.unrest)")
    try bench.expectEqual([b, c, late])
    #expect(try late.ids() == ["a0", "a1", "b0", "c0"])

    // Whoever is put together anew later needs that snapshot, too.
    try c.close()
    bench.clone("c", as: "d")
    c = try bench.open("c")
    try c.add("c1")
    try await c.exchange()
    let d = try bench.open("d")
    try d.add("d0")
    try await meet(bench, [d, c, b, late], rounds: 8)
    #expect(d.device != c.device)
    #expect(try await bench.settle([b, c, d, late]), "\(bench.unrest)")
    try bench.expectEqual([b, c, d, late])
    #expect(try d.ids() == ["a0", "a1", "b0", "c0", "c1", "d0"])
  }

  /// The word comes after the first round of the process, which goes by what it has found there.
  @Test(arguments: [1, 2, 3])
  func `a snapshot with deltas of the own name that are not from here is not joined`(
    count: Int
  ) async throws {
    let bench = IdentityBench()
    let (c, old) = try await takenBack(bench)
    let b = try bench.open("b")
    try await b.exchange()
    try #require(b.device == old)
    try c.compact()
    try await meet(bench, [c], rounds: 12)
    try #require(bench.folder.paths().contains { $0.hasSuffix(".snap") })
    for number in 0..<count { try b.add("b\(number)") }
    let own = Set((0..<count).map { "b\($0)" })
    for _ in 0..<8 {
      try await meet(bench, [b], rounds: 1)
      #expect(try b.ids().isSuperset(of: own))
    }
    try await meet(bench, [b, c], rounds: 8)
    #expect(b.device != old)
    #expect(try await bench.settle([b, c]), "\(bench.unrest)")
    try bench.expectEqual([b, c])
    #expect(try b.ids() == own.union(["a0", "a1", "c0"]))
  }

  @Test func `a name of which others have deltas is left before the first one is published`()
    async throws
  {
    let bench = IdentityBench()
    let (c, old) = try await takenBack(bench)
    let b = try bench.open("b")
    try await b.exchange()
    try b.add("b0")
    // The word comes after the first round, and before there is anything of the new history.
    try await c.exchange()
    #expect(try await b.exchange().publishedDeltas == 0)
    try await meet(bench, [b, c], rounds: 8)
    #expect(b.device != old)
    #expect(!bench.folder.paths().contains { $0.contains("/\(old)-") })
    #expect(try await bench.settle([b, c]), "\(bench.unrest)")
    try bench.expectEqual([b, c])
    #expect(try b.ids() == ["a0", "a1", "b0", "c0"])
  }

  // MARK: what was lost and is there again

  private func gaps(_ device: Datastore) throws -> [ClosedRange<UInt64>] {
    try #require(device.exchanger).memory.withLock { $0.own }.gaps
  }

  private func named(_ device: Datastore) throws -> [String] {
    try #require(device.exchanger).memory.withLock { $0.own }.segments
      .map { "\($0.first)-\($0.last)" }
  }

  /// A device that has published two deltas, a file each, and whose head has given up the first
  /// one: no listing has it, and a compaction has dropped its delta from the log.
  private func gapped(
    _ bench: IdentityBench
  ) async throws -> (a: Datastore, path: String, bytes: [UInt8]) {
    let a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    let path = try #require(bench.folder.paths().first { $0.hasSuffix(".seg") })
    try a.add("a1")
    for _ in 0..<2 { try await a.exchange() }
    try a.compact()
    let bytes = try #require(bench.folder.bytes(path))
    try bench.folder.remove(path)
    for _ in 0..<2 { try await a.exchange() }
    try #require(try gaps(a) == [1...1])
    return (a, path, bytes)
  }

  @Test(arguments: [false, true])
  func `a file that comes back after the head has given it up is named again, and stays`(
    isReopened: Bool
  ) async throws {
    let bench = IdentityBench()
    let (first, path, bytes) = try await gapped(bench)
    var a = first
    if isReopened {
      try a.close()
      a = try bench.open("a")
    }
    try bench.folder.setBytes(path, bytes)
    try await a.exchange()
    #expect(try gaps(a) == [])
    for _ in 0..<3 { #expect(try await a.exchange().isIdle) }
    #expect(bench.folder.bytes(path) == bytes)
    #expect(try await a.repairFolder(dryRun: true).wasWhole)
    let late = try bench.open("late")
    #expect(try await bench.settle([a, late]))
    try bench.expectEqual([a, late])
  }

  @Test func `half a file that comes back stays until the rest is there`() async throws {
    let bench = IdentityBench()
    let (a, path, bytes) = try await gapped(bench)
    let half = Array(bytes.prefix(bytes.count / 2))
    try bench.folder.setBytes(path, half)
    for _ in 0..<4 { try await a.exchange() }
    for _ in 0..<4 {
      bench.clock.advance(by: 1000)
      let report = try await a.exchange()
      #expect(report.waiting == [] && report.problems == [])
    }
    #expect(bench.folder.bytes(path) == half)
    #expect(try gaps(a) == [1...1])
    try bench.folder.setBytes(path, bytes)
    try await a.exchange()
    #expect(try gaps(a) == [])
  }

  @Test func `a file with other deltas than were published is not named, and goes`() async throws {
    let bench = IdentityBench()
    try bench.open("a").close()
    bench.clone("a", as: "b")
    let (a, path, _) = try await gapped(bench)
    bench.view("other", of: "b")
    let b = try bench.open("b")
    try b.add("b0")
    try await b.exchange()
    try #require(b.device == a.device)
    let other = bench.disk("folder other")
    let strange = try #require(other.paths().first { $0.hasSuffix(".seg") })
    try #require(strange != path && strange.contains("-1-1-"))
    try bench.folder.setBytes(strange, try #require(other.bytes(strange)))
    for _ in 0..<2 { try await a.exchange() }
    #expect(bench.folder.bytes(strange) == nil)
    #expect(try gaps(a) == [1...1])
  }

  /// One that they were merged into was acknowledged and is stored late, if ever. Simulation seed
  /// 36543.
  @Test func `files that were merged into a lost one stay, and take its place`() async throws {
    let bench = IdentityBench()
    bench.options.graceSeconds = 60
    bench.options.tuning.smallFileRun = 4
    let a = try bench.open("a")
    for number in 0..<4 {
      try a.add("a\(number)")
      try await a.exchange()
    }
    try await a.exchange()
    let own = bench.folder.paths().filter { $0.hasSuffix(".seg") }
    let merged = try #require(own.first { $0.contains("-1-4-") })
    try #require(own.count == 5)
    try a.compact()
    let bytes = try #require(bench.folder.bytes(merged))
    try bench.folder.remove(merged)
    // Their grace is over.
    bench.clock.advance(by: 120_000)
    for _ in 0..<2 { try await a.exchange() }
    #expect(try gaps(a) == [1...4])
    for path in own where path != merged { #expect(bench.folder.bytes(path) != nil) }
    // They are named, and merged once more.
    for _ in 0..<2 { try await a.exchange() }
    #expect(try gaps(a) == [])
    #expect(bench.folder.bytes(merged) == bytes)
    bench.clock.advance(by: 120_000)
    for _ in 0..<2 { try await a.exchange() }
    bench.clock.advance(by: 120_000)
    for _ in 0..<2 { try await a.exchange() }
    #expect(bench.folder.paths().filter { $0.hasSuffix(".seg") } == [merged])
    #expect(try await a.exchange().isIdle)
    let late = try bench.open("late")
    #expect(try await bench.settle([a, late]))
    try bench.expectEqual([a, late])
  }

  @Test func `a file that comes late takes the place of one that is merged in it`() async throws {
    let bench = IdentityBench()
    bench.options.graceSeconds = 60
    bench.options.tuning.smallFileRun = 2
    let a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    // More than the first one, or that would not be merged with it.
    let table = try a.table("t")
    for number in 1..<50 { try table.insert(["n": 1], id: RecordID("r\(number)")) }
    try a.sync()
    for _ in 0..<2 { try await a.exchange() }
    let own = bench.folder.paths().filter { $0.hasSuffix(".seg") }
    let merged = try #require(own.first { $0.contains("-1-2-") })
    let first = try #require(own.first { $0.contains("-1-1-") })
    let second = try #require(own.first { $0.contains("-2-2-") })
    try a.compact()
    let bytes = try #require(bench.folder.bytes(merged))
    for path in [merged, first] { try bench.folder.remove(path) }
    for _ in 0..<3 { try await a.exchange() }
    try #require(try gaps(a) == [1...1] && named(a) == ["2-2"])
    try bench.folder.setBytes(merged, bytes)
    try await a.exchange()
    #expect(try gaps(a) == [] && named(a) == ["1-2"])
    #expect(bench.folder.bytes(second) != nil)
    bench.clock.advance(by: 120_000)
    for _ in 0..<2 { try await a.exchange() }
    #expect(bench.folder.paths().filter { $0.hasSuffix(".seg") } == [merged])
    #expect(try await a.exchange().isIdle)
    #expect(try await a.repairFolder(dryRun: true).wasWhole)
    let late = try bench.open("late")
    #expect(try await bench.settle([a, late]))
    try bench.expectEqual([a, late])
  }
}
