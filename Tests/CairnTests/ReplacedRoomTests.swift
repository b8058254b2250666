import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Own files that were replaced, in a folder that is full: they make room once their grace is over,
/// though no round comes to its end before they do.
@Suite struct ReplacedRoomTests {
  private let bench = IdentityBench(seed: 47)

  init() { bench.options.graceSeconds = 3600 }

  private func insert(_ seed: UInt64, _ size: Int, _ device: Datastore) throws {
    try device.table("t").insert(["b": .bytes(sample(seed, size))], id: RecordID("r\(seed)"))
    try device.sync()
  }

  @Test func `a snapshot that was replaced makes room in a full folder`() async throws {
    bench.options.tuning.smallFileBytes = 0
    let a = try bench.open("a")
    for (number, size) in [60_000, 90_000].enumerated() {
      try insert(UInt64(number), size, a)
      try a.compact()
      #expect(try await a.exchange().publishedSnapshot)
    }
    func snapshots() -> Int { bench.folder.paths().count { $0.hasSuffix(".snap") } }
    bench.folder.capacity = bench.folder.usedBytes + 2000
    try insert(9, 50_000, a)
    #expect(await a.exchangeError()?.code == .diskSpace)
    #expect(snapshots() == 2, "its grace is not over")
    bench.clock.advance(by: 3_600_001)
    #expect(await a.exchangeError()?.code == .diskSpace)
    #expect(snapshots() == 1)
    #expect(await a.exchangeError() == nil)
    #expect(a.publishedDeltas == a.committedDeltas)
    let head = try #require(a.exchanger).memory.withLock { $0.own }
    #expect(head.superseded == [])
  }

  @Test func `files that were merged make room, and what no head names yet stays`() async throws {
    let script = ScriptedFolder.Script()
    bench.scripts["a"] = script
    bench.options.tuning.smallFileRun = 4
    let a = try bench.open("a")
    var merged = 0
    for number in 0..<4 {
      try insert(UInt64(number), 20_000, a)
      merged += try await a.exchange().mergedFiles
    }
    #expect(merged == 4)
    // Now it has been seen which of them nobody names.
    try await a.exchange()
    func segments() -> Set<String> {
      Set(bench.folder.paths().filter { $0.hasSuffix(".seg") })
    }
    let before = segments()
    #expect(before.count == 5)
    // It is there, and for the head that is to name it there is no room.
    try insert(9, 50_000, a)
    script.write { path, _ in path.hasSuffix(".seg") ? .unanswered : .whole }
    #expect(await a.exchangeError()?.code == .timeout)
    script.write(nil)
    let uploaded = segments().subtracting(before)
    #expect(uploaded.count == 1)
    bench.folder.capacity = bench.folder.usedBytes + 50
    #expect(await a.exchangeError()?.code == .diskSpace)
    #expect(segments() == before.union(uploaded), "their grace is not over")
    bench.clock.advance(by: 3_600_001)
    #expect(await a.exchangeError()?.code == .diskSpace)
    #expect(segments().count == 2 && segments().isSuperset(of: uploaded))
    #expect(await a.exchangeError() == nil)
    #expect(a.publishedDeltas == a.committedDeltas)
    let late = try bench.open("late")
    try await late.pull()
    #expect(try late.ids() == ["r0", "r1", "r2", "r3", "r9"])
  }
}
