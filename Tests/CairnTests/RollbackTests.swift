import Cairn
import CairnDisk
import TestSupport
import Testing

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
}
